package outbox

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"sperrd/internal/outbox/erptest"
	"sperrd/internal/postgres/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	code := postgrestest.Run(m)
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}

const (
	tenant = "9900357000004"
	secret = "erp-secret-of-the-tests"
	// patience is far longer than anything on the loopback takes.
	patience = 20 * time.Second
)

// bench is a database, an ERP and a drainer between them, which has not begun.
type bench struct {
	pool *pgxpool.Pool
	erp  *erptest.Server
	url  string
	*Drainer
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{pool: postgrestest.New(t), erp: erptest.New(erptest.Options{Secret: secret})}
	b.url = b.erp.Start(t)
	b.Drainer = b.drainer(t, tenant)
	return b
}

// drainer returns one more drainer for the same database and ERP.
func (b *bench) drainer(t *testing.T, tenant string) *Drainer {
	t.Helper()
	return NewDrainer(b.pool, newClient(t, b.url), Options{
		Tenant: tenant, GiveUpAfter: 168 * time.Hour, RequestTimeout: 10 * time.Second, Lease: time.Minute,
		PollInterval: 100 * time.Millisecond, Retention: 720 * time.Hour, Parallelism: 16,
		Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	})
}

func newClient(t *testing.T, url string) *Client {
	t.Helper()
	c, err := NewClient(url, secret, patience, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// run starts a drainer and returns what stops it and waits for its end.
func run(t *testing.T, d *Drainer) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.Run(ctx)
	}()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return stop
}

// accepted waits until the ERP has taken n events.
func (b *bench) accepted(t *testing.T, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := b.erp.WaitAccepted(ctx, n); err != nil {
		t.Fatal(err)
	}
}

// atGate waits until a delivery waits at the gate.
func atGate(t *testing.T, gate *erptest.Gate) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := gate.Wait(ctx, 1); err != nil {
		t.Fatal(err)
	}
}

// round lets the drainer do one step and everything that it set going.
func (b *bench) round(t *testing.T) {
	t.Helper()
	if _, err := b.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.pump.Settle()
}

// claimed claims exactly n events.
func (b *bench) claimed(t *testing.T, n int) []claim {
	t.Helper()
	claims, err := b.claim(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	if len(claims) != n {
		t.Fatalf("%d events claimed, want %d", len(claims), n)
	}
	return claims
}

func (b *bench) exec(t *testing.T, sql string) {
	t.Helper()
	if _, err := b.pool.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// makeDue ends every wait and every lease.
func (b *bench) makeDue(t *testing.T) {
	t.Helper()
	b.exec(t, `UPDATE event_outbox SET next_attempt_at = now() - interval '1 s'
		WHERE delivered_at IS NULL AND dead_lettered_at IS NULL`)
}

// row is an event as it stands in the table.
type row struct {
	Attempts                                  int
	NextAttemptAt                             time.Time
	FirstAttemptAt, DeliveredAt, DeadLetterAt *time.Time
	LastError                                 *string
	Wait                                      time.Duration // until the next attempt
}

func (b *bench) row(t *testing.T, eventID string) row {
	t.Helper()
	var r row
	err := b.pool.QueryRow(t.Context(), `SELECT attempts, next_attempt_at, first_attempt_at, delivered_at,
		dead_lettered_at, last_error, next_attempt_at - now() FROM event_outbox WHERE event_id = $1`, eventID).
		Scan(&r.Attempts, &r.NextAttemptAt, &r.FirstAttemptAt, &r.DeliveredAt, &r.DeadLetterAt, &r.LastError, &r.Wait)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (b *bench) count(t *testing.T, where string) (n int) {
	t.Helper()
	if err := b.pool.QueryRow(t.Context(), `SELECT count(*) FROM event_outbox WHERE `+where).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// orders puts in n orders for events to be about.
func orders(t *testing.T, pool *pgxpool.Pool, n int) []uuid.UUID {
	t.Helper()
	rows, err := pool.Query(t.Context(), `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type)
		SELECT $1, '51238696012', '9900012345678', 'sperrung' FROM generate_series(1, $2::int) RETURNING id`, tenant, n)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// entry is an event about an order; its type is its place among those of the order.
func entry(t *testing.T, order uuid.UUID, eventType, id string) Entry {
	t.Helper()
	e := newEvent(id)
	e.SetType(eventType)
	if err := e.SetData(event.ApplicationJSON, map[string]any{"order_id": order.String()}); err != nil {
		t.Fatal(err)
	}
	return Entry{Tenant: tenant, OrderID: order, Event: e}
}

func enqueue(t *testing.T, pool *pgxpool.Pool, entries ...Entry) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error { return Enqueue(t.Context(), tx, entries...) })
	if err != nil {
		t.Fatal(err)
	}
}

// one enqueues an event of its own order.
func (b *bench) one(t *testing.T, id string) Entry {
	t.Helper()
	e := entry(t, orders(t, b.pool, 1)[0], "first", id)
	enqueue(t, b.pool, e)
	return e
}

// pairs enqueues two events for each of n orders: first-<i> and second-<i>.
func (b *bench) pairs(t *testing.T, n int) []uuid.UUID {
	t.Helper()
	all := orders(t, b.pool, n)
	var entries []Entry
	for i, order := range all {
		entries = append(entries,
			entry(t, order, "first", fmt.Sprint("first-", i)), entry(t, order, "second", fmt.Sprint("second-", i)))
	}
	enqueue(t, b.pool, entries...)
	return all
}

func newEvent(id string) event.Event {
	e := event.New()
	e.SetID(id)
	e.SetType("de.sperr.storniert")
	e.SetSource("urn:mako:sperrd:tenant:" + tenant)
	return e
}
