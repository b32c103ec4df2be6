package erptest

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"sperrd/internal/neighbourtest"
)

// Fault is one way a delivery fails. Without [Applied] the event is not taken:
// the fault answers in the ERP's place, right or wrong as the delivery may be.
type Fault struct {
	armed  bool // false in the zero Fault, which is none
	apply  bool
	wire   neighbourtest.Wire
	answer answer
}

// applies reports whether the ERP gets to see the delivery.
func (f Fault) applies() bool { return f.apply || !f.armed }

// Answer fails with a status and no body.
func Answer(status int) Fault { return Fault{armed: true, answer: answer{status: status}} }

// Busy answers 503 with Retry-After in whole seconds, rounded up.
func Busy(retryAfter time.Duration) Fault {
	f := Answer(http.StatusServiceUnavailable)
	seconds := (retryAfter + time.Second - 1) / time.Second
	f.answer.header, f.answer.value = "Retry-After", strconv.Itoa(int(seconds))
	return f
}

// Redirect answers 307 to the URL, which a sender that follows would POST to.
func Redirect(url string) Fault {
	f := Answer(http.StatusTemporaryRedirect)
	f.answer.header, f.answer.value = "Location", url
	return f
}

// Hang never answers: the delivery waits until the client gives up or the Server
// is closed. The ERP learns late that a client has gone, so a test that sends
// again and counts overlaps calls [Server.WaitEnded] in between.
func Hang() Fault { return Fault{armed: true, wire: neighbourtest.Hang} }

// Drop closes the connection without an answer.
func Drop() Fault { return Fault{armed: true, wire: neighbourtest.Cut} }

// Applied takes the event first and then fails like f: the answer is lost, not
// the event. A delivery that the ERP refuses keeps its refusal.
func Applied(f Fault) Fault {
	f.apply = true
	return f
}

// faults are those armed. One of an order comes first, then those counted, in the
// order of arming, then the one for everything.
type faults struct {
	byOrder map[string]Fault
	next    []Fault
	always  Fault
}

func (f *faults) take(orderID string) Fault {
	if fault, ok := f.byOrder[orderID]; ok {
		return fault
	}
	if len(f.next) > 0 {
		fault := f.next[0]
		f.next = f.next[1:]
		return fault
	}
	return f.always
}

// Fail makes every delivery fail until [Server.Recover].
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.always = f
}

// FailNext makes the next n deliveries fail; faults armed one after the other
// come in that order.
func (s *Server) FailNext(n int, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.next = append(s.faults.next, slices.Repeat([]Fault{f}, max(n, 0))...)
}

// FailFor makes every delivery about one order fail until [Server.Recover].
func (s *Server) FailFor(orderID string, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.byOrder[orderID] = f
}

// Recover disarms every fault. Deliveries that hang already keep hanging.
func (s *Server) Recover() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = faults{byOrder: map[string]Fault{}}
}

// Gate holds answers back. A delivery that reaches it has been judged and, if it
// is right, taken; only its answer waits. A client that gives up there is one
// that never learns of its success.
type Gate = neighbourtest.Gate

// Hold puts up a gate for every delivery from now on. Release it in the end.
func (s *Server) Hold() *Gate { return s.line.Hold("") }
