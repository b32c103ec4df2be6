package erptest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Fault is one way a delivery fails. Without [Applied] the event is not taken:
// the fault answers in the ERP's place, right or wrong as the delivery may be.
type Fault struct {
	armed  bool // false in the zero Fault, which is none
	apply  bool
	wire   wire
	answer answer
}

// wire is what happens to the answer on its way.
type wire int

const (
	wireDeliver wire = iota
	wireCut
	wireHang
)

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
func Hang() Fault { return Fault{armed: true, wire: wireHang} }

// Drop closes the connection without an answer.
func Drop() Fault { return Fault{armed: true, wire: wireCut} }

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
type Gate struct {
	server  *Server
	reached int // guarded by server.mu
	open    chan struct{}
	release func()
}

// Hold puts up a gate for every delivery from now on. Release it in the end.
func (s *Server) Hold() *Gate {
	g := &Gate{server: s, open: make(chan struct{})}
	g.release = sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.gates = slices.DeleteFunc(s.gates, func(other *Gate) bool { return other == g })
		close(g.open)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gates = append(s.gates, g)
	return g
}

// Wait waits until n deliveries have reached the gate since it was put up. It
// fails when ctx ends or with ErrClosed.
func (g *Gate) Wait(ctx context.Context, n int) error {
	if err := g.server.await(ctx, func() bool { return g.reached >= n }); err != nil {
		return fmt.Errorf("wait for %d deliveries at the gate: %w", n, err)
	}
	return nil
}

// Release lets all held answers go and removes the gate. It may be called more
// than once.
func (g *Gate) Release() { g.release() }

// gateFor returns a channel that is closed when an answer may pass, which is at
// once without a gate. s.mu is held.
func (s *Server) gateFor() <-chan struct{} {
	if len(s.gates) == 0 {
		return s.free
	}
	g := s.gates[0]
	g.reached++
	s.broadcast()
	return g.open
}
