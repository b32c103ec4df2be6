package api_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// inBackground makes a call whose answer comes later.
func inBackground(call func() answer) (result func() answer) {
	done := make(chan answer, 1)
	go func() { done <- call() }()
	return sync.OnceValue(func() answer { return <-done })
}

// A twin does not wait for makod for ever: what was written down before makod was asked
// becomes the answer, and the call that did the work gets no other one.
func TestTwin_of_a_call_that_makod_holds_settles_the_answer_for_both(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *settings) { s.twinWait = 20 * time.Millisecond })
	id := b.market(t, 17115, malo).ID
	gate := b.makod.Hold()
	defer gate.Release()
	firstLater := inBackground(func() answer { return b.change(t, id, "execute", "", called(callA)) })
	if err := gate.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	twin := b.change(t, id, "execute", "", called(callB, callA))
	note := wantRecorded(t, twin, map[string]any{"recorded": true, "status": "executed", "iftsta_dispatched": false})
	if !strings.Contains(note, "is not known") {
		t.Errorf("note %q claims to know what makod has not said", note)
	}
	gate.Release()
	first := firstLater()
	wantFirst(t, first, http.StatusAccepted, callA, callA)
	wantReplay(t, twin, first, callB, callA)
	if o := b.order(t, id); o.IFTSTADispatchedAt == nil {
		t.Error("what makod has taken is not recorded")
	}
	wantReplay(t, b.change(t, id, "execute", "", called(callC, callA)), first, callC, callA)
	b.wantTraces(t, traces{
		Orders: "executed", History: "created executed iftsta_dispatched", Events: "auftrag.eingegangen ausgefuehrt",
		IFTSTA: 1, Commands: 1, Records: 1, Calls: 3,
	})
}

func TestTwin_that_finds_the_work_done_while_it_waits_gets_its_answer(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 100)
	b := newBench(t, counted(arrived), patient)
	id := b.market(t, 17115, malo).ID
	<-arrived // the event
	<-arrived // the look at the order
	gate := b.makod.Hold()
	defer gate.Release()
	first := inBackground(func() answer { return b.change(t, id, "execute", "", called(callA)) })
	<-arrived
	if err := gate.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	twin := inBackground(func() answer {
		return persistent(func() answer { return b.change(t, id, "execute", "", called(callB, callA)) })
	})
	b.awaitNoted(t, callB)
	gate.Release()
	wantFirst(t, first(), http.StatusNoContent, callA, callA)
	wantReplay(t, twin(), first(), callB, callA)
}

// Whoever waits for makod, or for another call, holds no connection.
func TestTwins_of_a_held_call_and_clients_that_hang_up_leave_a_pool_of_three_free(t *testing.T) {
	t.Parallel()
	const twins, quitters = 10, 10
	arrived := make(chan struct{}, 10*(twins+quitters))
	b := newBench(t, counted(arrived), func(s *settings) { s.poolSize = 3 })
	id := b.market(t, 17115, malo).ID
	<-arrived
	<-arrived
	gate := b.makod.Hold()
	defer gate.Release()

	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	var gone sync.WaitGroup
	quit := func(header []string) { gone.Go(func() { b.abandon(ctx, t, id, header) }) }
	quit(called(callA)) // the call that does the work loses its client too
	<-arrived
	if err := gate.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for range quitters {
		quit(called(uuid.NewString(), callA))
	}
	answers := make([]func() answer, twins)
	for i := range answers {
		header := called(uuid.NewString(), callA)
		answers[i] = inBackground(func() answer {
			return persistent(func() answer { return b.change(t, id, "execute", "", header) })
		})
	}
	for range twins + quitters {
		<-arrived
	}
	hangUp()
	gone.Wait()

	// These end while the gate is closed, or not at all.
	wantStatus(t, b.get(t, orders), http.StatusOK)
	wantStatus(t, b.get(t, "/health/ready"), http.StatusOK)
	wantFirst(t, b.createCalled(t, fullOrder, called(callZ)), http.StatusCreated, callZ, callZ)
	if n := b.count(t, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'`); n != 0 {
		t.Errorf("%d sessions are idle in a transaction while makod answers", n)
	}
	gate.Release()
	for _, later := range answers {
		a := later()
		if diff := cmp.Diff(toldBy(answers[0]()), toldBy(a)); diff != "" || a.status/100 != 2 {
			t.Errorf("twin %d %s (-first +this one):\n%s", a.status, a.body, diff)
		}
	}
	wantReplay(t, b.change(t, id, "execute", "", called(callB, callA)), answers[0](), callB, callA)
	if sent := len(b.makod.Requests()); sent != 1 {
		t.Errorf("%d commands, want 1", sent)
	}
}

// abandon makes a call whose client hangs up when ctx ends.
func (b *bench) abandon(ctx context.Context, t *testing.T, id string, header []string) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, b.url+orders+"/"+id+"/execute", http.NoBody)
	if err != nil {
		t.Error(err)
		return
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := b.http.Do(r)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, response.Body)
	response.Body.Close()
}

// lockOrder keeps every change of an order waiting until it is released.
func (b *bench) lockOrder(t *testing.T, id string) (release func()) {
	t.Helper()
	return b.locked(t, `SELECT FROM sperr_orders WHERE id = $1 FOR UPDATE`, id)
}

// locked keeps the row that a statement locks until it is released.
func (b *bench) locked(t *testing.T, sql, id string) (release func()) {
	t.Helper()
	tx, err := b.pool.BeginTx(t.Context(), pgx.TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(func() {
		if err := tx.Rollback(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(release)
	if _, err := tx.Exec(t.Context(), sql, id); err != nil {
		t.Fatal(err)
	}
	return release
}

// awaitNoted waits until a twin has found the call under way.
func (b *bench) awaitNoted(t *testing.T, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for noted := false; !noted; {
		if err := b.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM api_transaction_attempts WHERE transaction_id = $1)`, id).Scan(&noted); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitLocked returns when one session, and no other, waits for a lock.
func (b *bench) awaitLocked(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for waiting := -1; waiting != 1; {
		if err := b.pool.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting); err != nil {
			t.Fatalf("%d sessions wait for a lock, want 1: %v", waiting, err)
		}
	}
}

func TestTwin_of_a_call_of_which_nothing_is_known_yet_is_asked_to_come_again(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"execute", "fail", "cancel"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, func(s *settings) { s.twinWait = 20 * time.Millisecond })
			id := b.market(t, 17115, malo).ID
			body, status := "{}", http.StatusNoContent
			if verb == "fail" {
				body, status = `{"reason":"zu"}`, http.StatusAccepted
			}
			release := b.lockOrder(t, id)
			first := inBackground(func() answer { return b.change(t, id, verb, body, called(callA)) })
			b.awaitLocked(t)
			for _, header := range [][]string{called(callB, callA), called(callA), called(callC, callA)} {
				twin := b.change(t, id, verb, body, header)
				wantProblem(t, twin, http.StatusConflict, "transaction_in_progress")
				wantFirst(t, twin, http.StatusConflict, header[1], callA)
				if got := twin.header.Get("Retry-After"); got != "1" {
					t.Errorf("Retry-After %q, want 1", got)
				}
			}
			b.awaitLocked(t) // none of the twins waits in the database
			release()
			wantFirst(t, first(), status, callA, callA)
			wantReplay(t, b.change(t, id, verb, body, called(callB, callA)), first(), callB, callA)
			if got := b.traces(t); got.Records != 1 || got.Calls != 2 {
				t.Errorf("left behind %+v, want one operation and two calls", got)
			}
		})
	}
}

// What a twin found under way and that then failed is nobody's: the twin does the work.
func TestTwin_does_the_work_when_the_call_under_way_has_failed(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 100)
	b := newBench(t, counted(arrived), patient)
	id := b.create(t, minimal("sperrung")).ID
	<-arrived
	// The first change of a report fails at its commit; those after it do not.
	b.statement(t, `CREATE SEQUENCE changes`)
	b.breakdown(t, "CONSTRAINT TRIGGER", "sperr_order_history", "AFTER INSERT ON TABLE DEFERRABLE INITIALLY DEFERRED",
		`IF nextval('changes') = 1 THEN RAISE EXCEPTION 'breakdown'; END IF`)
	release := b.lockOrder(t, id)
	first := inBackground(func() answer { return b.change(t, id, "fail", `{"reason":"zu"}`, called(callA)) })
	<-arrived
	b.awaitLocked(t)
	twin := inBackground(func() answer {
		return persistent(func() answer { return b.change(t, id, "fail", `{"reason":"zu"}`, called(callB, callA)) })
	})
	<-arrived
	release()
	wantFirst(t, first(), http.StatusInternalServerError, callA, callA)
	wantFirst(t, twin(), http.StatusAccepted, callB, callA)
	wantReplay(t, b.change(t, id, "fail", `{"reason":"zu"}`, called(callA)), twin(), callA, callA)
	if o := b.order(t, id); o.Sperrversuche != 1 {
		t.Errorf("%d visits, want 1", o.Sperrversuche)
	}
}

// A retry whose own id a call under way names as its first waits for that call outside of
// the database, as any twin does, and is told so.
func TestRetry_whose_id_is_claimed_by_a_call_under_way_is_asked_to_come_again(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *settings) { s.twinWait = 20 * time.Millisecond })
	id := b.market(t, 17115, malo).ID
	const body = `{"reason":"zu"}`
	wantFirst(t, b.change(t, id, "fail", body, called(callA)), http.StatusAccepted, callA, callA)
	release := b.lockOrder(t, id)
	underWay := inBackground(func() answer { return b.change(t, id, "fail", body, called(callC, callB)) })
	b.awaitLocked(t)
	wantProblem(t, b.change(t, id, "fail", body, called(callB, callA)), http.StatusConflict, "transaction_in_progress")
	release()
	wantEcho(t, underWay(), callC, callB)
}
