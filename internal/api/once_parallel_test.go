package api_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// persistent makes a call as a client does that wants its answer: where it is asked to
// come again, it does, a number of times. On a busy machine that happens to anybody.
func persistent(call func() answer) answer {
	a := call()
	for range 20 {
		again := a.status == http.StatusServiceUnavailable ||
			a.status == http.StatusConflict && readProblem(a).Code == "transaction_in_progress"
		if !again {
			break
		}
		a = call()
	}
	return a
}

// patient lets a call wait for its twin as long as any call may take.
func patient(s *settings) { s.twinWait = time.Minute }

// wantOneAnswer fails unless all answers are the same, and at most one no replay: none
// where the call that did the work has not got its answer.
func wantOneAnswer(t *testing.T, answers []answer) {
	t.Helper()
	firsts := 0
	for _, a := range answers {
		if diff := cmp.Diff(toldBy(answers[0]), toldBy(a)); diff != "" {
			t.Errorf("two answers of one operation (-first +another):\n%s", diff)
			return
		}
		if a.header.Get(replayMark) == "" {
			firsts++
		}
	}
	if firsts > 1 {
		t.Errorf("%d of %d calls say that they did the work", firsts, len(answers))
	}
}

func TestTwenty_executes_of_one_transaction_in_parallel_are_one(t *testing.T) {
	t.Parallel()
	b := newBench(t, patient)
	id := b.market(t, 17115, malo).ID
	answers := make([]answer, 20)
	var calls sync.WaitGroup
	for i := range answers {
		header := called(callA)
		if i > 0 {
			header = called(uuid.NewString(), callA)
		}
		calls.Go(func() { answers[i] = persistent(func() answer { return b.change(t, id, "execute", "", header) }) })
	}
	calls.Wait()
	for _, a := range answers {
		if a.status != http.StatusNoContent || a.header.Get("referenceId") != callA {
			t.Errorf("%d %s, referenceId %q; want 204 of %s", a.status, a.body, a.header.Get("referenceId"), callA)
		}
	}
	wantOneAnswer(t, answers)
	b.wantTraces(t, traces{
		Orders: "executed", History: "created executed iftsta_dispatched", Events: "auftrag.eingegangen ausgefuehrt",
		IFTSTA: 1, Commands: 1, Records: 1, Calls: 20,
	})
}

func TestTwenty_executes_under_one_id_in_parallel_are_one(t *testing.T) {
	t.Parallel()
	b := newBench(t, patient)
	id := b.market(t, 17115, malo).ID
	answers := make([]answer, 20)
	var calls sync.WaitGroup
	for i := range answers {
		calls.Go(func() {
			answers[i] = persistent(func() answer { return b.change(t, id, "execute", "", called(callA)) })
		})
	}
	calls.Wait()
	wantOneAnswer(t, answers)
	if got := b.traces(t); got.Commands != 1 || got.Orders != "executed" || got.Records != 1 || got.Calls != 1 {
		t.Errorf("left behind %+v", got)
	}
}

func TestFifty_calls_on_each_of_twenty_orders_while_makod_is_slow_are_twenty_outcomes(t *testing.T) {
	t.Parallel()
	const operations, attempts = 20, 50
	b := newBench(t, func(s *settings) { s.poolSize = 10 })
	ids := make([]string, operations)
	for i := range ids {
		ids[i] = b.market(t, 17115, maloOf(i)).ID
	}
	gate := b.makod.Hold()
	defer gate.Release()
	answers := make([][]answer, operations)
	var calls sync.WaitGroup
	for i, id := range ids {
		answers[i] = make([]answer, attempts)
		first := uuid.NewString()
		for j := range attempts {
			own := first
			if j > 0 {
				own = uuid.NewString()
			}
			calls.Go(func() {
				answers[i][j] = persistent(func() answer { return b.change(t, id, "execute", "", called(own, first)) })
			})
		}
	}
	if err := gate.Wait(t.Context(), operations); err != nil {
		t.Fatal(err)
	}
	gate.Release()
	calls.Wait()
	for i := range answers {
		wantOneAnswer(t, answers[i])
		if status := answers[i][0].status; status/100 != 2 {
			t.Errorf("order %d: %d %s", i, status, answers[i][0].body)
		}
	}
	for key, n := range map[string]int{"executed": operations, "pending": 0} {
		if got := b.count(t, fmt.Sprintf(`SELECT count(*) FROM sperr_orders WHERE status = '%s'`, key)); got != n {
			t.Errorf("%d orders are %s, want %d", got, key, n)
		}
	}
	if n := b.count(t, `SELECT count(DISTINCT order_id) + count(*) FROM event_outbox WHERE ce_type LIKE '%ausgefuehrt'`); n != 2*operations {
		t.Errorf("%d events and orders with one, want %d of both", n, operations)
	}
	if sent, taken := len(b.makod.Requests()), len(b.makod.IFTSTA()); sent != operations || taken != operations {
		t.Errorf("%d commands, %d taken; want one for each of %d orders", sent, taken, operations)
	}
	if n := b.count(t, `SELECT count(*) FROM api_transactions`); n != operations {
		t.Errorf("%d operations, want %d", n, operations)
	}
}

// Neither of two calls of a chain has been recorded when the other one looks.
func TestChain_of_two_calls_in_parallel_is_one_order(t *testing.T) {
	t.Parallel()
	b := newBench(t, patient)
	for round := 1; round <= 20; round++ {
		first, second, third := uuid.NewString(), uuid.NewString(), uuid.NewString()
		var answers [3]answer
		var calls sync.WaitGroup
		for i, header := range [][]string{called(second, first), called(third, second), called(second, first)} {
			calls.Go(func() { answers[i] = persistent(func() answer { return b.createCalled(t, fullOrder, header) }) })
		}
		calls.Wait()
		wantOneAnswer(t, answers[:])
		if n := b.orderCount(t); n != round || answers[0].status != http.StatusCreated {
			t.Fatalf("%d orders of %d operations; %d %s", n, round, answers[0].status, answers[0].body)
		}
		// The first call, whose answer was lost, may come last.
		late := b.createCalled(t, fullOrder, called(first))
		wantReplay(t, late, answers[0], first, answers[0].header.Get("referenceId"))
	}
}

// What two calls in parallel ask for under one transaction differs: one is done, the other
// a conflict, whichever comes first.
func TestContradicting_calls_of_one_transaction_in_parallel_are_one_order_and_a_conflict(t *testing.T) {
	t.Parallel()
	b := newBench(t, patient)
	for round := 1; round <= 10; round++ {
		first := uuid.NewString()
		var answers [2]answer
		var calls sync.WaitGroup
		for i, body := range []string{minimal("sperrung"), minimal("entsperrung")} {
			header := called(uuid.NewString(), first)
			calls.Go(func() { answers[i] = persistent(func() answer { return b.createCalled(t, body, header) }) })
		}
		calls.Wait()
		refused := answers[0]
		if answers[0].status == http.StatusCreated {
			refused = answers[1]
		}
		wantProblem(t, refused, http.StatusConflict, "transaction_conflict")
		if n := b.orderCount(t); n != round {
			t.Fatalf("%d orders of %d operations", n, round)
		}
	}
}

// A first visit and its retry, and at the same time the second visit, of another team.
func TestFail_repeated_beside_the_second_visit_counts_two_visits(t *testing.T) {
	t.Parallel()
	b := newBench(t, patient)
	const body = `{"reason":"niemand da","pruefschritt_code":"A05"}`
	for n := range 5 {
		id := b.market(t, 17115, maloOf(n)).ID
		one, two := uuid.NewString(), uuid.NewString()
		var answers [2][10]answer
		var calls sync.WaitGroup
		for i := range answers[0] {
			for k, operation := range []string{one, two} {
				header := called(uuid.NewString(), operation)
				calls.Go(func() {
					answers[k][i] = persistent(func() answer { return b.change(t, id, "fail", body, header) })
				})
			}
		}
		calls.Wait()
		statuses := map[int]bool{}
		for k := range answers {
			wantOneAnswer(t, answers[k][:])
			statuses[answers[k][0].status] = true
		}
		if o := b.order(t, id); o.Status != "failed" || o.Sperrversuche != 2 {
			t.Errorf("order %+v, want it failed after two visits", o)
		}
		if diff := cmp.Diff(map[int]bool{http.StatusAccepted: true, http.StatusNoContent: true}, statuses); diff != "" {
			t.Errorf("answers of the two operations (-want +got):\n%s", diff)
		}
		if sent := len(b.makod.Requests()); sent != n+1 {
			t.Errorf("%d commands of %d orders", sent, n+1)
		}
	}
}
