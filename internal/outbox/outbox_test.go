package outbox

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"sperrd/internal/postgres/postgrestest"
)

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
	order := orders(t, pool, 1)[0]
	for _, id := range []string{"b", "a", "b"} {
		enqueue(t, pool, Entry{Tenant: tenant, OrderID: order, Event: newEvent(id)})
	}
	enqueue(t, pool, entry(t, order, "x", "c"), entry(t, order, "x", "a"), entry(t, order, "x", "c"))
	if diff := cmp.Diff([]string{"b", "a", "c"}, ids(t, pool)); diff != "" {
		t.Errorf("events due (-want +got):\n%s", diff)
	}
}

func TestEventsEnqueuedTogetherKeepTheirOrder(t *testing.T) {
	t.Parallel()
	pool := postgrestest.New(t)
	order := orders(t, pool, 1)[0]
	var want []string
	var entries []Entry
	for i := range 1000 {
		want = append(want, fmt.Sprint(i*7919%1000))
		entries = append(entries, entry(t, order, "x", want[i]))
	}
	enqueue(t, pool, entries...)
	enqueue(t, pool) // nothing
	if diff := cmp.Diff(want, ids(t, pool)); diff != "" {
		t.Errorf("events due (-want +got):\n%s", diff)
	}
}

func TestAnEventOfATransactionThatFailsDoesNotExist(t *testing.T) {
	t.Parallel()
	pool := postgrestest.New(t)
	e := Entry{Tenant: tenant, OrderID: orders(t, pool, 1)[0], Event: newEvent("a")}
	failed := errors.New("the change failed")
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		return errors.Join(Enqueue(t.Context(), tx, e), failed)
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
	order := orders(t, pool, 1)[0]
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		return Enqueue(t.Context(), tx, entry(t, order, "x", "a"), entry(t, order, "x", ""))
	})
	if err == nil {
		t.Error("an event without id was taken")
	}
	if got := ids(t, pool); len(got) != 0 {
		t.Errorf("events due = %v, want none", got)
	}
}
