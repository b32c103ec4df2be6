package neighbourtest

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

func TestHold_lets_the_first_gate_of_a_key_hold_alone(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	l := NewLine(&mu, "neighbour", "requests", nil)
	first, all := l.Hold("k1"), l.Hold("")
	held, other := l.Reach("k1"), l.Reach("k2")
	first.Release()
	later := l.Reach("k1")
	if !isOpen(held) || isOpen(other) || isOpen(later) || all.reached != 2 {
		t.Errorf("%t, %t, %t, %d at the gate for all", isOpen(held), isOpen(other), isOpen(later), all.reached)
	}
	all.Release()
	if !isOpen(other) || !isOpen(later) || !isOpen(l.Reach("k1")) {
		t.Error("something is held without a gate")
	}
}

func isOpen(way <-chan struct{}) bool {
	select {
	case <-way:
		return true
	default:
		return false
	}
}

func TestDisconnect_says_so_where_no_connection_can_be_cut(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	if Disconnect(w); w.Code != http.StatusInternalServerError {
		t.Errorf("status %d", w.Code)
	}
}
