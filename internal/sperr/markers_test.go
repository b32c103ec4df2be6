package sperr

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/makod/makodtest"
	"sperrd/internal/transaction"
)

// traces are the lines of an order's history as "action, call, detail of the call".
func (b *bench) traces(t *testing.T, o Order) (lines []string) {
	t.Helper()
	history, err := b.repo.History(t.Context(), o.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range history {
		var detail struct {
			Initial   string `json:"initial_transaction_id"`
			Reference string `json:"reference_id"`
		}
		if err := json.Unmarshal(e.Detail, &detail); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, e.Action+", "+text(e.TransactionID)+", "+detail.Initial+", "+detail.Reference)
	}
	return lines
}

func TestAnOrderKeepsWhichCallsHaveMadeVisitedAndClosedIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	created, err := b.service.Create(t.Context(), keyed(idB, idA), NewOrder{MaloID: testMalo, LieferantID: testLF, OrderType: "sperrung"})
	if err != nil {
		t.Fatal(err)
	}
	order := b.get(t, created.Order.ID)
	if text(order.ErstelltTransaktion) != idA || order.LetzterVersuchTransaktion != nil || order.AbschlussTransaktion != nil || order.IFTSTATransaktion != nil {
		t.Errorf("after create: %+v", order)
	}
	report := FailReport{Reason: "niemand da", PruefschrittCode: ptr("A08")}
	if _, err := b.service.Fail(t.Context(), keyed(idC, idC), order.ID, report); err != nil {
		t.Fatal(err)
	}
	if order = b.get(t, order.ID); text(order.LetzterVersuchTransaktion) != idC || order.AbschlussTransaktion != nil {
		t.Errorf("after the first visit: %+v", order)
	}
	if _, err := b.service.Fail(t.Context(), keyed(idD, idD), order.ID, report); err != nil {
		t.Fatal(err)
	}
	order = b.get(t, order.ID)
	if text(order.ErstelltTransaktion) != idA || text(order.LetzterVersuchTransaktion) != idD || text(order.AbschlussTransaktion) != idD || order.IFTSTATransaktion != nil {
		t.Errorf("after the second visit: %+v", order)
	}
	want := []string{"created, " + idB + ", " + idA + ", ", "sperrversuch_failed, " + idC + ", , ", "failed, " + idD + ", , "}
	if diff := cmp.Diff(want, b.traces(t, order)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

func TestAMarketOrderKeepsUnderWhichTransactionItIsReported(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	call := keyed(idB, idA)
	call.Attempt.Reference = idD
	if _, err := b.service.Execute(t.Context(), call, order.ID, ExecuteReport{}); err != nil {
		t.Fatal(err)
	}
	got := b.get(t, order.ID)
	sent := b.requestsFor(order.ID)
	if text(got.AbschlussTransaktion) != idA || got.LetzterVersuchTransaktion != nil || got.IFTSTATransaktion == nil || len(sent) != 1 {
		t.Fatalf("order = %+v, %d commands", got, len(sent))
	}
	want := []string{"created, , , ", "executed, " + idB + ", " + idA + ", " + idD, "iftsta_dispatched, " + sent[0].TransactionID() + ", , "}
	if diff := cmp.Diff(want, b.traces(t, order)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	if id := sent[0].TransactionID(); id != got.IFTSTATransaktion.String() || id == idA || id == idB {
		t.Errorf("the command went as %s, want the order's own %s", id, got.IFTSTATransaktion)
	}
}

func TestACallWithoutIdentifiersLeavesNone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	if _, err := b.service.Fail(t.Context(), keyed(idA, idA), order.ID, FailReport{Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	before := b.known(t)
	if _, err := b.service.Fail(t.Context(), Call{Actor: "team"}, order.ID, FailReport{Reason: "x", PruefschrittCode: ptr("A08")}); err != nil {
		t.Fatal(err)
	}
	got := b.get(t, order.ID)
	if got.LetzterVersuchTransaktion != nil || got.AbschlussTransaktion != nil || got.IFTSTATransaktion == nil || b.known(t) != before {
		t.Errorf("order = %+v; known are %v", got, b.known(t))
	}
	if line := b.traces(t, order)[2]; line != "failed, , , " {
		t.Errorf("history line %q", line)
	}
}

func TestAResetTellsWhichCallHasAskedForIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.failedDispatch(t, makodtest.BadGateway())
	first, err := b.service.ResetIFTSTA(t.Context(), keyed(idB, idA), order.ID, "makod is mended")
	if err != nil {
		t.Fatal(err)
	}
	again, err := b.service.ResetIFTSTA(t.Context(), keyed(idC, idA), order.ID, "makod is mended")
	wantReplay(t, again, err, first)
	if got := b.get(t, order.ID); got.IFTSTAResets != 1 {
		t.Errorf("%d resets", got.IFTSTAResets)
	}
	byKey := keyed(transaction.KeyPrefix+"k-1", transaction.KeyPrefix+"k-1")
	for _, call := range []Call{byKey, {Actor: "team"}} {
		if _, err := b.service.ResetIFTSTA(t.Context(), call, order.ID, ""); err != nil {
			t.Fatal(err)
		}
	}
	b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 3`)
	b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 0`) // on connections that have named a call before
	want := []string{"iftsta_reset, " + idB + ", " + idA + ", ", "iftsta_reset, k-1, , ", "iftsta_reset, , , ", "iftsta_reset, , , "}
	if diff := cmp.Diff(want, b.traces(t, order)[3:]); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}
