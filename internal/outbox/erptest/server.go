// Package erptest is an ERP to send events to: it takes the service's
// CloudEvents by HTTP as a strict receiver does, keeps every delivery, and fails
// on demand. Tests and the sandbox share it.
//
// It judges with the public Standard Webhooks library and the CloudEvents SDK
// and shares no code with the sender, so a mistake in signing cannot hide in a
// shared function. It never asks for an event and never judges an order of
// events: [Server.AcceptedFor] tells what arrived, the test what should have.
//
// A [Fault] decides how deliveries fail and a [Gate] holds answers back until a
// test releases them. Everything is kept in memory until the Server goes.
package erptest

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"

	"sperrd/internal/neighbourtest"
)

// Options configure a [Server].
type Options struct {
	// Secret is the signing secret: whsec_ and base64, or any other text, whose
	// bytes are the key. Without a usable one every delivery is refused (401).
	Secret string
	// Now is the clock against which webhook-timestamp is judged; nil means
	// time.Now. The times in a [Delivery] are always real.
	Now func() time.Time
}

// Server is a simulated ERP, an http.Handler on every path. All its methods are
// safe for concurrent use.
type Server struct {
	signature *signature
	line      *neighbourtest.Line

	mu           sync.Mutex // guards everything below
	deliveries   []*Delivery
	ended        int
	inFlight     map[string]int // by order
	transactions map[uuid.UUID]bool
	accepted     []event.Event
	known        map[string]bool // ids of accepted events
	duplicates   int
	faults       faults
}

// New returns an ERP that knows no event and has no fault.
func New(o Options) *Server {
	s := &Server{
		signature: newSignature(o.Secret, o.Now),
		inFlight:  map[string]int{}, transactions: map[uuid.UUID]bool{}, known: map[string]bool{},
		faults: faults{byOrder: map[string]Fault{}},
	}
	s.line = neighbourtest.NewLine(&s.mu, "ERP", "deliveries", ErrClosed)
	return s
}

// Start serves on a free local port until the test ends and returns the URL.
func (s *Server) Start(tb testing.TB) string {
	tb.Helper()
	return s.line.Start(tb, s)
}

// Serve serves on the listener until ctx ends and then waits up to five seconds
// for answers under way. It returns nil after an orderly end.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	return s.line.Serve(ctx, ln, s)
}

// Close ends every hanging or held delivery without an answer. Later ones are
// still answered, but nothing hangs any more.
func (s *Server) Close() { s.line.Close() }

// ServeHTTP takes one delivery. The decision falls under the lock and the answer
// is sent outside; the end is logged before it leaves, so whoever has the answer
// finds it in the log.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := s.read(w, r)
	s.mu.Lock()
	d := s.begin(m)
	fault := s.faults.take(d.OrderID)
	a := s.judge(m)
	d.Problem = a.problem
	switch {
	case !fault.applies():
		a = fault.answer
	case a.problem == "":
		s.accept(m.event)
		if fault.armed {
			a = fault.answer
		}
	default: // a refusal stands: there is nothing to apply
		fault = Fault{}
	}
	open := s.line.Reach("")
	s.mu.Unlock()

	if !s.line.Travels(r, fault.wire, open) {
		s.end(d, 0)
		neighbourtest.Disconnect(w)
		return
	}
	s.end(d, a.status)
	a.write(w)
}
