package outbox

import (
	"context"
	"testing"
	"time"

	"sperrd/internal/loop"
)

func TestARowThatSomebodyHasLockedHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, id := range []string{"a", "b", "c"} {
		b.one(t, id)
	}
	var results []result
	for _, c := range b.claimed(t, 3) {
		results = append(results, b.work(t.Context(), c))
	}
	human, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := human.Exec(t.Context(), `SELECT FROM event_outbox WHERE event_id = 'b' FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	later := b.record(t.Context(), results)
	if n := b.count(t, `delivered_at IS NOT NULL AND event_id <> 'b'`); n != 2 || len(later) != 1 || later[0].claim.eventID != "b" {
		t.Errorf("%d of the others are recorded, %d results come later", n, len(later))
	}
	if err := human.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if later := b.record(t.Context(), later); len(later) != 0 || b.count(t, `delivered_at IS NOT NULL`) != 3 {
		t.Errorf("%d results come later once the row is free", len(later))
	}
	if b.erp.Duplicates() != 0 {
		t.Errorf("%d duplicates", b.erp.Duplicates())
	}
}

func TestAMomentaryLockLosesNothingAtAStop(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.one(t, "a")
	c := b.claimed(t, 1)[0]
	other, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(t.Context(), `SELECT FROM event_outbox FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	freed := make(chan error)
	time.AfterFunc(200*time.Millisecond, func() { freed <- other.Rollback(context.Background()) })
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if later := b.record(ctx, []result{{claim: c, kind: kindDelivered}}); len(later) != 0 {
		t.Errorf("%d results come later, after the end", len(later))
	}
	if err := <-freed; err != nil {
		t.Fatal(err)
	}
	if got := b.row(t, "a"); got.DeliveredAt == nil {
		t.Error("what was delivered is not recorded")
	}
}

func TestALockedFollowerDoesNotHoldUpTheRecordOfAFailure(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.pairs(t, 2)
	var results []result
	for _, c := range b.claimed(t, 2) {
		results = append(results, result{claim: c, kind: kindFailed, wait: time.Hour, failure: failure{text: "503"}})
	}
	human, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = human.Rollback(context.Background()) }()
	if _, err := human.Exec(t.Context(), `SELECT FROM event_outbox WHERE event_id = 'second-0' FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	if later := b.record(t.Context(), results); len(later) != 0 {
		t.Errorf("%d results come later", len(later))
	}
	if n := b.count(t, `last_error = '503'`); n != 2 {
		t.Errorf("%d failures are recorded, want both", n)
	}
	if got := b.row(t, "second-1"); got.Wait < 50*time.Minute {
		t.Errorf("the follower that is free waits %v, want as long as its first", got.Wait)
	}
}

func TestOnlyUntriedPendingFollowersOfAFailureArePutOff(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := orders(t, b.pool, 1)[0]
	for _, id := range []string{"head", "tried", "delivered", "dead", "later", "untried"} {
		enqueue(t, b.pool, entry(t, order, id, id))
	}
	c := b.claimed(t, 1)[0]
	b.exec(t, `UPDATE event_outbox SET attempts = 1 WHERE event_id = 'tried'`)
	b.exec(t, `UPDATE event_outbox SET delivered_at = now() WHERE event_id = 'delivered'`)
	b.exec(t, `UPDATE event_outbox SET dead_lettered_at = now() WHERE event_id = 'dead'`)
	b.exec(t, `UPDATE event_outbox SET next_attempt_at = now() + interval '3 h' WHERE event_id = 'later'`)
	b.record(t.Context(), []result{{claim: c, kind: kindFailed, wait: time.Hour}})
	for id, want := range map[string]time.Duration{"tried": 0, "delivered": 0, "dead": 0, "later": 3 * time.Hour, "untried": time.Hour} {
		if got := b.row(t, id).Wait.Round(time.Minute); got != want {
			t.Errorf("%s waits %v, want %v", id, got, want)
		}
	}
}

func TestTheFollowersOfADeadLetterGoAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.pairs(t, 1)
	c := b.claimed(t, 1)[0]
	b.record(t.Context(), []result{{claim: c, kind: kindFailed, wait: time.Hour, failure: failure{permanent: true}}})
	if got := b.row(t, "second-0"); got.Wait > 0 {
		t.Errorf("the follower waits %v", got.Wait)
	}
	woken, wake := context.WithCancel(t.Context())
	steps := 0
	loop.Loop{Wake: b.wake, Logger: b.Logger, Step: func(context.Context) (time.Duration, error) {
		if steps++; steps == 2 {
			wake()
		}
		return patience, nil
	}}.Run(woken)
	if steps != 2 {
		t.Error("nobody is woken for it")
	}
}

func TestTwoResultsOfOneEventTellEachOfItsOwnClaim(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.one(t, "a")
	old := b.claimed(t, 1)[0]
	b.makeDue(t)
	current := b.claimed(t, 1)[0]
	ends, err := b.queue.end(t.Context(), kindDelivered, []result{{claim: old}, {claim: current}}, time.Hour)
	if err != nil || len(ends) != 2 || ends[0].Ended || ends[0].Locked || !ends[1].Ended {
		t.Errorf("endings = %+v, %v; want the second one alone", ends, err)
	}
}

func TestAnEventThatIsGoneIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.one(t, "a")
	c := b.claimed(t, 1)[0]
	b.exec(t, `DELETE FROM event_outbox`)
	if later := b.record(t.Context(), []result{{claim: c, kind: kindDelivered}}); len(later) != 0 {
		t.Errorf("%d results of a deleted event come later", len(later))
	}
}

func TestResultsOfEachKindComeLaterIfTheyMust(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var results []result
	for i, id := range []string{"a", "b", "c"} {
		b.one(t, id)
		results = append(results, result{claim: b.claimed(t, 1)[0], kind: kind(i)})
	}
	human, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = human.Rollback(context.Background()) }()
	if _, err := human.Exec(t.Context(), `SELECT FROM event_outbox FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	later := b.record(t.Context(), results)
	if len(later) != 3 || later[0].kind != kindDelivered {
		t.Errorf("%d results come later, want all, deliveries first", len(later))
	}
}
