package sperr

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
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
		s.underWay.begin("a")() // a twin that finds the operation taken ends nothing
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
