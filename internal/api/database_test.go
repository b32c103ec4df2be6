package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"sperrd/internal/makod/makodtest"
)

// maloOf is the n-th of many MaLo-IDs with a right check digit.
func maloOf(n int) string {
	id := fmt.Sprintf("5%09d", n)
	sum := 0
	for i, digit := range id {
		sum += int(digit-'0') * (1 + i%2)
	}
	return fmt.Sprintf("%s%d", id, (10-sum%10)%10)
}

func TestFifty_executes_waiting_for_makod_leave_a_pool_of_two_free(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *settings) { s.poolSize = 2 })
	ids := make([]string, 50)
	for i := range ids {
		ids[i] = b.market(t, 17115, maloOf(i)).ID
	}
	gate := b.makod.Hold()
	defer gate.Release()
	statuses := make([]int, len(ids))
	var reports sync.WaitGroup
	for i, id := range ids {
		reports.Go(func() { statuses[i] = b.report(t, id, "execute", "").status })
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := gate.Wait(ctx, len(ids)); err != nil {
		t.Fatal(err)
	}

	started := time.Now()
	wantStatus(t, b.get(t, orders), http.StatusOK)
	wantStatus(t, b.get(t, orders+"/stats"), http.StatusOK)
	wantStatus(t, b.get(t, "/health/ready"), http.StatusOK)
	wantStatus(t, b.deliver(t, sample(t, "17117.json")), http.StatusCreated)
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("four calls took %v beside the waiting ones", took)
	}
	if n := b.count(t, `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND state LIKE 'idle in transaction%'`); n != 0 {
		t.Errorf("%d sessions are idle in a transaction while makod answers", n)
	}
	gate.Release()
	reports.Wait()
	for i, status := range statuses {
		if status != http.StatusNoContent {
			t.Errorf("execute %d: %d, want 204", i, status)
		}
	}
}

func TestFull_pool_answers_unavailable_within_a_bounded_wait(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *settings) { s.poolSize = 2 })
	id := b.create(t, minimal("sperrung")).ID
	for range 2 {
		held := acquire(t, b.pool)
		defer held.Release()
	}
	var calls sync.WaitGroup
	for _, c := range []struct{ method, path, body string }{
		{http.MethodGet, orders, ""},
		{http.MethodGet, orders + "/" + id, ""},
		{http.MethodGet, rejects, ""},
		{http.MethodGet, "/health/ready", ""},
		{http.MethodPut, orders + "/" + id + "/execute", ""},
		{http.MethodPut, orders + "/" + id + "/fail", `{"reason":"zu"}`},
	} {
		calls.Go(func() {
			started := time.Now()
			a := b.call(t, c.method, c.path, c.body)
			if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
				t.Errorf("%s %s: %d %s, want 503 with Retry-After", c.method, c.path, a.status, a.body)
			}
			if took := time.Since(started); took > 9*time.Second {
				t.Errorf("%s %s took %v", c.method, c.path, took)
			}
		})
	}
	wantStatus(t, b.get(t, "/health/live"), http.StatusOK)
	calls.Wait()
}

func acquire(t *testing.T, pool *pgxpool.Pool) *pgxpool.Conn {
	t.Helper()
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestDatabase_away_is_unavailable_on_every_route_and_the_service_lives(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create(t, minimal("sperrung")).ID
	wantStatus(t, b.get(t, "/health/ready"), http.StatusOK)
	b.pool.Close()

	for _, path := range []string{orders, orders + "/stats", orders + "/" + id, orders + "/" + id + "/history", rejects, rejects + "/" + id, "/health/ready"} {
		wantUnavailable(t, b.get(t, path))
	}
	create := b.call(t, http.MethodPost, orders, fullOrder)
	wantUnavailable(t, create)
	if !strings.Contains(string(create.body), "may have taken effect") {
		t.Errorf("create: %s does not say that the call may have taken effect", create.body)
	}
	for verb, body := range map[string]string{"execute": "", "fail": `{"reason":"zu"}`, "cancel": ""} {
		a := b.report(t, id, verb, body)
		wantUnavailable(t, a)
		if !strings.Contains(string(a.body), "may have taken effect") {
			t.Errorf("%s: %s does not say that the call may have taken effect", verb, a.body)
		}
	}
	reset := b.reset(t, id, "")
	wantUnavailable(t, reset)
	if !strings.Contains(string(reset.body), "may have taken effect") {
		t.Errorf("reset: %s does not say that the call may have taken effect", reset.body)
	}
	wantUnavailable(t, b.deliver(t, sample(t, "17115-fixed-date.json")))
	wantUnavailable(t, b.deliver(t, []byte("{"))) // refused, but not kept
	wantStatus(t, b.get(t, "/health/live"), http.StatusOK)
	// What needs no database is answered as ever.
	wantStatus(t, b.get(t, orders+"?limit=0"), http.StatusBadRequest)
	wantStatus(t, b.call(t, http.MethodPost, orders, `{}`), http.StatusUnprocessableEntity)
}

func wantUnavailable(t *testing.T, a answer) {
	t.Helper()
	wantProblem(t, a, http.StatusServiceUnavailable, "unavailable")
	if a.header.Get("Retry-After") != "5" {
		t.Errorf("Retry-After %q, want 5", a.header.Get("Retry-After"))
	}
}

func TestReadiness_follows_what_it_is_given_and_makod_is_not_part_of_it(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var trouble error
	b := newBench(t, func(s *settings) {
		s.options.Ready = func(ctx context.Context) error {
			if _, bounded := ctx.Deadline(); !bounded {
				return errors.New("the look at the database has no bound")
			}
			mu.Lock()
			defer mu.Unlock()
			return trouble
		}
	})
	b.makod.FailNext(makodtest.UntilCleared, makodtest.Drop())
	a := b.get(t, "/health/ready")
	if a.status != http.StatusOK || string(a.body) != `{"ready":true,"warnings":[]}` {
		t.Errorf("%d %s, want 200 without warnings", a.status, a.body)
	}
	mu.Lock()
	trouble = errors.New("no route to host db-7")
	mu.Unlock()
	a = b.get(t, "/health/ready")
	wantUnavailable(t, a)
	if strings.Contains(string(a.body), "db-7") {
		t.Errorf("the answer shows the inside: %s", a.body)
	}
	wantStatus(t, b.get(t, "/health/live"), http.StatusOK)
}

func TestUnknown_failure_is_a_500_that_shows_nothing_and_is_logged_once(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.pool.Exec(t.Context(), `ALTER TABLE sperr_orders RENAME TO away`); err != nil {
		t.Fatal(err)
	}
	for _, a := range []answer{b.get(t, orders), b.get(t, orders+"/stats"), b.deliver(t, sample(t, "17117.json"))} {
		p := wantProblem(t, a, http.StatusInternalServerError, "internal")
		for _, inside := range []string{"sperr_orders", "SQLSTATE", "42P01", "relation", ".go:"} {
			if strings.Contains(string(a.body), inside) {
				t.Errorf("the answer shows %q: %s", inside, a.body)
			}
		}
		if p.Detail != "The service has failed; its log says why." {
			t.Errorf("detail %q", p.Detail)
		}
	}
	if codes := b.kept(t); len(codes) != 0 {
		t.Errorf("kept %v of a delivery that comes again", codes)
	}
	if n := strings.Count(b.log.String(), "SQLSTATE 42P01"); n != 3 {
		t.Errorf("%d log lines name the cause of 3 failures:\n%s", n, b.log)
	}
	for _, line := range b.log.requests(t) {
		if line["level"] != "ERROR" {
			t.Errorf("line %v, want level ERROR", line)
		}
	}
}

func TestClient_that_hangs_up_aborts_no_report(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.market(t, 17115, malo).ID
	gate := b.makod.Hold()
	defer gate.Release()
	ctx, hangUp := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, b.url+orders+"/"+id+"/execute", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if response, err := b.http.Do(r); err == nil {
			response.Body.Close()
			t.Error("the call was answered before makod was")
		}
	}()
	if err := gate.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	hangUp()
	<-done
	gate.Release()
	b.log.await(t, `"action":"execute-sperr-order"`) // the line of the request is its last act
	if o := b.order(t, id); o.Status != "executed" || o.IFTSTADispatchedAt == nil {
		t.Errorf("order %+v, want executed and dispatched", o)
	}
}

func TestClient_that_hangs_up_is_no_failure_of_the_service(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *settings) { s.poolSize = 1 })
	held := acquire(t, b.pool)
	defer held.Release()
	conn := b.dial(t)
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", orders)
	conn.Close()
	b.log.await(t, `"action":"read-sperr-order"`)
	if line := b.log.requests(t)[0]; line["level"] != "WARN" || line["code"] != "unavailable" {
		t.Errorf("line %v, want a warning", line)
	}
}
