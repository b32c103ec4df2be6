// Package makodtest is a makod to test against: the real HTTP surface of the
// command API over processes in memory, with every failure on demand. Tests
// and the sandbox share it.
//
// It is written from makod's side of the contract and shares no code with
// package makod, so a mistake in the client cannot hide in a shared constant.
// It never invents a market process: processes are spawned through [Server.Spawn].
//
// A [Fault] decides how the next commands fail, a [Gate] holds answers back
// until a test releases them, and the log of requests tells afterwards what
// arrived, when, under which key and with which answer.
package makodtest

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"sperrd/internal/neighbourtest"
)

// Idempotency is how makod treats a repeated Idempotency-Key. It stands for the
// generation of makod and decides the form of framework errors too.
type Idempotency int

const (
	// IdempotencyNone is the older makod: it demands a key and ignores its
	// value, and its framework answers errors as plain text.
	IdempotencyNone Idempotency = iota
	// IdempotencyCompare24h is the newer one: an accepted answer is repeated
	// for 24 h, the key with another command or payload is refused, and
	// framework errors are JSON.
	IdempotencyCompare24h
)

// Options configure a [Server]. The zero value is an older makod without keys.
type Options struct {
	// APIKey is the bearer token to demand; empty admits everybody.
	APIKey string
	// Now is makod's clock for processes, deadlines, records and idempotency;
	// nil means time.Now. The log of requests always runs on real time.
	Now func() time.Time
	// Logger gets one line per command; nil means none.
	Logger *slog.Logger
	// Idempotency can be changed later, see SetIdempotency.
	Idempotency Idempotency
	// Deadline can be changed later, see SetDeadline.
	Deadline bool
}

// Server is a simulated makod, an http.Handler. All its methods are safe for
// concurrent use.
type Server struct {
	apiKey string
	now    func() time.Time
	log    *slog.Logger
	mux    *http.ServeMux
	line   *neighbourtest.Line

	mu          sync.Mutex // guards everything below
	idempotency Idempotency
	deadline    bool
	degraded    string
	spawned     int
	processes   map[string]*Process
	byMalo      map[string][]*Process
	records     map[string]record
	iftsta      []IFTSTA
	faults      []*armed
	requests    []*Request
	ended       int
	inFlight    map[string]int
	overlaps    []string
	// How often each transactionId came, and which came again.
	transactions map[string]int
	repeated     []string
}

// New returns a makod without processes.
func New(o Options) *Server {
	s := &Server{
		apiKey: o.APIKey, now: o.Now, log: o.Logger,
		idempotency: o.Idempotency, deadline: o.Deadline,
		processes: map[string]*Process{}, byMalo: map[string][]*Process{},
		records: map[string]record{}, inFlight: map[string]int{}, transactions: map[string]int{},
		mux: http.NewServeMux(),
	}
	s.line = neighbourtest.NewLine(&s.mu, "makod", "commands", ErrClosed)
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.mux.HandleFunc("POST /api/v1/commands", s.handleCommand)
	s.mux.HandleFunc("GET /health", s.handleHealth)
	s.mux.HandleFunc("GET /health/ready", s.handleHealth)
	s.mux.HandleFunc("GET /health/live", s.handleLive)
	return s
}

// ServeHTTP answers one request as makod does.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Start serves on a free local port until the test ends and returns the base URL.
func (s *Server) Start(tb testing.TB) string {
	tb.Helper()
	return s.line.Start(tb, s)
}

// Serve serves on the listener until ctx ends and then waits up to five seconds
// for answers under way. It returns nil after an orderly end.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	return s.line.Serve(ctx, ln, s)
}

// Close ends every hanging or held answer without sending it. Later commands
// are still answered, but nothing hangs any more.
func (s *Server) Close() { s.line.Close() }

// SetIdempotency changes how repeated keys are treated; records stay.
func (s *Server) SetIdempotency(mode Idempotency) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idempotency = mode
}

// SetDegraded makes /health and /health/ready answer 503 with the reason;
// an empty reason is health.
func (s *Server) SetDegraded(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.degraded = reason
}

func (s *Server) handleHealth(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	reason := s.degraded
	s.mu.Unlock()
	writeHealth(w, reason)
}

func (s *Server) handleLive(w http.ResponseWriter, _ *http.Request) { writeHealth(w, "") }

func writeHealth(w http.ResponseWriter, reason string) {
	body := map[string]string{"status": "ok", "instance_id": "makodtest", "version": "0.0.0"}
	status := http.StatusOK
	if reason != "" {
		body["status"], body["reason"] = "degraded", reason
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the prober is gone: nobody to tell
}
