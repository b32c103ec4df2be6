package sperr

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/makod/makodtest"
)

func TestAResetDuringASendWaitsForItsEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault      makodtest.Fault
		dispatched bool
	}{
		"which succeeds":   {makodtest.Fault{}, true},
		"which fails":      {makodtest.EngineError(), false},
		"which is put off": {makodtest.RateLimited(), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			id := b.backlog(t, 1)[0]
			b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 5`)
			w := b.worker()
			held := oneClaim(t, w)
			if _, err := b.service.ResetIFTSTA(t.Context(), Call{Actor: "operator"}, id, "makod is mended"); err != nil {
				t.Fatal(err)
			}
			if claims, err := b.worker().claim(t.Context(), 1); err != nil || len(claims) != 0 {
				t.Fatalf("the reset let another claim in beside the send: %+v, %v", claims, err)
			}
			if !c.dispatched {
				b.makod.FailNext(1, c.fault)
			}
			w.record(t.Context(), []attempt{w.send(t.Context(), held)})
			got := b.get(t, id)
			if (got.IFTSTADispatchedAt != nil) != c.dispatched || got.IFTSTAInFlight || got.IFTSTAAttempts != 0 || got.IFTSTAResets != 1 {
				t.Errorf("order = %+v", got)
			}
			due := column[bool](t, b.pool, `SELECT iftsta_next_attempt_at <= now() FROM sperr_orders`)[0]
			if !c.dispatched && !due {
				t.Error("the new cycle waits for the backoff of the old one")
			}
		})
	}
}

func TestABudgetSpentIsNotSentAgainUntilAReset(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.backlog(t, 1)[0]
	b.makod.FailNext(makodtest.UntilCleared, makodtest.ProcessNotFound())
	for range testMaxAttempts + 3 {
		drain(t, b.worker())
		b.due(t)
	}
	got := b.get(t, id)
	if got.IFTSTAAttempts != testMaxAttempts || len(b.requestsFor(id)) != testMaxAttempts {
		t.Fatalf("%d attempts, %d requests; want %d", got.IFTSTAAttempts, len(b.requestsFor(id)), testMaxAttempts)
	}
	b.makod.ClearFaults()
	if _, err := b.service.ResetIFTSTA(t.Context(), Call{Actor: "operator"}, id, ""); err != nil {
		t.Fatal(err)
	}
	drain(t, b.worker())
	if got := b.get(t, id); got.IFTSTADispatchedAt == nil || got.IFTSTAAttempts != 1 {
		t.Errorf("after the reset: %+v", got)
	}
}

func TestAResetByPlainSQLIsPickedUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ids := b.backlog(t, 3)
	b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 8, iftsta_next_attempt_at = now() + interval '1 hour', iftsta_escalated_at = now()`)
	b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 0 WHERE iftsta_attempts >= 8`)
	drain(t, b.worker())
	for _, id := range ids {
		if got := b.get(t, id); got.IFTSTADispatchedAt == nil || got.IFTSTAEscalatedAt != nil {
			t.Errorf("order = %+v", got)
		}
		if diff := cmp.Diff([]string{"iftsta_reset", "iftsta_dispatched"}, b.actions(t, id)); diff != "" {
			t.Errorf("history:\n%s", diff)
		}
	}
}

func TestOnlyAnOutstandingOutcomeCanBeReset(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pending := b.receive(t, pidSperrauftrag, testMalo)
	operator := b.create(t, NewOrder{MaloID: maloWith(1), LieferantID: testLF, OrderType: "sperrung"})
	sent := b.receive(t, pidEntsperrauftrag, maloWith(2))
	for _, o := range []Order{operator, sent} {
		if _, err := b.service.Execute(t.Context(), Call{Actor: "team"}, o.ID, ExecuteReport{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range []Order{pending, operator, sent} {
		var nothing *NothingToResetError
		if _, err := b.service.ResetIFTSTA(t.Context(), Call{Actor: "operator"}, o.ID, ""); !errors.As(err, &nothing) || nothing.Order.ID != o.ID {
			t.Errorf("reset of the %s order = %v, want nothing to reset", b.get(t, o.ID).Status, err)
		}
	}
	foreign := newBenchOn(t, b.pool, "9900357000011")
	if _, err := foreign.service.ResetIFTSTA(t.Context(), Call{Actor: "operator"}, sent.ID, ""); !errors.Is(err, ErrNotFound) {
		t.Errorf("reset by another tenant = %v, want not found", err)
	}
	wantInvalid(t, second(b.service.ResetIFTSTA(t.Context(), Call{Actor: "operator"}, sent.ID, "\x00")), SubjectReport, "reason")
}

func TestWhoCallsOffAResetOfManyStopsIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.backlog(t, 2)
	b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 8`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if orders, err := b.service.ResetAll(ctx, "cli:anna", "", IFTSTAFilter{Stuck: true}); !errors.Is(err, context.Canceled) || len(orders) != 0 {
		t.Errorf("%d orders were reset, %v", len(orders), err)
	}
}

func TestTheStuckOnesAreResetTogether(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ids := b.backlog(t, MaxResets+4)
	b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 8`)
	b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 7 WHERE id = $1`, ids[0])
	b.exec(t, `UPDATE sperr_orders SET iftsta_in_flight = true, iftsta_next_attempt_at = now() + interval '1 minute' WHERE id = $1`, ids[1]) // on its way
	orders, err := b.service.ResetAll(t.Context(), "cli:anna", "makod is mended", IFTSTAFilter{Stuck: true})
	if err != nil || len(orders) != MaxResets+2 {
		t.Fatalf("%d orders were reset, %v; want %d", len(orders), err, MaxResets+2)
	}
	history, err := b.repo.History(t.Context(), ids[2])
	if err != nil || len(history) != 2 || history[1].Actor != "cli:anna" {
		t.Fatalf("history = %+v, %v", history, err)
	}
	if diff := cmp.Diff(`{"reset": 1, "reason": "makod is mended", "attempts": 8}`, string(history[1].Detail)); diff != "" {
		t.Errorf("history:\n%s", diff)
	}
	if stuck, _, err := b.repo.ListOutstanding(t.Context(), IFTSTAFilter{Stuck: true}, 10); err != nil || len(stuck) != 0 {
		t.Errorf("stuck are %d, %v; want none, since the last attempt is on its way", len(stuck), err)
	}
	b.due(t)
	if stuck, more, err := b.repo.ListOutstanding(t.Context(), IFTSTAFilter{Stuck: true}, 10); err != nil || len(stuck) != 1 || stuck[0].ID != ids[1] || more {
		t.Errorf("stuck are %d, %v; want the one whose sender has died", len(stuck), err)
	}
	if all, more, err := b.repo.ListOutstanding(t.Context(), IFTSTAFilter{}, 10); err != nil || len(all) != 10 || !more {
		t.Errorf("outstanding are %d, more %v, %v", len(all), more, err)
	}
}

func TestAnOddRowCanBeReset(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.backlog(t, 1)[0]
	b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 8, fruehestens_am = 'infinity', created_at = '-infinity'`)
	if _, err := b.service.ResetIFTSTA(t.Context(), Call{Actor: "operator"}, id, ""); err != nil {
		t.Fatal(err)
	}
	drain(t, b.worker())
	if n := len(b.makod.IFTSTA()); n != 1 {
		t.Errorf("%d IFTSTA", n)
	}
}

func TestAProcessInCapitalsIsTheSameProcess(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.backlog(t, 1)[0]
	b.exec(t, `UPDATE sperr_orders SET process_id = upper(process_id)`)
	drain(t, b.worker())
	if got := b.get(t, id); got.IFTSTADispatchedAt == nil || len(got.Warnungen) != 0 {
		t.Errorf("dispatched at %v, warnings %v", got.IFTSTADispatchedAt, got.Warnungen)
	}
}

func TestAResetOfTheStuckWaitsForWhoAnnouncesThem(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.backlog(t, 1)[0]
	b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 8`)
	scanner, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.repo.stampAusstehend(t.Context(), scanner, day("2026-09-03"), testNow); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		orders, err := b.service.ResetAll(t.Context(), "cli:anna", "", IFTSTAFilter{Stuck: true})
		if err == nil && len(orders) != 1 {
			err = errors.New("nothing was reset")
		}
		done <- err
	}()
	b.awaitWaiter(t)
	if err := scanner.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := b.get(t, id); got.IFTSTAAttempts != 0 || got.IFTSTAEscalatedAt != nil {
		t.Errorf("order = %+v", got)
	}
}

// awaitWaiter waits until a session waits for a lock of another one.
func (b *bench) awaitWaiter(t *testing.T) {
	t.Helper()
	ctx := patient(t)
	for ctx.Err() == nil {
		if column[bool](t, b.pool, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`)[0] {
			return
		}
	}
	t.Fatal("nobody waits")
}

func TestGivingTheOnlyAttemptBackIsNoResetWhateverTheMoment(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.backlog(t, 1)[0]
	oneClaim(t, b.worker())
	// The give-back moves the next attempt to the moment at which the lease stood anyway.
	b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = iftsta_attempts - 1, iftsta_in_flight = false`)
	if got := b.get(t, id); got.IFTSTAResets != 0 || len(b.actions(t, id)) != 0 {
		t.Errorf("%d resets, history %v", got.IFTSTAResets, b.actions(t, id))
	}
}

func TestAResetAfterTheFristHasPassedAnnouncesSpentAttemptsOnly(t *testing.T) {
	t.Parallel()
	clock := time.Now()
	b := newBench(t, func(o *Options) { o.Now = func() time.Time { return clock } })
	id := b.backlog(t, 1)[0]
	b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 8, iftsta_faellig_am = '2100-01-01'`)
	b.scanAll(t) // announced for its attempts
	b.exec(t, `UPDATE sperr_orders SET iftsta_faellig_am = '2026-01-01'`)
	b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 0`) // past the Frist
	b.scanAll(t)
	if n, _, _, _ := b.ausstehend(t, id); n != 1 {
		t.Errorf("%d announcements: the Frist alone was announced in a cycle that began past it", n)
	}
}
