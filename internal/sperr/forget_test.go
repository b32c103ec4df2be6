package sperr

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"sperrd/internal/makod/makodtest"
	"sperrd/internal/transaction"
)

// forgetful is a bench whose clock can be moved on.
func forgetful(t *testing.T) (b *bench, clock *time.Time) {
	t.Helper()
	now := testNow
	return newBench(t, func(o *Options) { o.Now = func() time.Time { return now } }), &now
}

// retained is as long as any record is kept after its last call: the hour is the one in
// which a call that repeats itself is not noted again.
const retained = testRetention + transaction.FutureSkew + time.Hour

// forget forgets all that may be forgotten now.
func (b *bench) forget(t *testing.T) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = b.service.forgetTransactions(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// forgotten moves the clock past the retention and fails unless nothing is known then.
func (b *bench) forgotten(t *testing.T, clock *time.Time) {
	t.Helper()
	*clock = clock.Add(retained)
	if b.forget(t); b.known(t) != [3]int{} {
		t.Fatalf("known are %v after the retention", b.known(t))
	}
}

func TestAForgottenCreateMakesNoSecondOrder(t *testing.T) {
	t.Parallel()
	b, clock := forgetful(t)
	n := NewOrder{
		MaloID: testMalo, LieferantID: testLF, OrderType: "sperrung", AusfuehrungAm: ptr("2026-12-01"), Hinweis: "Hund",
		Treffpunkt: Treffpunkt{Strasse: "Lindenallee 7", Ort: "Berlin", PLZ: "10115", Land: "DE"},
	}
	first, err := b.service.Create(t.Context(), keyed(idA, idA), n)
	if err != nil {
		t.Fatal(err)
	}
	b.forgotten(t, clock)
	for name, change := range map[string]func(*NewOrder){
		"malo":        func(n *NewOrder) { n.MaloID = otherMalo },
		"Lieferant":   func(n *NewOrder) { n.LieferantID = "9900012345685" },
		"type":        func(n *NewOrder) { n.OrderType, n.AusfuehrungAm = "entsperrung", nil },
		"day":         func(n *NewOrder) { n.AusfuehrungAm = ptr("2026-12-02") },
		"no day":      func(n *NewOrder) { n.AusfuehrungAm = nil },
		"another day": func(n *NewOrder) { n.AusfuehrungAm, n.FruehestensAm = nil, n.AusfuehrungAm },
		"hint":        func(n *NewOrder) { n.Hinweis = "" },
		"place":       func(n *NewOrder) { n.Treffpunkt.Strasse = "Lindenallee 8" },
	} {
		other := n
		change(&other)
		_, err := b.service.Create(t.Context(), keyed(idB, idA), other)
		wantTransactionConflict(t, name, err, transaction.ReasonContent)
	}
	stranger := keyed(idB, idA)
	stranger.Actor = "another team"
	_, err = b.service.Create(t.Context(), stranger, n)
	wantTransactionConflict(t, "another actor", err, transaction.ReasonPrincipal)
	if b.known(t) != [3]int{} {
		t.Errorf("known are %v: a conflict is kept", b.known(t))
	}
	for range 2 { // rebuilt from the order, then from its new record
		again, err := b.service.Create(t.Context(), keyed(idB, idA), n)
		wantReplay(t, again, err, first)
		if again.Answered.OrderID != first.Order.ID {
			t.Errorf("order %s, want %s", again.Answered.OrderID, first.Order.ID)
		}
	}
	if n := column[int](t, b.pool, `SELECT count(*)::int FROM sperr_orders`)[0]; n != 1 {
		t.Errorf("%d orders", n)
	}
	if diff := cmp.Diff([]string{EventAuftragEingegangen}, b.events(t, first.Order.ID)); diff != "" || len(b.actions(t, first.Order.ID)) != 1 {
		t.Errorf("history %v, events:\n%s", b.actions(t, first.Order.ID), diff)
	}
}

func wantTransactionConflict(t *testing.T, name string, err error, want transaction.Reason) {
	t.Helper()
	conflict, ok := errors.AsType[*transaction.ConflictError](err)
	if !ok || conflict.Reason != want {
		t.Errorf("%s: %v, want a conflict with %s", name, err, want)
	}
}

func TestAForgottenVisitIsNoSecondOne(t *testing.T) {
	t.Parallel()
	b, clock := forgetful(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	report := FailReport{Reason: " niemand da ", PruefschrittCode: ptr("A01")} // has advice
	first, err := b.service.Fail(t.Context(), keyed(idA, idA), order.ID, report)
	if err != nil {
		t.Fatal(err)
	}
	b.forgotten(t, clock)
	other := report
	other.Reason = "Hund"
	_, err = b.service.Fail(t.Context(), keyed(idB, idA), order.ID, other)
	wantTransactionConflict(t, "another reason", err, transaction.ReasonContent)
	for range 2 {
		again, err := b.service.Fail(t.Context(), keyed(idB, idA), order.ID, report)
		wantReplay(t, again, err, first)
	}
	if got := b.get(t, order.ID); got.Sperrversuche != 1 || got.Status != StatusPending {
		t.Errorf("%d visits, %s", got.Sperrversuche, got.Status)
	}
	if diff := cmp.Diff([]string{EventAuftragEingegangen, EventVersuchGescheitert}, b.events(t, order.ID)); diff != "" {
		t.Errorf("events:\n%s", diff)
	}
	if second, err := b.service.Fail(t.Context(), keyed(idC, idC), order.ID, report); err != nil || second.Order.Sperrversuche != 2 {
		t.Errorf("a genuine second visit = %+v, %v", second, err)
	}
}

func TestAForgottenOutcomeIsNoSecondOne(t *testing.T) {
	t.Parallel()
	final := FailReport{Reason: "x", PruefschrittCode: ptr("A01"), Endgueltig: true}
	for name, act := range map[string]func(*bench, Call, uuid.UUID) (Result, error){
		"execute": func(b *bench, c Call, id uuid.UUID) (Result, error) {
			return b.service.Execute(t.Context(), c, id, ExecuteReport{})
		},
		"fail":   func(b *bench, c Call, id uuid.UUID) (Result, error) { return b.service.Fail(t.Context(), c, id, final) },
		"cancel": func(b *bench, c Call, id uuid.UUID) (Result, error) { return b.service.Cancel(t.Context(), c, id, "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, clock := forgetful(t)
			order := b.receive(t, pidSperrauftrag, testMalo)
			if _, err := act(b, keyed(idA, idA), order.ID); err != nil {
				t.Fatal(err)
			}
			b.forgotten(t, clock)
			closed, commands := b.get(t, order.ID), len(b.makod.Requests())
			refused, err := act(b, keyed(idB, idA), order.ID)
			if _, ok := errors.AsType[*NotPendingError](err); !ok || refused.Answered == nil || refused.Answered.Replayed {
				t.Errorf("again = %+v, %v; want that the order is closed", refused, err)
			}
			if diff := cmp.Diff(closed, b.get(t, order.ID)); diff != "" || len(b.makod.Requests()) != commands {
				t.Errorf("%d commands, want %d; the order:\n%s", len(b.makod.Requests()), commands, diff)
			}
			again, err := act(b, keyed(idC, idA), order.ID)
			wantReplay(t, again, err, refused) // the refusal is the answer from now on
		})
	}
}

func TestWhatOwesAnIFTSTAIsNotForgotten(t *testing.T) {
	t.Parallel()
	b, clock := forgetful(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	if _, err := b.service.Fail(t.Context(), keyed(idC, idC), order.ID, FailReport{Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	b.makod.FailNext(1, makodtest.ProcessNotFound())
	first, err := b.service.Execute(t.Context(), keyed(idA, idA), order.ID, ExecuteReport{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.service.Create(t.Context(), keyed(idD, idD), newOrder(1)); err != nil {
		t.Fatal(err)
	}
	*clock = clock.Add(retained)
	if b.forget(t); b.known(t) != [3]int{2, 2, 0} {
		t.Errorf("known are %v, want the two of the order that owes", b.known(t))
	}
	again, err := b.service.Execute(t.Context(), keyed(idB, idA), order.ID, ExecuteReport{})
	wantReplay(t, again, err, first)
	b.due(t)
	*clock = clock.Add(time.Hour)
	drain(t, b.worker())
	*clock = clock.Add(24*time.Hour - time.Hour)
	if b.forget(t); b.known(t) != [3]int{1, 2, 0} {
		t.Errorf("known are %v after the dispatch, want what was repeated of late", b.known(t))
	}
	b.forgotten(t, clock)
}

func TestWhatWasRepeatedOfLateIsNotForgotten(t *testing.T) {
	t.Parallel()
	b, clock := forgetful(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	first, err := b.service.Cancel(t.Context(), keyed(idA, idA), order.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{idB, idC, idD} {
		*clock = clock.Add(retained - time.Second)
		again, err := b.service.Cancel(t.Context(), keyed(id, idA), order.ID, "")
		wantReplay(t, again, err, first)
		b.forget(t)
	}
	b.forgotten(t, clock)
}

func TestAnAnswerThatNobodySettlesIsSettledAfterAnHour(t *testing.T) {
	t.Parallel()
	b, clock := forgetful(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	b.exec(t, `CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$`)
	b.exec(t, `CREATE TRIGGER broken BEFORE UPDATE ON api_transactions FOR EACH ROW EXECUTE FUNCTION broken()`)
	first, err := b.service.Execute(t.Context(), keyed(idA, idA), order.ID, ExecuteReport{})
	if err != nil {
		t.Fatal(err)
	}
	b.exec(t, `DROP TRIGGER broken ON api_transactions`)
	*clock = clock.Add(time.Hour)
	if b.forget(t); b.known(t) != [3]int{1, 1, 1} {
		t.Errorf("known are %v, want the answer provisional still", b.known(t))
	}
	*clock = clock.Add(time.Second)
	if b.scanAll(t); b.known(t) != [3]int{1, 1, 0} { // by the loop that does it in a real service
		t.Errorf("known are %v, want the answer settled", b.known(t))
	}
	again, err := b.service.Execute(t.Context(), keyed(idB, idA), order.ID, ExecuteReport{})
	wantReplay(t, again, err, first)
}

func TestOnlyTheOwnTenantForgets(t *testing.T) {
	t.Parallel()
	b, _ := forgetful(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	if _, err := b.service.Cancel(t.Context(), keyed(idA, idA), order.ID, ""); err != nil {
		t.Fatal(err)
	}
	foreign := newBenchOn(t, b.pool, "9900357000011", func(o *Options) {
		o.Now = func() time.Time { return testNow.Add(2 * retained) }
	})
	if foreign.forget(t); b.known(t) != [3]int{1, 1, 0} {
		t.Errorf("known are %v", b.known(t))
	}
}

func TestMoreThanOneGroupIsForgotten(t *testing.T) {
	t.Parallel()
	b, clock := forgetful(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	if _, err := b.service.Cancel(t.Context(), keyed(idA, idA), order.ID, ""); err != nil {
		t.Fatal(err)
	}
	const operations = 1200
	b.exec(t, `INSERT INTO api_transactions SELECT tenant, gen_random_uuid(), principal, operation, order_id, fingerprint, fingerprint_version,
			reference_id, executed_by, state, status_code, response_headers, response_body, created_at, settled_at, expires_at
		FROM api_transactions, generate_series(1, $1)`, operations)
	// One group of them owes something: it must not keep the others from being forgotten.
	owing := b.backlog(t, 1)[0]
	b.exec(t, `UPDATE api_transactions SET order_id = $1, expires_at = expires_at - interval '1 hour'
		WHERE logical_id IN (SELECT logical_id FROM api_transactions LIMIT 501)`, owing)
	*clock = clock.Add(retained)
	if b.scanAll(t); b.known(t)[0] != 501 {
		t.Errorf("%d operations are left, want those that owe", b.known(t)[0])
	}
}
