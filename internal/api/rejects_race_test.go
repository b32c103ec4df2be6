package api_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// atOnce makes calls at the same time and returns their answers.
func atOnce(calls ...func() answer) []answer {
	answers := make([]answer, len(calls))
	var all sync.WaitGroup
	for i, call := range calls {
		all.Go(func() { answers[i] = call() })
	}
	all.Wait()
	return answers
}

// tally counts answers by status.
func tally(answers []answer) map[int]int {
	statuses := map[int]int{}
	for _, a := range answers {
		statuses[a.status]++
	}
	return statuses
}

func TestReplay_many_at_once_settle_once(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	kept := b.refused(t, sample(t, "17115-fixed-date.json"))
	calls := make([]func() answer, 12)
	for i := range calls {
		calls[i] = func() answer { return b.replay(t, kept, "") }
	}
	answers := atOnce(calls...)
	if diff := cmp.Diff(map[int]int{http.StatusCreated: 1, http.StatusConflict: 11}, tally(answers)); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	for _, a := range answers {
		if a.status == http.StatusConflict {
			wantProblem(t, a, http.StatusConflict, "reject_settled")
		}
	}
	b.wantTraces(t, traces{Orders: "pending", History: "created", Events: "auftrag.eingegangen", Settled: 1})
}

func TestReplay_beside_a_dismissal_and_the_market_leaves_one_order_and_one_settlement(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for n := range 10 {
		body := process(sample(t, "17117.json"), n)
		kept := b.refused(t, body)
		answers := atOnce(
			func() answer { return b.replay(t, kept, "") },
			func() answer { return b.dismiss(t, kept, `{"reason":"doppelt"}`) },
			func() answer { return b.deliver(t, body) },
			func() answer { return b.replay(t, kept, "") },
		)
		statuses := tally(answers)
		if statuses[http.StatusConflict] != 2 {
			t.Fatalf("answers %v, want two that come too late", statuses)
		}
		r := b.reject(t, kept)
		if replayed := answers[1].status == http.StatusConflict; replayed != (*r.Settlement == "replayed") || replayed != (r.OrderID != nil) {
			t.Errorf("dismissal answered with %d, settled as %+v", answers[1].status, r)
		}
		if n := b.orderCount(t); n != b.count(t, `SELECT count(DISTINCT process_id) FROM sperr_orders`) {
			t.Errorf("%d orders are not one of each process", n)
		}
	}
	for _, count := range []string{
		`SELECT count(*) FROM sperr_orders`, `SELECT count(*) FROM sperr_order_history WHERE action = 'created'`, `SELECT count(*) FROM event_outbox`,
		`SELECT count(*) FROM webhook_rejects WHERE settlement IS NOT NULL`,
	} {
		if n := b.count(t, count); n != 10 {
			t.Errorf("%s: %d, want 10", count, n)
		}
	}
}

func TestReplay_of_two_deliveries_of_one_process_makes_one_order(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := sample(t, "17115-fixed-date.json")
	one, two := b.refused(t, body), b.refused(t, body)
	answers := atOnce(func() answer { return b.replay(t, one, "") }, func() answer { return b.replay(t, two, "") })
	if diff := cmp.Diff(map[int]int{http.StatusCreated: 1, http.StatusOK: 1}, tally(answers)); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if *b.reject(t, one).OrderID != *b.reject(t, two).OrderID {
		t.Error("the deliveries name two orders")
	}
	b.wantTraces(t, traces{Orders: "pending", History: "created", Events: "auftrag.eingegangen", Settled: 2})
}

func TestReplay_twins_of_a_transaction_get_one_answer(t *testing.T) {
	t.Parallel()
	b := newBench(t, patient)
	kept := b.refused(t, sample(t, "17115-fixed-date.json"))
	calls := make([]func() answer, 8)
	for i := range calls {
		calls[i] = func() answer {
			return persistent(func() answer { return b.replay(t, kept, "", called(uuid.NewString(), callA)...) })
		}
	}
	wantOneAnswer(t, atOnce(calls...))
	if got := b.traces(t); got.Orders != "pending" || got.History != "created" || got.Settled != 1 || got.Records != 1 {
		t.Errorf("left behind %+v", got)
	}
}

func TestReplay_retry_after_anything_gets_the_answer_of_the_first_call(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	kept, other := b.refused(t, sample(t, "17115-fixed-date.json")), b.refused(t, sample(t, "17117.json"))
	first := b.replay(t, kept, "", called(callA)...)
	id := wantQueued(t, first)
	wantReplay(t, b.replay(t, kept, "{}", called(callA)...), first, callA, callA)
	wantReplay(t, b.replay(t, kept, "", called(callB, callA)...), first, callB, callA)

	// Another call is too late, and its retry hears the same.
	late := b.replay(t, kept, "", called(callC)...)
	p := wantProblem(t, late, http.StatusConflict, "reject_settled")
	wantFirst(t, late, http.StatusConflict, callC, callC)
	wantReplay(t, b.replay(t, kept, "", called(callC)...), late, callC, callC)
	if got := late.header.Get(contentLocation); got != orders+"/"+id || p.Detail == "" {
		t.Errorf("%s %q, want that of the order", contentLocation, got)
	}

	// An id belongs to one delivery and one route.
	wantConflict(t, b.replay(t, other, "", called(callA)...), callA, callA)
	wantConflict(t, b.dismiss(t, kept, `{"reason":"x"}`, called(callA)...), callA, callA)
	wantConflict(t, b.replay(t, kept, `{"reason":"x"}`, called(callA)...), callA, callA)
	if b.reject(t, other).Settlement != nil {
		t.Error("a conflict has settled a delivery")
	}

	// What was refused stays refused for its transaction, also when its cause is gone.
	stuck := b.refusedWith(t, http.StatusUnprocessableEntity, edited(t, "51238696012", "51238696782"))
	refusal := b.replay(t, stuck, "", called(callD)...)
	wantProblem(t, refusal, http.StatusUnprocessableEntity, "unusable_event", "malo_id")
	wantStatus(t, b.dismiss(t, stuck, `{"reason":"falsch gelesen"}`), http.StatusNoContent)
	wantReplay(t, b.replay(t, stuck, "", called(callD)...), refusal, callD, callD)
	wantStatus(t, b.replay(t, stuck, ""), http.StatusConflict)
}
