package api_test

import (
	"net/http"
	"strings"
	"testing"

	"sperrd/internal/makod/makodtest"
	"sperrd/internal/sperr"
)

func TestExecute_repeated_is_one_command_and_the_same_answer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.market(t, 17115, malo).ID
	first := b.change(t, id, "execute", "", called(callA))
	wantFirst(t, first, http.StatusNoContent, callA, callA)
	if got := first.header.Get(contentLocation); got != orders+"/"+id {
		t.Errorf("%s %q", contentLocation, got)
	}
	again := b.change(t, id, "execute", "", called(callB, callA))
	wantReplay(t, again, first, callB, callA)
	wantReplay(t, b.change(t, strings.ToUpper(id), "execute", "", called(callB, callA)), first, callB, callA)
	if len(again.body) != 0 {
		t.Errorf("body %q of a 204", again.body)
	}
	b.wantTraces(t, traces{
		Orders: "executed", History: "created executed iftsta_dispatched", Events: "auftrag.eingegangen ausgefuehrt",
		IFTSTA: 1, Commands: 1, Records: 1, Calls: 2,
	})
}

func TestExecute_that_was_202_stays_202_when_makod_has_the_outcome(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]makodtest.Fault{"refused": makodtest.ProcessNotFound(), "cut": makodtest.Drop()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var service *sperr.Service
			b := newBench(t, holdService(&service))
			id := b.market(t, 17115, malo).ID
			b.makod.FailNext(1, fault)
			first := b.change(t, id, "execute", "", called(callA))
			wantFirst(t, first, http.StatusAccepted, callA, callA)
			wantRecorded(t, first, map[string]any{"recorded": true, "status": "executed", "iftsta_dispatched": false})
			wantReplay(t, b.change(t, id, "execute", "", called(callC, callA)), first, callC, callA)

			b.retryWorker(t, service, 2)
			wantReplay(t, b.change(t, id, "execute", "", called(callB, callA)), first, callB, callA)
			if o := b.order(t, id); o.IFTSTADispatchedAt == nil {
				t.Errorf("order %+v, want it dispatched", o)
			}
			b.wantTraces(t, traces{
				Orders: "executed", History: "created executed iftsta_not_taken iftsta_dispatched", Events: "auftrag.eingegangen ausgefuehrt",
				IFTSTA: 1, Commands: 2, Records: 1, Calls: 3,
			})
			if ids := b.makod.RepeatedTransactionIDs(); len(ids) != 0 {
				t.Errorf("makod saw %v twice", ids)
			}
		})
	}
}

func TestFail_repeated_is_one_visit_and_another_transaction_the_second(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.market(t, 17115, malo).ID
	const body = `{"reason":"niemand da","pruefschritt_code":"A05"}`
	first := b.change(t, id, "fail", body, called(callA))
	wantFirst(t, first, http.StatusAccepted, callA, callA)
	wantRecorded(t, first, map[string]any{"recorded": true, "status": "pending", "sperrversuche": 1.0, "iftsta_dispatched": false})
	for _, retry := range []string{callB, callC, callD} {
		wantReplay(t, b.change(t, id, "fail", body, called(retry, callA)), first, retry, callA)
	}
	b.wantTraces(t, traces{
		Orders: "pending", Visits: 1, History: "created sperrversuch_failed", Events: "auftrag.eingegangen versuch.gescheitert",
		Records: 1, Calls: 4,
	})

	second := b.change(t, id, "fail", body, called(callZ))
	wantFirst(t, second, http.StatusNoContent, callZ, callZ)
	wantReplay(t, b.change(t, id, "fail", body, called(callB, callA)), first, callB, callA)
	b.wantTraces(t, traces{
		Orders: "failed", Visits: 2, History: "created sperrversuch_failed failed iftsta_dispatched",
		Events: "auftrag.eingegangen versuch.gescheitert fehlgeschlagen", IFTSTA: 1, Commands: 1, Records: 2, Calls: 5,
	})
	if command := b.makod.Requests()[0].Command; command != "gpke.sperrung.fehlgeschlagen" {
		t.Errorf("command %s", command)
	}
}

func TestFail_with_another_reason_under_the_same_transaction_is_a_conflict_and_changes_nothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.market(t, 17115, malo).ID
	first := b.change(t, id, "fail", `{"reason":"x"}`, called(callA))
	wantFirst(t, first, http.StatusAccepted, callA, callA)
	before := b.traces(t)
	wantConflict(t, b.change(t, id, "fail", `{"reason":"y"}`, called(callB, callA)), callB, callA, id)
	b.wantTraces(t, before)
	wantReplay(t, b.change(t, id, "fail", `{"reason":"x"}`, called(callC, callA)), first, callC, callA)
}

func TestExecute_without_creationDateTime_does_not_use_up_its_id(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.market(t, 17115, malo).ID
	before := b.traces(t)
	refused := b.change(t, id, "execute", "", []string{"transactionId", callA})
	wantProblem(t, refused, http.StatusBadRequest, "invalid_transaction_header", "creationDateTime")
	wantEcho(t, refused, callA, callA)
	b.wantTraces(t, before)
	wantFirst(t, b.change(t, id, "execute", "", called(callA)), http.StatusNoContent, callA, callA)
}

// A refusal is an answer too: a retry learns that it is the old one, and a new
// transaction is judged anew.
func TestRefusal_is_repeated_for_its_transaction_and_found_anew_for_another(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.market(t, 17115, malo).ID
	wantStatus(t, b.report(t, id, "execute", ""), http.StatusNoContent)
	before := b.traces(t)
	first := b.change(t, id, "cancel", "", called(callA))
	wantProblem(t, first, http.StatusConflict, "order_not_pending")
	wantFirst(t, first, http.StatusConflict, callA, callA)
	wantReplay(t, b.change(t, id, "cancel", "", called(callB, callA)), first, callB, callA)
	other := b.change(t, id, "cancel", "", called(callC))
	wantProblem(t, other, http.StatusConflict, "order_not_pending")
	wantFirst(t, other, http.StatusConflict, callC, callC)
	before.Records, before.Calls = 2, 3
	b.wantTraces(t, before)
}

// What was refused for a reason that is gone stays refused for that transaction.
func TestRefusal_stays_although_its_reason_is_gone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.market(t, 17115, malo).ID
	first := b.change(t, id, "iftsta/reset", "", called(callA))
	wantProblem(t, first, http.StatusConflict, "nothing_to_reset")
	b.makod.FailNext(1, makodtest.ProcessNotFound())
	wantStatus(t, b.report(t, id, "execute", ""), http.StatusAccepted)
	wantReplay(t, b.change(t, id, "iftsta/reset", "", called(callB, callA)), first, callB, callA)
	wantFirst(t, b.change(t, id, "iftsta/reset", "", called(callC)), http.StatusNoContent, callC, callC)
}

func TestCalls_without_identifiers_are_done_as_often_as_they_come(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.market(t, 17115, malo).ID
	answers := []answer{
		b.report(t, id, "execute", ""), b.report(t, id, "execute", ""),
		b.createCalled(t, fullOrder, nil), b.createCalled(t, fullOrder, nil),
	}
	for i, status := range []int{http.StatusNoContent, http.StatusConflict, http.StatusCreated, http.StatusCreated} {
		wantStatus(t, answers[i], status)
		wantEcho(t, answers[i], "", "")
		for _, name := range []string{replayMark, contentLocation} {
			if got, there := answers[i].header[name]; there {
				t.Errorf("%d: %s %q", i, name, got)
			}
		}
	}
	wantProblem(t, answers[1], http.StatusConflict, "order_not_pending")
	b.wantTraces(t, traces{
		Orders: "executed pending pending", History: "created executed iftsta_dispatched created created another_order_pending",
		Events: "auftrag.eingegangen ausgefuehrt auftrag.eingegangen auftrag.eingegangen", IFTSTA: 1, Commands: 1,
	})
}
