package sperr

import (
	"testing"
	"time"

	"sperrd/internal/transaction"
)

func TestAForgottenVisitIsNotTheAnswerToAnotherReport(t *testing.T) {
	t.Parallel()
	b, clock := forgetful(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	report := FailReport{Reason: "niemand da", VersuchAm: ptr("2026-09-03T09:00:00+02:00")}
	if _, err := b.service.Fail(t.Context(), keyed(idA, idA), order.ID, report); err != nil {
		t.Fatal(err)
	}
	b.forgotten(t, clock)
	for name, other := range map[string]FailReport{
		"closes the order":     {Reason: "niemand da", Endgueltig: true, PruefschrittCode: ptr("A01"), VersuchAm: report.VersuchAm},
		"met refusal":          {Reason: "niemand da", PruefschrittCode: ptr("A02"), VersuchAm: report.VersuchAm},
		"tells of another day": {Reason: "niemand da", VersuchAm: ptr("2026-09-04T09:00:00+02:00")},
	} {
		_, err := b.service.Fail(t.Context(), keyed(idB, idA), order.ID, other)
		wantTransactionConflict(t, name, err, transaction.ReasonContent)
		b.exec(t, `DELETE FROM api_transactions`)
	}
	stranger := keyed(idB, idA)
	stranger.Actor, stranger.Attempt.Principal = "another team", "idp another team"
	_, err := b.service.Fail(t.Context(), stranger, order.ID, report)
	wantTransactionConflict(t, "another actor", err, transaction.ReasonPrincipal)
}

func TestARepetitionUnderTheSameIDIsALateCallToo(t *testing.T) {
	t.Parallel()
	b, clock := forgetful(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	key := transaction.KeyPrefix + "k-1"
	first, err := b.service.Cancel(t.Context(), keyed(key, key), order.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		*clock = clock.Add(retained - time.Second)
		again, err := b.service.Cancel(t.Context(), keyed(key, key), order.ID, "")
		wantReplay(t, again, err, first)
		b.forget(t)
	}
}

func TestAnOutcomeThatWasClaimedAndNotSentHasNoFirstCommandYet(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.backlog(t, 1)[0]
	w := b.worker()
	w.record(t.Context(), []attempt{b.service.notSent(oneClaim(t, w), errStopping)})
	b.due(t)
	drain(t, w)
	b.wantChain(t, id, 1, "")
}
