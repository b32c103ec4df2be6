package sperr

import (
	"fmt"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"

	"sperrd/internal/makod/makodtest"
	"sperrd/internal/transaction"
)

// wantCall fails unless e says that it answers reference, which transactionID has done;
// empty stands for an attribute that is absent.
func wantCall(t *testing.T, e event.Event, reference, transactionID string) {
	t.Helper()
	for name, want := range map[string]string{extensionReference: reference, extensionTransaction: transactionID} {
		got, given := e.Extensions()[name]
		if given != (want != "") || given && got != want {
			t.Errorf("%s: %s is %v, want %q", e.Type(), name, got, want)
		}
	}
	if err := e.Validate(); err != nil {
		t.Errorf("%s: %v", e.Type(), err)
	}
}

// wantID fails unless e has the id that follows from its order and what happened.
func wantID(t *testing.T, e event.Event, order uuid.UUID, ordinal int) {
	t.Helper()
	if want := uuid.NewSHA1(order, fmt.Appendf(nil, "%s/%d", e.Type(), ordinal)).String(); e.ID() != want {
		t.Errorf("%s has id %s, want %s whichever call has caused it", e.Type(), e.ID(), want)
	}
}

// changes are all calls that write an event: each on an order of its own.
func (b *bench) changes(t *testing.T, call Call) map[string]Order {
	t.Helper()
	report := FailReport{Reason: "niemand da", PruefschrittCode: ptr("A08")}
	i := 0
	next := func() Order {
		i++
		return b.receive(t, pidSperrauftrag, maloWith(i))
	}
	orders := map[string]Order{EventAusgefuehrt: next(), EventVersuchGescheitert: next(), EventFehlgeschlagen: next(), EventStorniert: next()}
	final := report
	final.Endgueltig, final.PruefschrittCode = true, ptr("A01")
	for _, change := range []func(Call) (Result, error){
		func(c Call) (Result, error) {
			return b.service.Execute(t.Context(), c, orders[EventAusgefuehrt].ID, ExecuteReport{})
		},
		func(c Call) (Result, error) {
			return b.service.Fail(t.Context(), c, orders[EventVersuchGescheitert].ID, report)
		},
		func(c Call) (Result, error) {
			return b.service.Fail(t.Context(), c, orders[EventFehlgeschlagen].ID, final)
		},
		func(c Call) (Result, error) {
			return b.service.Cancel(t.Context(), c, orders[EventStorniert].ID, "")
		},
		func(c Call) (Result, error) {
			created, err := b.service.Create(t.Context(), c, NewOrder{MaloID: testMalo, LieferantID: testLF, OrderType: "sperrung"})
			orders[EventAuftragEingegangen] = created.Order
			return created, err
		},
	} {
		if _, err := change(call); err != nil {
			t.Fatal(err)
		}
		b.exec(t, `DELETE FROM api_transactions`) // so that each may have the same ids
	}
	return orders
}

func TestAnEventSaysWhichOperationItAnswersAndWhichCallHasDoneIt(t *testing.T) {
	t.Parallel()
	key := transaction.KeyPrefix + "order 7/ä"
	for name, c := range map[string]struct{ id, initial, transactionID, reference string }{
		"the first call":                   {idA, idA, idA, idA},
		"a repetition of one that is lost": {idB, idA, idB, idA},
		"an Idempotency-Key":               {key, key, "order 7/ä", "order 7/ä"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			for eventType, order := range b.changes(t, keyed(c.id, c.initial)) {
				e := b.envelope(t, order.ID, eventType)
				wantCall(t, e, c.reference, c.transactionID)
				wantID(t, e, order.ID, map[string]int{EventVersuchGescheitert: 1}[eventType])
			}
		})
	}
}

func TestAnEventOfACallWithoutIdentifiersAnswersTheMarketEvent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for eventType, order := range b.changes(t, Call{Actor: "team"}) {
		e := b.envelope(t, order.ID, eventType)
		wantCall(t, e, text(order.EventID), "")
		if operator := eventType == EventAuftragEingegangen; operator != (order.EventID == nil) {
			t.Errorf("%s: event id %v", eventType, order.EventID)
		}
	}
	queued := b.receive(t, pidSperrauftrag, otherMalo)
	e := b.envelope(t, queued.ID, EventAuftragEingegangen)
	if wantCall(t, e, text(queued.EventID), ""); queued.EventID == nil {
		t.Error("the id of the market event is not kept")
	}
	wantID(t, e, queued.ID, 0)
}

func TestALaterEventOfAnOrderAnswersItsOwnCall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	created, err := b.service.Create(t.Context(), keyed(idA, idA), NewOrder{MaloID: testMalo, LieferantID: testLF, OrderType: "sperrung"})
	if err != nil {
		t.Fatal(err)
	}
	id := created.Order.ID
	if _, err := b.service.Fail(t.Context(), keyed(idC, idB), id, FailReport{Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.service.Cancel(t.Context(), Call{Actor: "team"}, id, ""); err != nil {
		t.Fatal(err)
	}
	wantCall(t, b.envelope(t, id, EventAuftragEingegangen), idA, idA)
	wantCall(t, b.envelope(t, id, EventVersuchGescheitert), idB, idC)
	wantCall(t, b.envelope(t, id, EventStorniert), "", "")
}

func TestAnOverdueOrderIsAnnouncedToWhoeverMadeIt(t *testing.T) {
	t.Parallel()
	key := transaction.KeyPrefix + "k-1"
	b := newBench(t)
	market := b.receive(t, pidSperrauftrag, maloWith(1))
	want := map[uuid.UUID]string{market.ID: text(market.EventID), b.create(t, newOrder(2)).ID: ""}
	for i, c := range []struct{ id, initial, reference string }{{idB, idA, idA}, {key, key, "k-1"}} {
		created, err := b.service.Create(t.Context(), keyed(c.id, c.initial), newOrder(3+i))
		if err != nil {
			t.Fatal(err)
		}
		want[created.Order.ID] = c.reference
	}
	// Another call has come since: the announcement is about the order, not about that one.
	if _, err := b.service.Fail(t.Context(), keyed(idD, idC), market.ID, FailReport{Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	b.exec(t, `UPDATE sperr_orders SET ausfuehrung_faellig_am = '2026-09-02'`)
	b.scanAll(t)
	for id, reference := range want {
		e := b.envelope(t, id, EventAusfuehrungUeberfaellig)
		wantCall(t, e, reference, "")
		wantID(t, e, id, 0)
	}
}

func newOrder(i int) NewOrder {
	return NewOrder{MaloID: maloWith(i), LieferantID: testLF, OrderType: "sperrung"}
}

func TestAnUninformedLieferantIsAnnouncedToWhoeverClosedTheOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		close     Call
		reference func(Order) string
	}{
		"a repetition":       {keyed(idB, idA), func(Order) string { return idA }},
		"an Idempotency-Key": {keyed(transaction.KeyPrefix+"k-1", transaction.KeyPrefix+"k-1"), func(Order) string { return "k-1" }},
		"no identifiers":     {Call{Actor: "team"}, func(o Order) string { return text(o.EventID) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			order := b.receive(t, pidSperrauftrag, testMalo)
			b.makod.FailNext(makodtest.UntilCleared, makodtest.ProcessNotFound())
			if _, err := b.service.Execute(t.Context(), c.close, order.ID, ExecuteReport{}); err != nil {
				t.Fatal(err)
			}
			b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 8`)
			b.scanAll(t)
			e := b.envelope(t, order.ID, EventIFTSTAAusstehend)
			wantCall(t, e, c.reference(b.get(t, order.ID)), "")
			wantID(t, e, order.ID, 0)
			// Who begins a new cycle has not closed the order.
			if _, err := b.service.ResetIFTSTA(t.Context(), keyed(idD, idD), order.ID, ""); err != nil {
				t.Fatal(err)
			}
			b.exec(t, `DELETE FROM event_outbox`)
			b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 8`)
			b.scanAll(t)
			e = b.envelope(t, order.ID, EventIFTSTAAusstehend)
			wantCall(t, e, c.reference(b.get(t, order.ID)), "")
			wantID(t, e, order.ID, 1)
		})
	}
}
