package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// oneCreated is what one create leaves behind, however often it was called.
func oneCreated(calls int) traces {
	return traces{Orders: "pending", History: "created", Events: "auftrag.eingegangen", Records: 1, Calls: calls}
}

func (b *bench) createCalled(t *testing.T, body string, header []string) answer {
	t.Helper()
	return b.call(t, http.MethodPost, orders, body, header...)
}

func TestCreate_repeated_is_one_order_and_the_same_answer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.createCalled(t, fullOrder, called(callA))
	wantFirst(t, first, http.StatusCreated, callA, callA)
	id := decode[order](t, first, http.StatusCreated).ID
	if got, want := first.header.Get(contentLocation), orders+"/"+id; got != want || first.header.Get("Location") != want {
		t.Errorf("%s %q, Location %q, want %q", contentLocation, got, first.header.Get("Location"), want)
	}
	wantReplay(t, b.createCalled(t, fullOrder, called(callB, callA)), first, callB, callA)
	b.wantTraces(t, oneCreated(2))
}

// The answer is that of the first call also when the order has moved on: how it stands
// now is read where Content-Location says.
func TestCreate_repeated_after_the_order_was_executed_is_the_answer_of_then(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.createCalled(t, fullOrder, called(callA))
	path := first.header.Get("Location")
	wantStatus(t, b.call(t, http.MethodPut, path+"/execute", ""), http.StatusNoContent)
	again := b.createCalled(t, fullOrder, called(callB, callA))
	wantReplay(t, again, first, callB, callA)
	if then, now := decode[order](t, again, http.StatusCreated), decode[order](t, b.get(t, again.header.Get(contentLocation)), http.StatusOK); then.Status != "pending" || now.Status != "executed" {
		t.Errorf("the answer says %s, the order is %s", then.Status, now.Status)
	}
}

func TestCreate_that_names_a_first_call_nobody_saw_is_done_and_that_one_is_answered_when_it_comes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.createCalled(t, fullOrder, called(callB, callA))
	wantFirst(t, first, http.StatusCreated, callB, callA)
	wantReplay(t, b.createCalled(t, fullOrder, called(callA)), first, callA, callA)
	wantReplay(t, b.createCalled(t, fullOrder, called(callB, callA)), first, callB, callA)
	b.wantTraces(t, oneCreated(2))
}

// Whichever call of a chain comes first does the work, under the oldest id it names.
func TestChain_in_any_order_is_one_order(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	chain := func() [3][]string {
		return [3][]string{called(callA), called(callB, callA), called(callC, callB)}
	}
	for _, turns := range [][3]int{{0, 1, 2}, {1, 0, 2}, {1, 2, 0}, {2, 1, 0}} {
		b.statement(t, `TRUNCATE api_transactions, api_transaction_attempts; UPDATE sperr_orders SET erstellt_transaktion = NULL`)
		before := b.orderCount(t)
		var answers []answer
		for _, turn := range turns {
			answers = append(answers, b.createCalled(t, fullOrder, chain()[turn]))
		}
		for i, a := range answers[1:] {
			if diff := cmp.Diff(toldBy(answers[0]), toldBy(a)); diff != "" || a.header.Get(replayMark) != "true" {
				t.Errorf("%v: answer %d, %s %q (-first +this one):\n%s", turns, i+2, replayMark, a.header.Get(replayMark), diff)
			}
			if got, want := a.header.Get("referenceId"), answers[0].header.Get("referenceId"); got != want {
				t.Errorf("%v: answer %d has referenceId %s, the first %s", turns, i+2, got, want)
			}
		}
		if n := b.orderCount(t) - before; n != 1 {
			t.Errorf("%v: %d orders, want 1", turns, n)
		}
	}
}

func TestCreate_with_the_same_id_again_is_answered_alike(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.createCalled(t, fullOrder, called(callA))
	wantReplay(t, b.createCalled(t, fullOrder, called(strings.ToUpper(callA))), first, callA, callA)
	wantReplay(t, b.createCalled(t, fullOrder, called(callA, callA)), first, callA, callA)
	b.wantTraces(t, oneCreated(1))
}

func TestIdempotency_Key_alone_is_a_transaction(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.createCalled(t, fullOrder, []string{"Idempotency-Key", `"k-1"`})
	wantFirst(t, first, http.StatusCreated, "k-1", "k-1")
	wantReplay(t, b.createCalled(t, fullOrder, []string{"Idempotency-Key", `"k-1"`}), first, "k-1", "k-1")
	conflict := b.createCalled(t, minimal("sperrung"), []string{"Idempotency-Key", "k-1"})
	wantProblem(t, conflict, http.StatusConflict, "transaction_conflict")
	wantFirst(t, conflict, http.StatusConflict, "k-1", "k-1")
	b.wantTraces(t, oneCreated(1))
}

// A UUID is the same id in both headers.
func TestIdempotency_Key_that_is_a_UUID_is_a_transactionId(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.createCalled(t, fullOrder, []string{"Idempotency-Key", strings.ToUpper(callA)})
	wantFirst(t, first, http.StatusCreated, callA, callA)
	wantReplay(t, b.createCalled(t, fullOrder, called(callA)), first, callA, callA)
	wantReplay(t, b.createCalled(t, fullOrder, append(called(callB, callA), "Idempotency-Key", `"`+callA+`"`)), first, callB, callA)
	b.wantTraces(t, oneCreated(2))
}

// A key that reads like another one with its mark is another one.
func TestIdempotency_Key_with_the_mark_of_the_store_is_a_key_like_any_other(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, key := range []string{"k-1", "ik:k-1", "ik:ik:k-1"} {
		wantFirst(t, b.createCalled(t, fullOrder, []string{"Idempotency-Key", key}), http.StatusCreated, key, key)
	}
	if n := b.orderCount(t); n != 3 {
		t.Errorf("%d orders of three keys", n)
	}
}
