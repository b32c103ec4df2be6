package sperr

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/makod/makodtest"
)

// oneClaim claims the one outcome there is.
func oneClaim(t *testing.T, w *RetryWorker) claim {
	t.Helper()
	claims, err := w.claim(t.Context(), 1)
	if err != nil || len(claims) != 1 {
		t.Fatalf("claims = %+v, %v", claims, err)
	}
	return claims[0]
}

func TestAProcessKilledBetweenSendAndRecordIsReconciled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.backlog(t, 1)[0]
	w := b.worker()
	if a := w.send(t.Context(), oneClaim(t, w)); a.dispatched == nil {
		t.Fatalf("attempt = %+v", a)
	}
	// The process is gone with what it knew; its lease ends.
	drain(t, b.worker())
	if n := len(b.makod.Requests()); n != 1 {
		t.Fatalf("%d requests while the lease of the dead process held", n)
	}
	b.due(t)
	drain(t, b.worker())
	got := b.get(t, id)
	if got.IFTSTADispatchedAt == nil || got.IFTSTAAttempts != 2 {
		t.Errorf("order = %+v", got)
	}
	if n := len(b.makod.IFTSTA()); n != 1 {
		t.Errorf("the Lieferant got %d IFTSTA, want 1", n)
	}
	history, err := b.repo.History(t.Context(), id)
	if err != nil || len(history) != 2 {
		t.Fatalf("history = %+v, %v", history, err)
	}
	if diff := cmp.Diff(`{"attempts": 2, "iftsta_ref": "`+text(got.ProcessID)+`", "reconciled": true}`, string(history[1].Detail)); diff != "" {
		t.Errorf("history:\n%s", diff)
	}
}

func TestAFrozenWorkerSendsNothingPastItsLease(t *testing.T) {
	t.Parallel()
	clock := testNow
	b := newBench(t, func(o *Options) { o.Now = func() time.Time { return clock } })
	id := b.backlog(t, 1)[0]
	frozen := b.worker()
	c := oneClaim(t, frozen)
	b.due(t)
	drain(t, b.worker()) // another replica does the work meanwhile
	done := b.get(t, id)
	clock = clock.Add(b.service.Lease)
	frozen.record(t.Context(), []attempt{frozen.send(t.Context(), c)})
	if n := len(b.makod.Requests()); n != 1 {
		t.Errorf("%d requests, want that of the other replica alone", n)
	}
	if diff := cmp.Diff(done, b.get(t, id)); diff != "" {
		t.Errorf("the frozen worker changed the order:\n%s", diff)
	}
}

func TestALateResultOfAWorkerChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.backlog(t, 1)[0]
	late := b.worker()
	c := oneClaim(t, late)
	b.makod.FailNext(1, makodtest.EngineError())
	failure := late.send(t.Context(), c)
	b.due(t)
	drain(t, b.worker())
	done := b.get(t, id)
	late.record(t.Context(), []attempt{failure})
	if diff := cmp.Diff(done, b.get(t, id)); diff != "" || done.IFTSTADispatchedAt == nil {
		t.Errorf("a late failure changed the dispatched order:\n%s", diff)
	}
	// The other way round: a late success against a claim that has followed.
	b.exec(t, `UPDATE sperr_orders SET iftsta_dispatched_at = NULL, iftsta_ref = NULL`)
	b.due(t)
	first := oneClaim(t, late)
	b.due(t)
	second := oneClaim(t, b.worker())
	late.record(t.Context(), []attempt{{claim: first, dispatched: &dispatched{ref: "x"}}})
	got := b.get(t, id)
	if got.IFTSTADispatchedAt != nil || !got.IFTSTANextAttemptAt.Equal(second.order.IFTSTANextAttemptAt) || !got.IFTSTAInFlight {
		t.Errorf("a late success ended the claim of another: %+v", got)
	}
}

func TestOneRowThatCannotBeWrittenLosesNoOther(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ids := b.backlog(t, 8)
	b.exec(t, `CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$`)
	b.exec(t, `CREATE TRIGGER broken BEFORE UPDATE OF iftsta_dispatched_at ON sperr_orders FOR EACH ROW
		WHEN (OLD.malo_id = '`+maloWith(3)+`' AND NEW.iftsta_dispatched_at IS NOT NULL) EXECUTE FUNCTION broken()`)
	drain(t, b.worker())
	for i, id := range ids {
		if got := b.get(t, id); (got.IFTSTADispatchedAt == nil) != (i == 3) {
			t.Errorf("outcome %d: dispatched at %v", i, got.IFTSTADispatchedAt)
		}
	}
	drain(t, b.worker())
	if n := len(b.requestsFor(ids[3])); n != 1 {
		t.Errorf("what cannot be recorded was sent %d times within its lease", n)
	}
	// It settles by itself once it can be written.
	b.exec(t, `DROP TRIGGER broken ON sperr_orders`)
	b.due(t)
	drain(t, b.worker())
	if got := b.get(t, ids[3]); got.IFTSTADispatchedAt == nil {
		t.Errorf("order = %+v", got)
	}
}

func TestARowThatSomebodyHasLockedHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ids := b.backlog(t, 8)
	w := b.worker()
	claims, err := w.claim(t.Context(), 8)
	if err != nil || len(claims) != 8 {
		t.Fatalf("%d claims, %v", len(claims), err)
	}
	attempts := make([]attempt, len(claims))
	for i, c := range claims {
		attempts[i] = w.send(t.Context(), c)
	}
	human, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := human.Exec(t.Context(), `SELECT FROM sperr_orders WHERE id = $1 FOR UPDATE`, ids[3]); err != nil {
		t.Fatal(err)
	}
	later := w.record(t.Context(), attempts)
	for i, id := range ids {
		if got := b.get(t, id); (got.IFTSTADispatchedAt == nil) != (i == 3) {
			t.Errorf("outcome %d: dispatched at %v while one is locked", i, got.IFTSTADispatchedAt)
		}
	}
	if len(later) != 1 || later[0].order.ID != ids[3] {
		t.Fatalf("%d results come later, want that of the locked row", len(later))
	}
	if err := human.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if later := w.record(t.Context(), later); len(later) != 0 {
		t.Errorf("%d results come later once the row is free", len(later))
	}
	if got := b.get(t, ids[3]); got.IFTSTADispatchedAt == nil || got.IFTSTAAttempts != 1 {
		t.Errorf("order = %+v", got)
	}
}

func TestARecordIsTriedAgainWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.backlog(t, 1)[0]
	b.away(t, 1)
	drain(t, b.worker())
	if got := b.get(t, id); got.IFTSTADispatchedAt == nil {
		t.Errorf("order = %+v", got)
	}
	if n := len(b.makod.Requests()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// away lets the database fail, as when it shuts down, the first n times that a dispatch is
// recorded.
func (b *bench) away(t *testing.T, n int) {
	t.Helper()
	b.exec(t, `CREATE SEQUENCE tries`)
	b.exec(t, fmt.Sprintf(`CREATE FUNCTION away() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF nextval('tries') <= %d THEN RAISE EXCEPTION 'shutting down' USING ERRCODE = '57P01'; END IF; RETURN NEW; END $$`, n))
	b.exec(t, `CREATE TRIGGER away BEFORE UPDATE OF iftsta_dispatched_at ON sperr_orders FOR EACH ROW EXECUTE FUNCTION away()`)
}

func TestTheWorkerRecordsWhatAReportCouldNot(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	b.away(t, 2)
	w := b.worker()
	b.service.unrecorded.accept(true) // as Run does
	report, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{})
	if err != nil || report.IFTSTA != DispatchUnknown {
		t.Fatalf("Execute = %+v, %v; want recorded, dispatch not promised", report, err)
	}
	if rest, err := w.sweep(t.Context()); err != nil || rest != reportsRest {
		t.Errorf("sweep = %v, %v while the database is away; want a short rest", rest, err)
	}
	if rest, err := w.sweep(t.Context()); err != nil || rest != time.Hour {
		t.Errorf("sweep = %v, %v", rest, err)
	}
	got := b.get(t, order.ID)
	if got.IFTSTADispatchedAt == nil || got.IFTSTAAttempts != 1 || len(b.makod.Requests()) != 1 {
		t.Errorf("dispatched at %v after %d attempts and %d requests", got.IFTSTADispatchedAt, got.IFTSTAAttempts, len(b.makod.Requests()))
	}
}

func TestAReportWithoutAWorkerLeavesTheRestToTheLease(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	b.away(t, 1)
	if _, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{}); err != nil {
		t.Fatal(err)
	}
	if left := b.service.unrecorded.take(); len(left) != 0 {
		t.Errorf("%d results wait for nobody", len(left))
	}
	b.due(t)
	drain(t, b.worker())
	if got := b.get(t, order.ID); got.IFTSTADispatchedAt == nil || got.IFTSTAAttempts != 2 {
		t.Errorf("order = %+v", got)
	}
}

func TestAWorkerThatStopsGivesBackWhatItHasNotSent(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) { o.MaxPerSecond = 1 })
	ids := b.backlog(t, 8)
	gate := b.makod.Hold()
	w := b.worker()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx)
	}()
	if err := gate.Wait(patient(t), 1); err != nil {
		t.Fatal(err)
	}
	cancel()
	gate.Release()
	<-done
	sent := 0
	for _, id := range ids {
		switch got := b.get(t, id); {
		case got.IFTSTADispatchedAt != nil:
			sent++
		case got.IFTSTAAttempts != 0 || got.IFTSTAInFlight || got.IFTSTAUnklar || got.IFTSTALastError != nil:
			t.Errorf("an outcome is not as it was: %+v", got)
		}
	}
	if sent == 0 || sent == len(ids) || sent != len(b.makod.Requests()) {
		t.Errorf("%d outcomes are dispatched after %d requests; want what was on its way and no more", sent, len(b.makod.Requests()))
	}
}

func TestTwoResultsOfOneOrderTellEachOfItsOwnClaim(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.backlog(t, 1)[0]
	old := oneClaim(t, b.worker())
	b.due(t)
	current := oneClaim(t, b.worker())
	sent := func(c claim) attempt { return attempt{claim: c, dispatched: &dispatched{ref: text(c.order.ProcessID)}} }
	ends, err := b.service.endClaims(t.Context(), []attempt{sent(old), sent(current)}, false)
	if err != nil || ends[0].Ended || ends[0].Locked || !ends[1].Ended {
		t.Fatalf("endings = %+v, %v; want the second one alone", ends, err)
	}
	if diff := cmp.Diff([]string{"iftsta_dispatched"}, b.actions(t, id)); diff != "" {
		t.Errorf("history:\n%s", diff)
	}
}

func TestAnOrderThatIsGoneIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.backlog(t, 1)
	w := b.worker()
	c := oneClaim(t, w)
	b.forgetHistory(t)
	b.exec(t, `DELETE FROM sperr_orders`)
	if later := w.record(t.Context(), []attempt{w.send(t.Context(), c)}); len(later) != 0 {
		t.Errorf("%d results of a deleted order come later", len(later))
	}
}
