package sperr

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
)

func TestThePaceOfTheWorkerIsHeldAndInlineSendsCountAgainstIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPace(80)
		began := time.Now()
		for range 800 {
			if err := p.wait(t.Context(), time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took < 9*time.Second || took > 10*time.Second {
			t.Errorf("800 commands at 80 a second took %v", took)
		}
		began = time.Now()
		for range 400 {
			p.count()
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("inline sends waited %v", took)
		}
		err := p.wait(t.Context(), time.Minute)
		if waited := time.Since(began); err != nil || waited < time.Second || waited > 1100*time.Millisecond {
			t.Errorf("after 400 inline sends the worker waited %v, %v; want a second, whatever the burst", waited, err)
		}
	})
}

func TestThePaceHasNoLimitOnRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPace(0)
		began := time.Now()
		for range 10_000 {
			if err := p.wait(t.Context(), time.Second); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("took %v", took)
		}
	})
}

func TestWhoFindsNoRoomInTimeDoesNotWaitForIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPace(1)
		for range 60 {
			p.count()
		}
		began := time.Now()
		if err := p.wait(t.Context(), 1500*time.Millisecond); !errors.Is(err, errBusy) || time.Since(began) != 0 {
			t.Errorf("wait = %v after %v, want busy at once", err, time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if err := p.wait(ctx, 10*time.Minute); !errors.Is(err, errStopping) || time.Since(began) != time.Second {
			t.Errorf("wait = %v after %v, want stopping after 1s", err, time.Since(began))
		}
	})
}

func TestTheLongerPauseHolds(t *testing.T) {
	t.Parallel()
	p := newPace(0)
	p.pause(testNow, time.Minute)
	p.pause(testNow, time.Second)
	if left := p.paused(testNow.Add(20 * time.Second)); left != 40*time.Second {
		t.Errorf("paused for %v, want 40s", left)
	}
	if left := p.paused(testNow.Add(time.Minute)); left != 0 {
		t.Errorf("paused for %v after the end", left)
	}
}

func TestAnOrderThatAloneIsPutOffIsKnownByItsSecondTime(t *testing.T) {
	t.Parallel()
	sick, good := uuid.New(), uuid.New()
	p := newPace(0)
	if p.putOff(sick) {
		t.Error("the first time says nothing about the order")
	}
	if p.putOff(sick) {
		t.Error("nothing was answered since: makod as a whole may be busy")
	}
	p.answered(good)
	if !p.putOff(sick) {
		t.Error("another command was answered since, and this one is put off again")
	}
	p.answered(good)
	p.answered(sick)
	if p.putOff(sick) {
		t.Error("an answer ends the suspicion")
	}
}
