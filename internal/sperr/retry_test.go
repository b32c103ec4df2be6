package sperr

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"sperrd/internal/makod/makodtest"
)

// worker is a retry worker of the bench's service, as another replica would run it.
func (b *bench) worker() *RetryWorker {
	return NewRetryWorker(b.service, RetryOptions{PollInterval: time.Hour, Parallelism: 8})
}

// drain sweeps until nothing is due any more and everything is recorded.
func drain(t *testing.T, w *RetryWorker) {
	t.Helper()
	for {
		rest, err := w.sweep(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.pump.Settle()
		if rest > 0 {
			return
		}
	}
}

// due makes every outcome due now, as time does, and ends every lease.
func (b *bench) due(t *testing.T) {
	t.Helper()
	b.exec(t, `UPDATE sperr_orders SET iftsta_next_attempt_at = now() - interval '1 second' WHERE iftsta_dispatched_at IS NULL`)
}

// backlog is n executed orders that makod was never told of, each with its process.
func (b *bench) backlog(t *testing.T, n int) []uuid.UUID {
	t.Helper()
	var malos, processes []string
	for i := range n {
		malo, process := maloWith(i), uuid.NewString()
		malos, processes = append(malos, malo), append(processes, process)
		if _, err := b.makod.Spawn(makodtest.Process{ID: process, MaloID: malo, PID: pidSperrauftrag}); err != nil {
			t.Fatal(err)
		}
	}
	return column[uuid.UUID](t, b.pool, `
		INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, pruefidentifikator, process_id, status, executed_at, iftsta_faellig_am)
		SELECT $1, malo, $2, 'sperrung', 17115, process, 'executed', $3, '2026-09-04'
		FROM unnest($4::text[], $5::text[]) AS l (malo, process) RETURNING id`,
		b.repo.tenant, testLF, testNow, malos, processes)
}

func (b *bench) requestsFor(id uuid.UUID) []makodtest.Request {
	return b.makod.RequestsFor("sperrd-iftsta-" + id.String())
}

// failedDispatch is an executed order whose first send ended in fault, due again.
func (b *bench) failedDispatch(t *testing.T, fault makodtest.Fault) Order {
	t.Helper()
	order := b.receive(t, pidSperrauftrag, testMalo)
	b.makod.FailNext(1, fault)
	if _, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{Note: "done"}); err != nil {
		t.Fatal(err)
	}
	b.due(t)
	return b.get(t, order.ID)
}

func TestTheRetryWorkerSendsTheSameCommandAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.failedDispatch(t, makodtest.BadGateway())
	drain(t, b.worker())
	got := b.get(t, order.ID)
	if got.IFTSTADispatchedAt == nil || text(got.IFTSTARef) != text(order.ProcessID) || got.IFTSTAAttempts != 2 || got.IFTSTALastError != nil || got.IFTSTAInFlight {
		t.Errorf("order = %+v", got)
	}
	sent := b.requestsFor(order.ID)
	if len(sent) != 2 || string(sent[0].Body) != string(sent[1].Body) {
		t.Errorf("%d requests; want the same command twice", len(sent))
	}
	if diff := cmp.Diff([]string{"created", "executed", "iftsta_not_taken", "iftsta_dispatched"}, b.actions(t, order.ID)); diff != "" {
		t.Errorf("history:\n%s", diff)
	}
	drain(t, b.worker())
	if n := len(b.makod.Requests()); n != 2 {
		t.Errorf("%d requests, want none after the outcome is dispatched", n)
	}
}

func TestReplicasSendEachOutcomeOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ids := b.backlog(t, 400)
	var replicas sync.WaitGroup
	for range 4 {
		replicas.Go(func() { drain(t, b.worker()) })
	}
	replicas.Wait()
	for _, id := range ids {
		if n := len(b.requestsFor(id)); n != 1 {
			t.Errorf("outcome %s was sent %d times", id, n)
		}
	}
	if n := len(b.makod.IFTSTA()); n != len(ids) || len(b.makod.Overlaps()) != 0 {
		t.Errorf("%d IFTSTA, %d overlapping sends", n, len(b.makod.Overlaps()))
	}
	left := column[int](t, b.pool, `SELECT count(*)::int FROM sperr_orders WHERE iftsta_dispatched_at IS NULL OR iftsta_attempts <> 1`)[0]
	if left != 0 {
		t.Errorf("%d outcomes are not dispatched at their first attempt", left)
	}
}

func TestAClaimIsALeaseAndCountsTheAttempt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.backlog(t, 1)[0]
	claims, err := b.worker().claim(t.Context(), 8)
	if err != nil || len(claims) != 1 || claims[0].unklar || !claims[0].until.Equal(testNow.Add(b.service.Lease)) {
		t.Fatalf("claims = %+v, %v", claims, err)
	}
	if again, err := b.worker().claim(t.Context(), 8); err != nil || len(again) != 0 {
		t.Fatalf("a second replica claimed %d outcomes, %v", len(again), err)
	}
	got := b.get(t, id)
	if got.IFTSTAAttempts != 1 || !got.IFTSTAUnklar || !got.IFTSTAInFlight || !got.IFTSTANextAttemptAt.Equal(claims[0].order.IFTSTANextAttemptAt) {
		t.Errorf("order = %+v", got)
	}
	b.due(t)
	later, err := b.worker().claim(t.Context(), 8)
	if err != nil || len(later) != 1 || !later[0].unklar {
		t.Errorf("after the lease: %+v, %v; want the outcome, with an earlier send unclear", later, err)
	}
}

func TestOnlyWhatIsOwedIsClaimed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ids := b.backlog(t, 7)
	for i, change := range []string{
		`process_id = NULL`, `status = 'pending'`, `status = 'cancelled'`, `iftsta_dispatched_at = now()`,
		`iftsta_attempts = 8`, `iftsta_next_attempt_at = now() + interval '1 hour'`,
	} {
		b.exec(t, `UPDATE sperr_orders SET `+change+` WHERE id = $1`, ids[i])
	}
	foreign := newBenchOn(t, b.pool, "9900357000011")
	if claims, err := foreign.worker().claim(t.Context(), 8); err != nil || len(claims) != 0 {
		t.Errorf("a service of another tenant claimed %d outcomes, %v", len(claims), err)
	}
	claims, err := b.worker().claim(t.Context(), 8)
	if err != nil || len(claims) != 1 || claims[0].order.ID != ids[6] {
		t.Errorf("claims = %+v, %v; want the last order alone", claims, err)
	}
}

func TestOutcomesThatMakodKeepsRefusingStandBehindAFreshOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ids := b.backlog(t, 301)
	fresh := ids[300]
	b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 3, iftsta_next_attempt_at = now() - interval '1 day' WHERE id <> $1`, fresh)
	claims, err := b.worker().claim(t.Context(), 8)
	if err != nil || len(claims) != 8 || !slices.ContainsFunc(claims, func(c claim) bool { return c.order.ID == fresh }) {
		t.Errorf("the first claim took %d outcomes without the fresh one, %v", len(claims), err)
	}
}

func TestASlowSendHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.backlog(t, 40)
	gate := b.makod.HoldFor(maloWith(0))
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
	if err := b.makod.WaitEnded(patient(t), 39); err != nil {
		t.Fatal(err)
	}
	gate.Release()
	cancel()
	<-done
	if left := column[int](t, b.pool, `SELECT count(*)::int FROM sperr_orders WHERE iftsta_dispatched_at IS NULL`)[0]; left != 0 {
		t.Errorf("%d outcomes are not recorded after the worker has stopped", left)
	}
}

func TestWhatMakodPutsOffPausesTheWholeWorkerAndCostsNoAttempt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault makodtest.Fault
		wait  time.Duration
	}{
		"429":                             {makodtest.RateLimited(), time.Second},
		"503 with Retry-After":            {makodtest.IdempotencyUnavailable("7"), 7 * time.Second},
		"longer than the longest backoff": {makodtest.IdempotencyUnavailable("86400"), 2 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := testNow
			b := newBench(t, func(o *Options) { o.Now = func() time.Time { return clock } })
			first := b.backlog(t, 1)[0]
			b.makod.FailNext(1, c.fault)
			w := b.worker()
			drain(t, w)
			if got := b.get(t, first); got.IFTSTAAttempts != 0 || got.IFTSTALastError == nil || got.IFTSTAInFlight {
				t.Errorf("order = %+v; want the attempt given back", got)
			}
			b.due(t)
			if rest, err := w.sweep(t.Context()); err != nil || rest != min(c.wait, time.Hour) {
				t.Errorf("sweep = %v, %v; want rest for %v", rest, err, c.wait)
			}
			w.pump.Settle()
			if n := len(b.makod.Requests()); n != 1 {
				t.Errorf("%d requests during the pause, want the first alone", n)
			}
			clock = clock.Add(c.wait)
			drain(t, w)
			if got := b.get(t, first); got.IFTSTADispatchedAt == nil || got.IFTSTAAttempts != 1 {
				t.Errorf("after the pause: %+v", got)
			}
		})
	}
}

func TestAnOrderThatAloneIsPutOffAgainAndAgainHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	clock := testNow
	b := newBench(t, func(o *Options) { o.Now = func() time.Time { return clock } })
	ids := b.backlog(t, 40)
	b.makod.FailNextFor(maloWith(0), makodtest.UntilCleared, makodtest.IdempotencyUnavailable("20"))
	w := b.worker()
	drain(t, w) // the first time, everybody waits
	clock = clock.Add(20 * time.Second)
	b.due(t)
	drain(t, w)
	for i, id := range ids {
		if got := b.get(t, id); (got.IFTSTADispatchedAt == nil) != (i == 0) {
			t.Errorf("outcome %d: dispatched at %v", i, got.IFTSTADispatchedAt)
		}
	}
	if got := b.get(t, ids[0]); got.IFTSTAAttempts != 0 {
		t.Errorf("%d attempts, want those of the order that is put off given back", got.IFTSTAAttempts)
	}
	if left := b.service.pace.paused(clock); left != 0 {
		t.Errorf("the worker rests for %v for an order that is put off alone", left)
	}
}

func TestWhatIsClaimedWhenMakodAsksToWaitIsGivenBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.backlog(t, 1)[0]
	b.exec(t, `UPDATE sperr_orders SET iftsta_last_error = 'what makod said', iftsta_attempts = 3, iftsta_unklar = true`)
	w := b.worker()
	claims, err := w.claim(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	b.service.pace.pause(testNow, 7*time.Second)
	w.record(t.Context(), []attempt{w.send(t.Context(), claims[0])})
	got := b.get(t, id)
	if got.IFTSTAAttempts != 3 || !got.IFTSTAUnklar || got.IFTSTAInFlight || text(got.IFTSTALastError) != "what makod said" {
		t.Errorf("order = %+v", got)
	}
	if n := len(b.makod.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestAttemptsThatFailTogetherDoNotComeBackTogether(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.backlog(t, 300)
	b.makod.FailNext(makodtest.UntilCleared, makodtest.BadGateway())
	drain(t, b.worker())
	spread := column[float64](t, b.pool, `SELECT extract(epoch FROM max(iftsta_next_attempt_at) - min(iftsta_next_attempt_at))::float8
		FROM sperr_orders WHERE iftsta_attempts = 1`)[0]
	if spread < 13 {
		t.Errorf("the next attempts lie within %.1f s, want them over half of 30 s", spread)
	}
}

func TestAnOddRowKeepsNoOtherFromBeingSent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ids := b.backlog(t, 3)
	b.exec(t, `UPDATE sperr_orders SET executed_at = 'infinity' WHERE id = $1`, ids[0])
	b.exec(t, `UPDATE sperr_orders SET created_at = '-infinity', letzter_versuch_am = 'infinity', fruehestens_am = 'infinity' WHERE id = $1`, ids[1])
	drain(t, b.worker())
	for i, want := range []int{0, 1, 1} {
		if n := len(b.requestsFor(ids[i])); n != want {
			t.Errorf("outcome %d was sent %d times, want %d", i, n, want)
		}
	}
}

func TestTheWorkerOfThisProcessWakesAfterAReset(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ids := b.backlog(t, 2)
	b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 8 WHERE id = $1`, ids[1])
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.worker().Run(ctx) // polls once an hour
	}()
	// The first outcome shows that the worker has looked; it rests from then on.
	if err := b.makod.WaitEnded(patient(t), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := b.service.ResetIFTSTA(t.Context(), Call{Actor: "operator"}, ids[1], ""); err != nil {
		t.Fatal(err)
	}
	if err := b.makod.WaitEnded(patient(t), 2); err != nil {
		t.Errorf("the worker slept on: %v", err)
	}
	cancel()
	<-done
	if got := b.get(t, ids[1]); got.IFTSTADispatchedAt == nil {
		t.Error("the outcome is not recorded")
	}
}

// patient bounds a wait for what must happen.
func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}
