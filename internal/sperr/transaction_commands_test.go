package sperr

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"sperrd/internal/makod/makodtest"
	"sperrd/internal/transaction"
)

// wantChain fails unless the commands with the outcome of an order are calls of one
// operation: the first under the order's own id, all others fresh, and one key for all.
func (b *bench) wantChain(t *testing.T, id uuid.UUID, commands int, reference string) {
	t.Helper()
	sent := b.requestsFor(id)
	own := b.get(t, id).IFTSTATransaktion
	if len(sent) != commands || len(sent) != len(b.makod.Requests()) || own == nil {
		t.Fatalf("%d commands under the key of the order, %d in all, want %d; transaction %v", len(sent), len(b.makod.Requests()), commands, own)
	}
	for i, r := range sent {
		fresh, err := uuid.Parse(r.TransactionID())
		if err != nil || (fresh == *own) != (i == 0) {
			t.Errorf("command %d goes as %q, the order's own is %s", i, r.TransactionID(), own)
		}
		if want := map[bool]string{false: own.String()}[i == 0]; r.InitialTransactionID() != want {
			t.Errorf("command %d repeats %q, want %q", i, r.InitialTransactionID(), want)
		}
		if r.ReferenceID() != reference {
			t.Errorf("command %d answers %q, want %q", i, r.ReferenceID(), reference)
		}
		if _, err := time.Parse("2006-01-02T15:04:05.000Z", r.CreationDateTime()); err != nil {
			t.Errorf("command %d: %v", i, err)
		}
	}
	if twice := b.makod.RepeatedTransactionIDs(); len(twice) != 0 {
		t.Errorf("transactionIds that came twice: %v", twice)
	}
}

func TestTheCommandsOfAnOutcomeAreOneOperation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	b.makod.FailNext(4, makodtest.BadGateway())
	if _, err := b.service.Execute(t.Context(), keyed(idB, idA), order.ID, ExecuteReport{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		b.due(t)
		drain(t, b.worker())
	}
	if _, err := b.service.ResetIFTSTA(t.Context(), keyed(idC, idC), order.ID, ""); err != nil {
		t.Fatal(err)
	}
	drain(t, b.worker())
	b.due(t)
	drain(t, b.worker())
	if b.get(t, order.ID).IFTSTADispatchedAt == nil {
		t.Error("not dispatched in the end")
	}
	b.wantChain(t, order.ID, 5, idA)
}

func TestACommandThatIsPutOffWasACallAllTheSame(t *testing.T) {
	t.Parallel()
	clock := testNow
	b := newBench(t, func(o *Options) { o.Now = func() time.Time { return clock } })
	order := b.receive(t, pidSperrauftrag, testMalo)
	b.makod.FailNext(2, makodtest.RateLimited())
	if _, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		clock = clock.Add(time.Minute)
		b.due(t)
		drain(t, b.worker())
	}
	if got := b.get(t, order.ID); got.IFTSTADispatchedAt == nil || got.IFTSTAAttempts != 1 {
		t.Errorf("dispatched at %v after %d attempts that count", got.IFTSTADispatchedAt, got.IFTSTAAttempts)
	}
	b.wantChain(t, order.ID, 3, text(order.EventID))
}

func TestACommandAnswersTheCallThatHasReportedOrElseTheMarketEvent(t *testing.T) {
	t.Parallel()
	key := transaction.KeyPrefix + "k-1"
	for name, c := range map[string]struct {
		call    Call
		eventID string
		want    string
	}{
		"a first call":                {keyed(idA, idA), idD, idA},
		"a repetition":                {keyed(idB, idA), idD, idA},
		"a key that is no UUID":       {keyed(key, key), idD, ""},
		"no call, a UUID":             {Call{Actor: "team"}, idD, idD},
		"no call, a UUID in capitals": {Call{Actor: "team"}, "DDDDDDDD-0000-4000-8000-00000000000D", "dddddddd-0000-4000-8000-00000000000d"},
		"no call, an odd id":          {Call{Actor: "team"}, "evt-17/4", ""},
		"no call, a UUID in braces":   {Call{Actor: "team"}, "{" + idD + "}", ""},
		"no call, no UUID at all":     {Call{Actor: "team"}, uuid.Nil.String(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			e := marketEvent(t, pidSperrauftrag, testMalo, nil)
			e.SetID(c.eventID)
			if _, err := b.makod.Spawn(makodtest.Process{ID: e.Subject(), MaloID: testMalo, PID: pidSperrauftrag}); err != nil {
				t.Fatal(err)
			}
			receipt, err := b.service.Receive(t.Context(), "", e)
			if err != nil {
				t.Fatal(err)
			}
			b.makod.FailNext(1, makodtest.BadGateway())
			if _, err := b.service.Execute(t.Context(), c.call, receipt.OrderID, ExecuteReport{}); err != nil {
				t.Fatal(err)
			}
			b.due(t)
			drain(t, b.worker())
			b.wantChain(t, receipt.OrderID, 2, c.want)
		})
	}
}

func TestAnOutcomeClosedBySQLGetsItsTransactionBeforeItIsSent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.backlog(t, 1)[0]
	w := b.worker()
	c := oneClaim(t, w)
	stored := b.get(t, id).IFTSTATransaktion
	if stored == nil || !c.first || *c.order.IFTSTATransaktion != *stored {
		t.Fatalf("before the send the order has %v, the claim %+v", stored, c)
	}
	b.makod.FailNext(1, makodtest.BadGateway())
	w.record(t.Context(), []attempt{w.send(t.Context(), c)})
	b.due(t)
	if c := oneClaim(t, w); c.first || *c.order.IFTSTATransaktion != *stored {
		t.Errorf("the second claim = %+v, want the same transaction, begun before", c)
	}
	b.due(t)
	drain(t, w)
	if got := b.get(t, id).IFTSTATransaktion; *got != *stored {
		t.Errorf("the transaction has changed from %s to %s", stored, got)
	}
	b.wantChain(t, id, 2, "")
}

func TestOutcomesOfManyOrdersShareNoTransaction(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.backlog(t, 30)
	b.makod.FailNext(45, makodtest.BadGateway())
	for range 3 {
		drain(t, b.worker())
		b.due(t)
	}
	if n := len(b.makod.Requests()); n != 75 || len(b.makod.RepeatedTransactionIDs()) != 0 {
		t.Errorf("%d commands, transactionIds that came twice: %v", n, b.makod.RepeatedTransactionIDs())
	}
	if n := column[int](t, b.pool, `SELECT count(DISTINCT iftsta_transaktion)::int FROM sperr_orders`)[0]; n != 30 {
		t.Errorf("%d transactions of 30 orders", n)
	}
}
