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
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
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
	closed    chan struct{}
	close     func()
	free      chan struct{} // closed from the start, see gateFor

	mu           sync.Mutex // guards everything below
	changed      chan struct{}
	deliveries   []*Delivery
	ended        int
	inFlight     map[string]int // by order
	transactions map[uuid.UUID]bool
	accepted     []event.Event
	known        map[string]bool // ids of accepted events
	duplicates   int
	faults       faults
	gates        []*Gate
}

// New returns an ERP that knows no event and has no fault.
func New(o Options) *Server {
	s := &Server{
		signature: newSignature(o.Secret, o.Now),
		closed:    make(chan struct{}), free: make(chan struct{}), changed: make(chan struct{}),
		inFlight: map[string]int{}, transactions: map[uuid.UUID]bool{}, known: map[string]bool{},
		faults: faults{byOrder: map[string]Fault{}},
	}
	close(s.free)
	s.close = sync.OnceFunc(func() { close(s.closed) })
	return s
}

// Start serves on a free local port until the test ends and returns the URL.
func (s *Server) Start(tb testing.TB) string {
	tb.Helper()
	ts := httptest.NewServer(s)
	tb.Cleanup(func() {
		s.Close() // lets hanging answers go, for which ts.Close waits
		ts.Close()
	})
	return ts.URL
}

// Serve serves on the listener until ctx ends and then waits up to five seconds
// for answers under way. It returns nil after an orderly end.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		s.Close()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		stopped <- server.Shutdown(grace)
	}()
	err := server.Serve(ln)
	cancel()
	if shutdownErr := <-stopped; errors.Is(err, http.ErrServerClosed) {
		err = shutdownErr
	}
	if err != nil {
		return fmt.Errorf("serve the simulated ERP: %w", err)
	}
	return nil
}

// Close ends every hanging or held delivery without an answer. Later ones are
// still answered, but nothing hangs any more.
func (s *Server) Close() { s.close() }

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
	open := s.gateFor()
	s.mu.Unlock()

	if !s.travels(r, fault, open) {
		s.end(d, 0)
		cut(w)
		return
	}
	s.end(d, a.status)
	a.write(w)
}

// travels reports whether the answer reaches the client. It returns when that is
// settled: the way is open, the client has given up or the Server is closed.
func (s *Server) travels(r *http.Request, fault Fault, open <-chan struct{}) bool {
	if fault.wire == wireHang {
		open = nil // never
	}
	select {
	case <-open: // first, so that a closed Server goes on answering
		return fault.wire != wireCut
	default:
	}
	select {
	case <-open:
		return fault.wire != wireCut
	case <-r.Context().Done():
	case <-s.closed:
	}
	return false
}

// cut closes the connection without an answer.
func cut(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "this connection cannot be cut", http.StatusInternalServerError)
		return
	}
	_ = conn.Close()
}
