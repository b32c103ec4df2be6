package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/makod/makodtest"
	"sperrd/internal/outbox/erptest"
	"sperrd/internal/postgres/postgrestest"
	"sperrd/internal/sperr"
)

// neighbourhood is what several replicas share: one database, one makod, one ERP.
type neighbourhood struct {
	market
	erp    *erptest.Server
	setup  setup // of every replica, but for the port
	seeded int
}

// impatient is a configuration whose loops look often. Its first backoffs, ten minutes
// and half a minute, outlast every test, so that only the test ends them.
func impatient(requestTimeout, lease, more string) string {
	return fmt.Sprintf(`pool_size = 4
[frist]
scan_interval = "50ms"
[outbox]
poll_interval = "20ms"
parallelism = 8
request_timeout = %[1]q
lease = %[2]q
[iftsta]
first_backoff = "10m"
poll_interval = "20ms"
request_timeout = %[1]q
lease = %[2]q
%[3]s`, requestTimeout, lease, more)
}

// unhurried lets no request time out on a busy machine.
func unhurried(more string) string { return impatient("20s", "40s", more) }

func newNeighbourhood(t *testing.T, more string) *neighbourhood {
	t.Helper()
	m := newMarket(t)
	erp := erptest.New(erptest.Options{Secret: erpSecret})
	return &neighbourhood{market: m, erp: erp, setup: setup{
		database: postgrestest.NewURL(t), makod: m.url, erp: erp.Start(t), grace: "10s", more: more,
	}}
}

// replicas starts as many, together.
func (n *neighbourhood) replicas(t *testing.T, count int) []*instance {
	t.Helper()
	var all []*instance
	for range count {
		s := n.setup
		s.port = freePort(t)
		all = append(all, start(t, s))
	}
	for _, i := range all {
		i.awaitReady(t)
	}
	return all
}

// child starts a replica that can be killed.
func (n *neighbourhood) child(t *testing.T) *instance {
	t.Helper()
	s := n.setup
	s.port = freePort(t)
	i := startChild(t, s)
	i.awaitReady(t)
	return i
}

// seed is an order that was put into the database.
type seed struct{ id, malo, process string }

func (s seed) key() string { return "sperrd-iftsta-" + s.id }

// seed writes orders of processes that makod knows, with these types of events.
func (n *neighbourhood) seed(t *testing.T, status sperr.Status, count int, events ...string) []seed {
	t.Helper()
	var seeds []seed
	var ids, malos, processes []string
	for range count {
		n.seeded++
		p, err := n.Spawn(makodtest.Process{MaloID: maloID(n.seeded), PID: 17115})
		if err != nil {
			t.Fatal(err)
		}
		s := seed{id: uuid.NewString(), malo: p.MaloID, process: p.ID}
		seeds = append(seeds, s)
		ids, malos, processes = append(ids, s.id), append(malos, s.malo), append(processes, s.process)
	}
	n.exec(t, `
		WITH orders AS (
			INSERT INTO sperr_orders (id, tenant, malo_id, lf_mp_id, order_type, pruefidentifikator, process_id,
				fruehestens_am, status, executed_at, pruefschritt_code, iftsta_faellig_am)
			SELECT id, @tenant, malo, '9900012345678', 'sperrung', 17115, process,
				current_date - 2, @status, CASE @status WHEN 'executed' THEN now() - interval '1 minute' END,
				CASE @status WHEN 'executed' THEN 'A07' END, CASE @status WHEN 'executed' THEN current_date + 7 END
			FROM unnest(@ids::uuid[], @malos::text[], @processes::text[]) AS s (id, malo, process)
			RETURNING id, tenant)
		INSERT INTO event_outbox (tenant, order_id, event_id, ce_type, envelope)
		SELECT tenant, id, id || '/' || type, type, jsonb_build_object(
			'specversion', '1.0', 'id', id || '/' || type, 'source', 'urn:test', 'type', type,
			'datacontenttype', 'application/json', 'data', jsonb_build_object('order_id', id))
		FROM orders, unnest(@events::text[]) WITH ORDINALITY AS e (type, position) ORDER BY id, position`,
		pgx.NamedArgs{
			"tenant": tenant, "status": string(status), "ids": ids, "malos": malos, "processes": processes, "events": events,
		})
	return seeds
}

func (n *neighbourhood) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), n.setup.database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// text is the one value that a query finds, as text.
func (n *neighbourhood) text(t *testing.T, sql string, args ...any) (value string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), n.setup.database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), "SELECT ("+sql+")::text", args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

// awaitText waits until a query finds the text.
func (n *neighbourhood) awaitText(t *testing.T, want, sql string, args ...any) {
	t.Helper()
	await(t, func() (bool, string) {
		got := n.text(t, sql, args...)
		return got == want, fmt.Sprintf("%s: %s; want %s", sql, got, want)
	})
}

// What is still to do.
const (
	unsent      = `SELECT count(*) FROM sperr_orders WHERE status IN ('executed', 'failed') AND iftsta_dispatched_at IS NULL`
	undelivered = `SELECT count(*) FROM event_outbox WHERE delivered_at IS NULL`
)

// awaitDone waits until makod has every outcome and the ERP every event, on record.
func (n *neighbourhood) awaitDone(t *testing.T) {
	t.Helper()
	n.awaitText(t, "0", unsent)
	n.awaitText(t, "0", undelivered)
}

// endLeases makes everything due that is claimed or waits.
const endLeases = `
	UPDATE sperr_orders SET iftsta_next_attempt_at = now() WHERE iftsta_dispatched_at IS NULL;
	UPDATE event_outbox SET next_attempt_at = now() WHERE delivered_at IS NULL`

// wantInformed checks that every Lieferant got one IFTSTA, that every key came to
// makod so often, and never twice at a time.
func (n *neighbourhood) wantInformed(t *testing.T, seeds []seed, requests int) {
	t.Helper()
	got, want := map[string]int{}, map[string]int{}
	for _, r := range n.Requests() {
		got[r.Key]++
	}
	informed, once := map[string]int{}, map[string]int{}
	for _, m := range n.IFTSTA() {
		informed[m.MaloID]++
	}
	for _, s := range seeds {
		want[s.key()], once[s.malo] = requests, 1
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("commands by key (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(once, informed); diff != "" {
		t.Errorf("IFTSTA by MaLo (-want +got):\n%s", diff)
	}
	if keys := n.Overlaps(); len(keys) > 0 {
		t.Errorf("two commands at a time under %v", keys)
	}
}

// wantAccepted checks that the ERP took these events of each order, in this order and
// never two of an order at a time, and how often it was given one again.
func (n *neighbourhood) wantAccepted(t *testing.T, seeds []seed, duplicates int, types ...string) {
	t.Helper()
	got, want := map[string][]string{}, map[string][]string{}
	for _, e := range n.erp.Accepted() {
		var data struct {
			OrderID string `json:"order_id"`
		}
		if err := e.DataAs(&data); err != nil {
			t.Fatal(err)
		}
		got[data.OrderID] = append(got[data.OrderID], e.Type())
	}
	for _, s := range seeds {
		want[s.id] = types
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events by order (-want +got):\n%s", diff)
	}
	if d, o := n.erp.Duplicates(), n.erp.Overlaps(); d != duplicates || o != 0 {
		t.Errorf("%d events came again, %d overlapped; want %d and 0", d, o, duplicates)
	}
}

// awaitLines waits until the logs of the replicas together have so many lines with a text.
func awaitLines(t *testing.T, want int, text string, replicas ...*instance) {
	t.Helper()
	await(t, func() (bool, string) {
		got := 0
		for _, i := range replicas {
			got += strings.Count(i.log.String(), text)
		}
		return got >= want, fmt.Sprintf("%d lines with %q; want %d", got, text, want)
	})
}

// patient is a context for waits on the simulated neighbours.
func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
