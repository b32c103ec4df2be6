package loop

import "testing"

func TestSignalsThatNobodyHasTakenAreOne(t *testing.T) {
	t.Parallel()
	s := NewSignal()
	if taken(s) {
		t.Error("a new signal is set")
	}
	for range 3 {
		s.Set() // nobody waits, and it must not block
	}
	if !taken(s) {
		t.Error("a signal that was set is lost")
	}
	if taken(s) {
		t.Error("three signals are more than one")
	}
	s.Set()
	if !taken(s) {
		t.Error("a signal that was taken cannot be set again")
	}
}

func TestNilSignalWakesNobody(t *testing.T) {
	t.Parallel()
	var s *Signal
	s.Set()
	if taken(s) {
		t.Error("a nil signal is set")
	}
}

// taken takes the signal, if it is set.
func taken(s *Signal) bool {
	select {
	case <-s.wait():
		return true
	default:
		return false
	}
}
