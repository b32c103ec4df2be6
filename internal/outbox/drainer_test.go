package outbox

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/outbox/erptest"
)

func TestTwoDrainersDeliverEachEventOnceAndInOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const n = 300
	all := b.pairs(t, n)
	stopOne, stopTwo := run(t, b.Drainer), run(t, b.drainer(t, tenant))
	b.accepted(t, 2*n)
	stopOne()
	stopTwo()
	for _, order := range all {
		if diff := cmp.Diff([]string{"first", "second"}, b.erp.AcceptedFor(order.String())); diff != "" {
			t.Fatalf("order %s (-want +got):\n%s", order, diff)
		}
	}
	if got := len(b.erp.Deliveries()); got != 2*n || b.erp.Overlaps() != 0 {
		t.Errorf("%d deliveries, %d of them overlapping; want %d and none", got, b.erp.Overlaps(), 2*n)
	}
	if got := b.count(t, `delivered_at IS NOT NULL AND attempts = 1 AND first_attempt_at IS NOT NULL`); got != 2*n {
		t.Errorf("%d events recorded as delivered at the first attempt, want %d", got, 2*n)
	}
}

func TestWakeEndsTheRest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.PollInterval = time.Hour
	run(t, b.Drainer)
	// Each one comes while the drainer rests or is about to: a signal is never lost.
	for i := range 3 {
		b.one(t, fmt.Sprint(i))
		b.Wake()
		b.accepted(t, i+1)
	}
}

func TestADeliveredEventMakesTheNextOneOfItsOrderGoAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.PollInterval = time.Hour
	b.pairs(t, 1)
	run(t, b.Drainer)
	b.accepted(t, 2)
}

func TestTheNextEventIsNotOfferedBeforeTheEarlierOneIsDelivered(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	all := b.pairs(t, 5)
	for _, order := range all[:4] {
		b.erp.FailFor(order.String(), erptest.Answer(500))
	}
	for range 3 {
		b.round(t)
		b.makeDue(t)
	}
	if diff := cmp.Diff([]string{"first", "second"}, b.erp.AcceptedFor(all[4].String())); diff != "" {
		t.Errorf("the order without trouble (-want +got):\n%s", diff)
	}
	for _, d := range b.erp.Deliveries() {
		if d.Type == "second" && d.OrderID != all[4].String() {
			t.Fatalf("%s was offered before the first event of its order was delivered", d.EventID)
		}
	}
	b.erp.Recover()
	b.round(t)
	b.round(t)
	for _, order := range all {
		if diff := cmp.Diff([]string{"first", "second"}, b.erp.AcceptedFor(order.String())); diff != "" {
			t.Errorf("order %s (-want +got):\n%s", order, diff)
		}
	}
}

func TestTheEventsBehindAFailedOneWaitAsLongAndThenGo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.pairs(t, 1)
	b.erp.FailNext(1, erptest.Answer(503))
	b.round(t)
	first, second := b.row(t, "first-0"), b.row(t, "second-0")
	if !first.NextAttemptAt.Equal(second.NextAttemptAt) || second.Attempts != 0 {
		t.Errorf("next attempts at %v and %v, want the same", first.NextAttemptAt, second.NextAttemptAt)
	}
	b.makeDue(t)
	b.round(t)
	b.round(t)
	if got := len(b.erp.Accepted()); got != 2 {
		t.Errorf("%d events accepted, want 2", got)
	}
}

func TestAnERPThatWasDownForLongGetsEverythingInOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	all := b.pairs(t, 10)
	b.erp.Fail(erptest.Drop())
	for range 20 {
		b.round(t)
		b.makeDue(t)
	}
	// Two days later.
	b.exec(t, `UPDATE event_outbox SET first_attempt_at = first_attempt_at - interval '60 h'`)
	b.round(t)
	if got := b.count(t, `dead_lettered_at IS NOT NULL OR delivered_at IS NOT NULL`); got != 0 {
		t.Fatalf("%d events given up or delivered, want none", got)
	}
	b.erp.Recover()
	b.makeDue(t)
	b.round(t)
	b.round(t)
	for _, order := range all {
		if diff := cmp.Diff([]string{"first", "second"}, b.erp.AcceptedFor(order.String())); diff != "" {
			t.Errorf("order %s (-want +got):\n%s", order, diff)
		}
	}
}

func TestAThousandSickOrdersDoNotHoldUpAGoodOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.pairs(t, 2000)
	// They were tried before, and wait for their turn since long.
	b.exec(t, `UPDATE event_outbox SET attempts = 3, next_attempt_at = now() - interval '1 day', first_attempt_at = now()
		WHERE event_id LIKE 'first-%'`)
	b.exec(t, `UPDATE event_outbox SET next_attempt_at = now() - interval '1 day' WHERE event_id LIKE 'second-%'`)
	b.erp.Fail(erptest.Answer(500))
	good := b.one(t, "good")
	b.round(t)
	if got := len(b.erp.DeliveriesFor(good.OrderID.String())); got != 1 {
		t.Errorf("%d deliveries of the good order at the first claim, want 1", got)
	}
}

func TestADrainerLeavesTheEventsOfAnotherTenantAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.pairs(t, 2)
	b.exec(t, `UPDATE event_outbox SET delivered_at = now() - interval '1 year' WHERE event_id LIKE '%-1'`)
	other := b.drainer(t, "9900000000002")
	if _, err := other.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	other.pump.Settle()
	if _, err := other.prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Not even with a lease that is another's.
	c := b.claimed(t, 1)[0]
	other.record(t.Context(), []result{{claim: c, kind: kindDelivered}})
	other.record(t.Context(), []result{{claim: c, kind: kindFailed}})
	other.record(t.Context(), []result{{claim: c, kind: kindUnsent}})
	if got := b.row(t, c.eventID); got.DeliveredAt != nil || got.LastError != nil || !got.NextAttemptAt.Equal(c.lease) {
		t.Errorf("the other tenant's drainer changed the event: %+v", got)
	}
	if got := b.count(t, `true`); got != 4 || len(b.erp.Deliveries()) != 0 {
		t.Errorf("%d events left and %d delivered, want 4 and none", got, len(b.erp.Deliveries()))
	}
}

func TestAProcessFrozenPastItsLeaseDoesNotSend(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.one(t, "a")
	now := time.Now()
	b.Now = func() time.Time { return now }
	c := b.claimed(t, 1)[0]
	now = now.Add(b.Lease - b.RequestTimeout + time.Millisecond)
	b.record(t.Context(), []result{b.work(t.Context(), c)})
	if got := len(b.erp.Deliveries()); got != 0 {
		t.Errorf("%d deliveries, want none", got)
	}
	if got := b.row(t, "a"); got.Attempts != 0 || got.FirstAttemptAt != nil || got.Wait > b.PollInterval {
		t.Errorf("the attempt was not given back: %+v", got)
	}
}

func TestStoppingRecordsWhatWasSentAndGivesTheRestBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.one(t, "begun")
	gate := b.erp.Hold()
	defer gate.Release()
	ctx, stop := context.WithCancel(t.Context())
	if _, err := b.step(ctx); err != nil {
		t.Fatal(err)
	}
	atGate(t, gate)
	b.one(t, "claimed")
	b.exec(t, `UPDATE event_outbox SET attempts = 4, first_attempt_at = now() - interval '1 h' WHERE event_id = 'claimed'`)
	c := b.claimed(t, 1)[0]
	stop()
	b.record(ctx, []result{b.work(ctx, c)})
	gate.Release()
	b.pump.Settle()
	if got := b.row(t, "begun"); got.DeliveredAt == nil {
		t.Errorf("what was sent is not recorded: %+v", got)
	}
	if got := b.row(t, "claimed"); got.Attempts != 4 || got.FirstAttemptAt == nil || got.Wait > 0 {
		t.Errorf("what was not begun is not given back: %+v", got)
	}
	if got := len(b.erp.Deliveries()); got != 1 {
		t.Errorf("%d deliveries, want 1", got)
	}
}

func TestRunReturnsOnlyWhenEverythingInHandIsRecorded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.one(t, "a")
	gate := b.erp.Hold()
	defer gate.Release()
	stop := run(t, b.Drainer)
	atGate(t, gate)
	time.AfterFunc(50*time.Millisecond, gate.Release)
	stop()
	if got := b.row(t, "a"); got.DeliveredAt == nil {
		t.Errorf("Run returned before the result was recorded: %+v", got)
	}
}

func TestWaitsGrowWithJitterUpToTheLongest(t *testing.T) {
	t.Parallel()
	for attempts, longest := range map[int]time.Duration{
		1: 30 * time.Second, 2: 2 * time.Minute, 3: 8 * time.Minute, 4: 32 * time.Minute, 5: 2 * time.Hour, 90: 2 * time.Hour,
	} {
		var waits []time.Duration
		for range 1000 {
			waits = append(waits, wait(attempts, 0))
		}
		shortest, most := slices.Min(waits), slices.Max(waits)
		if shortest < longest/2 || shortest > longest*6/10 || most > longest || most < longest*9/10 {
			t.Errorf("waits after attempt %d lie between %v and %v, want them spread from %v to %v", attempts, shortest, most, longest/2, longest)
		}
	}
	for range 1000 {
		if got := wait(5, time.Minute); got < time.Minute || got > 70*time.Second {
			t.Fatalf("the ERP asked for a minute and gets %v", got)
		}
	}
}

func TestOnlyWhatWasDeliveredLongAgoIsPruned(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.pairs(t, 1100)
	b.exec(t, `UPDATE event_outbox SET delivered_at = now() - interval '721 h' WHERE event_id LIKE 'first-%'`)
	b.exec(t, `UPDATE event_outbox SET created_at = now() - interval '1 year'`)
	b.exec(t, `UPDATE event_outbox SET delivered_at = now() - interval '719 h' WHERE event_id = 'second-0'`)
	b.exec(t, `UPDATE event_outbox SET dead_lettered_at = now() - interval '1 year' WHERE event_id = 'second-1'`)
	rest, err := b.prune(t.Context())
	if err != nil || rest != time.Hour {
		t.Fatalf("prune() = %v, %v", rest, err)
	}
	if got := b.count(t, `true`); got != 1100 || b.count(t, `event_id LIKE 'second-%'`) != got {
		t.Errorf("%d events left, want the 1100 second ones", got)
	}
}

func TestAttemptsAreCountedAsFarAsTheyCanBe(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.one(t, "a")
	b.exec(t, `UPDATE event_outbox SET attempts = 32767`)
	b.round(t)
	if got := b.row(t, "a"); got.DeliveredAt == nil || got.Attempts != 32767 {
		t.Errorf("row = %+v", got)
	}
}
