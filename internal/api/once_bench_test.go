package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"sperrd/internal/api"
	"sperrd/internal/postgres"
	"sperrd/internal/sperr"
)

// The ids of calls. Each test has a database of its own, so that all may use the same ones.
const (
	callA = "0a5e7c10-0000-1000-8000-00000000000a"
	callB = "0a5e7c10-0000-1000-8000-00000000000b"
	callC = "0a5e7c10-0000-1000-8000-00000000000c"
	callD = "0a5e7c10-0000-1000-8000-00000000000d"
	callZ = "0a5e7c10-0000-1000-8000-0000000000ff"
)

// The headers of an answer that only a call which can be recognised gets.
const (
	replayMark      = "Idempotent-Replayed"
	contentLocation = "Content-Location"
)

// called are the header lines of the call with an id; with initial it repeats that one.
func called(id string, initial ...string) []string {
	lines := []string{"transactionId", id, "creationDateTime", "2026-09-03T07:59:58.125Z"}
	for _, first := range initial {
		lines = append(lines, "initialTransactionId", first)
	}
	return lines
}

// change makes a call that changes an order.
func (b *bench) change(t *testing.T, id, verb, body string, header []string) answer {
	t.Helper()
	method := http.MethodPut
	if verb == "iftsta/reset" {
		method = http.MethodPost
	}
	return b.call(t, method, orders+"/"+id+"/"+verb, body, header...)
}

// wantFirst fails unless a tells of work that was done for the call id of the operation
// called reference.
func wantFirst(t *testing.T, a answer, status int, id, reference string) {
	t.Helper()
	wantStatus(t, a, status)
	wantEcho(t, a, id, reference)
	if mark, there := a.header[replayMark]; there {
		t.Errorf("%s %q on what was done by this very call", replayMark, mark)
	}
}

// wantReplay fails unless a is first again, told to the call id.
func wantReplay(t *testing.T, a, first answer, id, reference string) {
	t.Helper()
	wantEcho(t, a, id, reference)
	if got := a.header.Get(replayMark); got != "true" {
		t.Errorf("%s %q, want true", replayMark, got)
	}
	if diff := cmp.Diff(toldBy(first), toldBy(a)); diff != "" {
		t.Errorf("replay (-first answer +this one):\n%s", diff)
	}
}

// told is what every call of an operation is told in the same way.
type told struct {
	Status                              int
	Body                                string
	Type, Length, Location, ContentPath string
}

func toldBy(a answer) told {
	h := a.header
	return told{
		a.status, string(a.body),
		h.Get("Content-Type"), h.Get("Content-Length"), h.Get("Location"), h.Get(contentLocation),
	}
}

func wantEcho(t *testing.T, a answer, id, reference string) {
	t.Helper()
	got := [2][]string{a.header.Values("transactionId"), a.header.Values("referenceId")}
	want := [2][]string{{id}, {reference}}
	for i, value := range []string{id, reference} {
		if value == "" {
			want[i] = nil
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transactionId and referenceId of the answer %d %s (-want +got):\n%s", a.status, a.body, diff)
	}
}

// traces are what calls leave behind.
type traces struct {
	Orders   string // how they stand, by the alphabet
	Visits   int    // in vain, of all orders
	History  string // its actions
	Events   string // their types
	IFTSTA   int    // that makod has taken
	Commands int    // that came to makod
	Settled  int    // refused deliveries
	Records  int    // of operations
	Calls    int    // by which these are known
}

// did reports whether work was done between before and got.
func (got traces) did(before traces) bool {
	return got.History != before.History || got.Settled != before.Settled
}

func (b *bench) traces(t *testing.T) traces {
	t.Helper()
	var got traces
	err := b.pool.QueryRow(t.Context(), `SELECT
		(SELECT COALESCE(string_agg(status, ' ' ORDER BY status), '') FROM sperr_orders),
		(SELECT COALESCE(sum(sperrversuche), 0) FROM sperr_orders),
		(SELECT COALESCE(string_agg(action, ' ' ORDER BY id), '') FROM sperr_order_history),
		(SELECT COALESCE(string_agg(replace(ce_type, 'de.sperr.', ''), ' ' ORDER BY seq), '') FROM event_outbox),
		(SELECT count(*) FROM webhook_rejects WHERE settlement IS NOT NULL),
		(SELECT count(*) FROM api_transactions), (SELECT count(*) FROM api_transaction_attempts)`).
		Scan(&got.Orders, &got.Visits, &got.History, &got.Events, &got.Settled, &got.Records, &got.Calls)
	if err != nil {
		t.Fatal(err)
	}
	got.IFTSTA, got.Commands = len(b.makod.IFTSTA()), len(b.makod.Requests())
	return got
}

func (b *bench) wantTraces(t *testing.T, want traces) {
	t.Helper()
	if diff := cmp.Diff(want, b.traces(t)); diff != "" {
		t.Errorf("left behind (-want +got):\n%s", diff)
	}
}

// asCalled is as with header lines of the call.
func (g guarded) asCalled(t *testing.T, who claims, method, path, body string, header []string) answer {
	t.Helper()
	return g.call(t, method, path, body, slices.Concat(header, []string{"Authorization", "Bearer " + g.issuer.Token(t, who)})...)
}

// holdService gives a test the service behind its bench.
func holdService(service **sperr.Service) func(*settings) {
	return func(s *settings) {
		next := s.handler
		s.handler = func(o api.Options) http.Handler {
			*service = o.Service
			return next(o)
		}
	}
}

// counted tells of each request that has come in.
func counted(arrived chan<- struct{}) func(*settings) {
	return func(s *settings) {
		next := s.handler
		s.handler = func(o api.Options) http.Handler {
			h := next(o)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				arrived <- struct{}{}
				h.ServeHTTP(w, r)
			})
		}
	}
}

// retryWorker makes what is outstanding due and lets a worker send until as many commands
// as commands have come to makod since its start.
func (b *bench) retryWorker(t *testing.T, service *sperr.Service, commands int) {
	t.Helper()
	b.statement(t, `UPDATE sperr_orders SET iftsta_next_attempt_at = now() WHERE iftsta_dispatched_at IS NULL AND status IN ('executed', 'failed')`)
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		sperr.NewRetryWorker(service, sperr.RetryOptions{PollInterval: time.Second, Parallelism: 4}).Run(ctx)
	}()
	err := b.makod.WaitEnded(ctx, commands)
	stop()
	<-done // what came back is recorded by then
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bench) statement(t *testing.T, sql string) {
	t.Helper()
	if _, err := b.pool.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// breakdown makes the database fail and returns the repair. do is what happens in PL/pgSQL
// at trigger, which is all of a CREATE TRIGGER between its name and its action.
func (b *bench) breakdown(t *testing.T, kind, table, trigger, do string) (repair func()) {
	t.Helper()
	b.statement(t, `CREATE OR REPLACE FUNCTION breakdown() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN `+do+`; RETURN NEW; END $$`)
	b.statement(t, `CREATE `+kind+` breakdown `+strings.ReplaceAll(trigger, "TABLE", table)+` FOR EACH ROW EXECUTE FUNCTION breakdown()`)
	return func() { b.statement(t, `DROP TRIGGER breakdown ON `+table) }
}

// openURL is a second pool on a database.
func openURL(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.Open(t.Context(), url, postgres.Options{PoolSize: 4, ApplicationName: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// readProblem is the problem in an answer; it is empty where there is none.
func readProblem(a answer) (p problem) {
	_ = json.Unmarshal(a.body, &p) // what is no problem has no code
	return p
}
