package sperr

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
)

func TestATwinInTheSameProcessWakesWhenTheCallEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, started := &Service{}, time.Now()
		end := s.underWay.begin("a")
		woken := make(chan bool)
		for range 3 {
			go func() { woken <- s.pause(t.Context(), "a", 1) }()
		}
		synctest.Wait()
		select {
		case <-woken:
			t.Fatal("a twin looks again although the call has not ended")
		default:
		}
		end()
		for range 3 {
			if !<-woken {
				t.Error("a twin gives up although the call has ended")
			}
		}
		if waited := time.Since(started); waited != 0 {
			t.Errorf("the twins look again %v after the end", waited)
		}
		if s.underWay.ended("a") != nil {
			t.Error("the call is still known")
		}
	})
}

func TestACallThatClaimsWhatAnotherHasLeftIsTheOneToWaitFor(t *testing.T) {
	t.Parallel()
	var u underWay
	endFirst := u.begin("a")
	endSecond := u.begin("a")
	second := u.ended("a")
	endFirst()
	if u.ended("a") != second {
		t.Error("the end of a call ends another one")
	}
	endSecond()
	if _, open := <-second; open || u.ended("a") != nil {
		t.Error("a call that has ended is still waited for")
	}
}

// Of calls that come together any may be the one that the database lets do the work: that
// one is waited for.
func TestTheCallThatDoesTheWorkIsTheOneToWaitFor(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) { o.TwinWait = time.Minute })
	for range 5 {
		order := b.receive(t, pidSperrauftrag, testMalo)
		initial := uuid.NewString()
		gate := b.makod.Hold()
		results := make(chan error)
		const calls = 8
		for range calls {
			go func() {
				results <- second(b.service.Execute(t.Context(), keyed(uuid.NewString(), initial), order.ID, ExecuteReport{}))
			}()
		}
		if err := gate.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if b.service.underWay.ended(initial) == nil {
			t.Error("makod is asked, and the twins wait for nobody")
		}
		gate.Release()
		for range calls {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if b.service.underWay.ended(initial) != nil {
			t.Error("a call that has ended is still waited for")
		}
	}
}

func TestATwinOfACallElsewhereLooksAgainByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, started := &Service{}, time.Now()
		s.underWay.begin("another operation")
		for round := range 20 {
			if !s.pause(t.Context(), "a", round+1) {
				t.Fatal("the wait is over without a reason")
			}
		}
		if waited := time.Since(started); waited < time.Second || waited > 5*time.Second {
			t.Errorf("20 looks in %v", waited)
		}
		waiting, cancel := context.WithCancel(t.Context())
		cancel()
		if s.pause(waiting, "another operation", 1) {
			t.Error("a twin waits on although its time is over")
		}
	})
}
