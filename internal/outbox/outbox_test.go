package outbox

import (
	"errors"
	"os"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"sperrd/internal/postgres/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Run(m)) }

const tenant = "9900357000004"

// newOrder puts in an order for events to be about.
func newOrder(t *testing.T, pool *pgxpool.Pool) uuid.UUID {
	t.Helper()
	var id uuid.UUID
	err := pool.QueryRow(t.Context(), `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type)
		VALUES ($1, '51238696012', '9900012345678', 'sperrung') RETURNING id`, tenant).Scan(&id)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func newEvent(id string) event.Event {
	e := event.New()
	e.SetID(id)
	e.SetType("de.sperr.storniert")
	e.SetSource("urn:mako:sperrd:tenant:" + tenant)
	return e
}

func enqueue(t *testing.T, pool *pgxpool.Pool, entry Entry) error {
	t.Helper()
	return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error { return Enqueue(t.Context(), tx, entry) })
}

func ids(t *testing.T, pool *pgxpool.Pool) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), `SELECT event_id FROM event_outbox
		WHERE delivered_at IS NULL AND dead_lettered_at IS NULL AND next_attempt_at <= now() ORDER BY seq`)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestEnqueueingTwiceIsOneEvent(t *testing.T) {
	t.Parallel()
	pool := postgrestest.New(t)
	order := newOrder(t, pool)
	for _, id := range []string{"b", "a", "b"} {
		if err := enqueue(t, pool, Entry{Tenant: tenant, OrderID: order, Event: newEvent(id)}); err != nil {
			t.Fatal(err)
		}
	}
	if got := ids(t, pool); len(got) != 2 || got[0] != "b" || got[1] != "a" {
		t.Errorf("events due = %v, want b before a", got)
	}
}

func TestAnEventOfATransactionThatFailsDoesNotExist(t *testing.T) {
	t.Parallel()
	pool := postgrestest.New(t)
	entry := Entry{Tenant: tenant, OrderID: newOrder(t, pool), Event: newEvent("a")}
	failed := errors.New("the change failed")
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		return errors.Join(Enqueue(t.Context(), tx, entry), failed)
	})
	if !errors.Is(err, failed) {
		t.Fatal(err)
	}
	if got := ids(t, pool); len(got) != 0 {
		t.Errorf("events due = %v, want none", got)
	}
}

func TestAnEventThatIsNoCloudEventIsRefused(t *testing.T) {
	t.Parallel()
	pool := postgrestest.New(t)
	order := newOrder(t, pool)
	if err := enqueue(t, pool, Entry{Tenant: tenant, OrderID: order, Event: newEvent("")}); err == nil {
		t.Error("an event without id was taken")
	}
	if got := ids(t, pool); len(got) != 0 {
		t.Errorf("events due = %v, want none", got)
	}
}
