package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"sperrd/internal/api"
)

// A CSV is large: the next one waits for its turn, and nobody else for either.
func TestCSV_is_made_one_at_a_time(t *testing.T) {
	t.Parallel()
	wantOneAtATime(t, func(b *bench) answer { return b.csv(t, "") })
}

// wantOneAtATime asks twice for what reads the orders for long, and for something else.
func wantOneAtATime(t *testing.T, ask func(b *bench) answer) {
	t.Helper()
	b := newBench(t, func(s *settings) {
		s.handler = func(o api.Options) http.Handler { return api.NewImpatientHandler(o, 10*time.Millisecond, time.Minute) }
	})
	held, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := held.Exec(t.Context(), `LOCK TABLE sperr_orders`); err != nil {
		t.Fatal(err)
	}
	var first answer
	var asked sync.WaitGroup
	asked.Go(func() { first = ask(b) })
	b.awaitLocked(t)
	wantProblem(t, ask(b), http.StatusServiceUnavailable, "unavailable")
	wantStatus(t, b.get(t, rejects), http.StatusOK)
	if err := held.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	asked.Wait()
	wantStatus(t, first, http.StatusOK)
	wantStatus(t, ask(b), http.StatusOK)
}

// Clients that read slowly, or not at all, fill the memory with a bounded number of CSVs.
func TestCSV_under_way_is_counted_until_its_client_has_it(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *settings) { s.handler = api.NewOneCSVHandler })
	b.exec(t, `INSERT INTO sperr_orders (id, tenant, malo_id, lf_mp_id, order_type, hinweis)
		SELECT gen_random_uuid(), $1, '51238696012', '9900012345678', 'sperrung', repeat('x', 20000) FROM generate_series(1, 700)`, tenant)
	conn := b.dial(t)
	fmt.Fprintf(conn, "GET %s?due=true HTTP/1.1\r\nHost: x\r\nAccept: text/csv\r\n\r\n", orders)
	if _, err := conn.Read(make([]byte, 1)); err != nil { // the rest is more than any buffer on the way
		t.Fatal(err)
	}
	a := b.csv(t, "")
	wantProblem(t, a, http.StatusServiceUnavailable, "unavailable")
	if a.header.Get("Retry-After") == "" || !strings.Contains(b.log.String(), "too many CSVs on their way") {
		t.Errorf("headers %v, log:\n%s", a.header, b.log)
	}
	wantStatus(t, b.get(t, orders), http.StatusOK)
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	for a.status == http.StatusServiceUnavailable && t.Context().Err() == nil { // until the service has seen it
		a = b.csv(t, "")
	}
	wantStatus(t, a, http.StatusOK)
}
