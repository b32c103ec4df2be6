package makodtest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	apiKey  = "makod-key-0001"
	malo1   = "51238696012"
	malo2   = "51238696781"
	id1     = "0b7c1e2a-1111-4000-8000-000000000001"
	id2     = "0b7c1e2a-1111-4000-8000-000000000002"
	execute = `{"command":"gpke.sperrung.bestaetigen","marktrolle":"NB","payload":{"malo_id":"51238696012","note":"n"}}`
	fail    = `{"command":"gpke.sperrung.fehlgeschlagen","payload":{"malo_id":"51238696012","reason":"r"}}`
)

// clock is a clock that a test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock(at time.Time) *clock { return &clock{at: at} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

var tuesday = time.Date(2026, 9, 1, 8, 0, 0, 0, time.UTC)

// newServer returns a makod on a movable clock with one open process on malo1.
func newServer(t *testing.T) (*Server, *clock) {
	t.Helper()
	c := newClock(tuesday)
	s := New(Options{APIKey: apiKey, Now: c.now})
	mustSpawn(t, s, Process{ID: id1, MaloID: malo1, PID: 17115})
	return s, c
}

func mustSpawn(t *testing.T, s *Server, p Process) Process {
	t.Helper()
	p, err := s.Spawn(p)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// post sends a command without a network, each key once: makod's answer is the
// recorder's.
func post(s *Server, key, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/api/v1/commands", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+apiKey)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// send sends a command through the network, where connections can be cut.
func send(ctx context.Context, url, key, body string) (int, string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/v1/commands", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.GetBody = nil // one call, one request
	r.Header.Set("Authorization", "Bearer "+apiKey)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func want(t *testing.T, w *httptest.ResponseRecorder, status int, body string) {
	t.Helper()
	if w.Code != status || w.Body.String() != body {
		t.Errorf("%d %s\nwant %d %s", w.Code, w.Body, status, body)
	}
}
