package sperr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"sperrd/internal/makod"
	"sperrd/internal/makod/makodtest"
	"sperrd/internal/postgres/postgrestest"
	"sperrd/internal/werktag"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Run(m)) }

const (
	testTenant = "9900357000004"
	testMalo   = "51238696012"
	otherMalo  = "51238696781"
	testLF     = "9900012345678"

	testMaxAttempts = 8
	testRetention   = 90 * 24 * time.Hour
)

// testNow is Thursday 2026-09-03, 10:00 in Berlin.
var testNow = time.Date(2026, 9, 3, 8, 0, 0, 0, time.UTC)

// bench is one service with its database and a simulated makod.
type bench struct {
	pool    *pgxpool.Pool
	repo    *Repository
	service *Service
	makod   *makodtest.Server
}

// newBench is a service of testTenant at testNow on a database of its own.
func newBench(t *testing.T, change ...func(*Options)) *bench {
	t.Helper()
	return newBenchOn(t, postgrestest.New(t), testTenant, change...)
}

func newBenchOn(t *testing.T, pool *pgxpool.Pool, tenant string, change ...func(*Options)) *bench {
	t.Helper()
	options := Options{
		Calendar: werktag.BDEW(), PruefschrittCheck: PruefschrittRefuse,
		TwinWait: 3 * time.Second, Retention: testRetention, RequestTimeout: 5 * time.Second, Lease: 60 * time.Second, FirstBackoff: 30 * time.Second, MaxBackoff: 2 * time.Hour,
		Now: func() time.Time { return testNow }, Logger: slog.New(slog.DiscardHandler),
	}
	for _, c := range change {
		c(&options)
	}
	sim := makodtest.New(makodtest.Options{APIKey: "key", Now: options.Now})
	client, err := makod.NewClient(sim.Start(t), "key", options.RequestTimeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	repo := NewRepository(pool, tenant, testMaxAttempts)
	return &bench{pool: pool, repo: repo, service: NewService(pool, repo, client, options), makod: sim}
}

// marketEvent is a valid event of pid for malo with its own process; data members
// given replace or add, a nil removes.
func marketEvent(t *testing.T, pid int, malo string, data map[string]any) event.Event {
	t.Helper()
	members := map[string]any{"pid": pid, "malo_id": malo, "lf_mp_id": testLF, "receiver": testTenant}
	if pid == pidSperrauftrag {
		members["fruehestens_am"] = "2026-09-01"
	}
	if pid == pidEntsperrauftrag {
		members["arbeitszeit"] = "Z53"
	}
	for name, value := range data {
		if members[name] = value; value == nil {
			delete(members, name)
		}
	}
	e := event.New()
	e.SetID(uuid.NewString())
	e.SetType(typeProcessInitiated)
	e.SetSource("urn:mako:makod:tenant:f521f352-7cef-5322-a675-743e63cef514")
	e.SetSubject(uuid.NewString())
	e.SetTime(testNow.Add(-time.Minute))
	e.SetExtension("makopid", pid)
	e.SetExtension("makoworkflow", workflowGPKESperrung)
	if err := e.SetData(event.ApplicationJSON, members); err != nil {
		t.Fatal(err)
	}
	return e
}

// receive queues a market order and spawns its process in makod.
func (b *bench) receive(t *testing.T, pid int, malo string) Order {
	t.Helper()
	e := marketEvent(t, pid, malo, nil)
	if _, err := b.makod.Spawn(makodtest.Process{ID: e.Subject(), MaloID: malo, PID: pid}); err != nil {
		t.Fatal(err)
	}
	receipt, err := b.service.Receive(t.Context(), "", e)
	if err != nil {
		t.Fatal(err)
	}
	if receipt.Kind != ReceiptQueued {
		t.Fatalf("receipt = %+v, want a queued order", receipt)
	}
	return b.get(t, receipt.OrderID)
}

func (b *bench) get(t *testing.T, id uuid.UUID) Order {
	t.Helper()
	o, err := b.repo.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// events are the types of the events in the outbox of an order, in order.
func (b *bench) events(t *testing.T, id uuid.UUID) []string {
	t.Helper()
	return column[string](t, b.pool, `SELECT ce_type FROM event_outbox WHERE order_id = $1 ORDER BY seq`, id)
}

// envelope is the one event of a type that the outbox holds for an order.
func (b *bench) envelope(t *testing.T, id uuid.UUID, eventType string) event.Event {
	t.Helper()
	raw := column[[]byte](t, b.pool, `SELECT envelope FROM event_outbox WHERE order_id = $1 AND ce_type = $2`, id, eventType)
	if len(raw) != 1 {
		t.Fatalf("%d events of type %s, want 1", len(raw), eventType)
	}
	var e event.Event
	if err := json.Unmarshal(raw[0], &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// forgetHistory lets orders be deleted, which their history forbids.
func (b *bench) forgetHistory(t *testing.T) {
	t.Helper()
	b.exec(t, `ALTER TABLE sperr_order_history DROP CONSTRAINT sperr_order_history_order_id_fkey`)
}

// actions are the actions in the history of an order, in order. One that a test has put in
// by SQL begins with a line that says so, which is left out.
func (b *bench) actions(t *testing.T, id uuid.UUID) []string {
	t.Helper()
	entries, err := b.repo.History(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	actions := []string{}
	for _, e := range entries {
		if e.Action == "changed_by_sql" && e.From == nil {
			continue
		}
		actions = append(actions, e.Action)
	}
	return actions
}

func column[T any](t *testing.T, pool *pgxpool.Pool, sql string, args ...any) []T {
	t.Helper()
	rows, err := pool.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	list := []T{}
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// exec runs SQL beside the service, as a human with psql would.
func (b *bench) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := b.pool.Exec(context.Background(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func ptr[T any](v T) *T { return &v }

// second drops the first result of a call.
func second[T any](_ T, err error) error { return err }

// maloWith is a valid MaLo-ID of its own for each i.
func maloWith(i int) string {
	number := fmt.Sprintf("5%09d", i)
	return number + string(weightedCheckDigit(number, 2))
}

func (b *bench) create(t *testing.T, n NewOrder) Order {
	t.Helper()
	created, err := b.service.Create(t.Context(), Call{Actor: "operator"}, n)
	if err != nil {
		t.Fatal(err)
	}
	return created.Order
}

// wantInvalid fails unless err refuses field of subject.
func wantInvalid(t *testing.T, err error, subject Subject, field string) {
	t.Helper()
	var invalid *ValidationError
	if !errors.As(err, &invalid) || invalid.Subject != subject {
		t.Fatalf("error = %v, want a *ValidationError of the %s", err, subject)
	}
	for _, f := range invalid.Fields {
		if f.Field == field {
			return
		}
	}
	t.Errorf("error = %v, want field %s in it", err, field)
}

func hasWarning(o Order, part string) bool {
	for _, w := range o.Warnungen {
		if strings.Contains(w, part) {
			return true
		}
	}
	return false
}
