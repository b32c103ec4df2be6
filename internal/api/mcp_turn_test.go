package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sperrd/internal/api"
)

// turns is a bench whose MCP answers when it is told to, and has a moment of patience.
type turns struct {
	*bench
	entered chan struct{}
	release func()
	most    *atomic.Int64 // at the same time
}

func newTurns(t *testing.T, parallel int, wait time.Duration) turns {
	t.Helper()
	released := make(chan struct{})
	m := turns{entered: make(chan struct{}, 100), most: new(atomic.Int64), release: sync.OnceFunc(func() { close(released) })}
	var inside atomic.Int64
	m.bench = newBench(t, func(s *settings) {
		s.options.MCPParallel = parallel
		s.handler = func(o api.Options) http.Handler { return api.NewImpatientHandler(o, wait, time.Minute) }
		s.options.MCP = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			now := inside.Add(1)
			defer inside.Add(-1)
			for most := m.most.Load(); now > most && !m.most.CompareAndSwap(most, now); most = m.most.Load() {
			}
			m.entered <- struct{}{}
			<-released
		})
	})
	t.Cleanup(m.release) // before the bench waits for its handlers
	return m
}

func TestMCP_answers_no_more_at_a_time_than_it_may_and_REST_does_not_wait(t *testing.T) {
	t.Parallel()
	m := newTurns(t, 2, time.Minute)
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			if a := m.mcp(t, toolsList); a.status != http.StatusOK {
				t.Errorf("status %d: %s", a.status, a.body)
			}
		})
	}
	<-m.entered
	<-m.entered
	wantStatus(t, m.get(t, orders), http.StatusOK)
	m.release()
	calls.Wait()
	if most := m.most.Load(); most != 2 {
		t.Errorf("%d at the same time", most)
	}
}

func TestMCP_who_waits_too_long_for_a_turn_is_told_to_come_again(t *testing.T) {
	t.Parallel()
	m := newTurns(t, 1, time.Millisecond)
	var first sync.WaitGroup
	first.Go(func() {
		if a := m.mcp(t, toolsList); a.status != http.StatusOK {
			t.Errorf("status %d: %s", a.status, a.body)
		}
	})
	<-m.entered
	a := m.mcp(t, toolsList)
	m.release()
	first.Wait()
	wantProblem(t, a, http.StatusServiceUnavailable, "unavailable")
	if a.header.Get("Retry-After") == "" || !strings.Contains(m.log.String(), "too many messages of MCP") {
		t.Errorf("headers %v, log:\n%s", a.header, m.log)
	}
}

func TestMCP_who_goes_while_waiting_is_not_taken_for_overload(t *testing.T) {
	t.Parallel()
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	if err := api.WaitForTurn(gone, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := api.WaitForTurn(t.Context(), time.Millisecond); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

func TestMCP_turn_ends_for_a_client_that_takes_no_answer(t *testing.T) {
	t.Parallel()
	cut := make(chan error, 1)
	b := newBench(t, func(s *settings) {
		s.handler = func(o api.Options) http.Handler { return api.NewImpatientHandler(o, time.Minute, 100*time.Millisecond) }
		s.options.MCP = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery != "" {
				return
			}
			for { // more than any buffer on the way
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					cut <- err
					return
				}
			}
		})
	})
	conn := b.dial(t)
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
	if err := <-cut; err == nil {
		t.Error("all of it went out")
	}
	wantStatus(t, b.call(t, http.MethodPost, "/mcp?next", "{}"), http.StatusOK)
}

func TestMCP_own_answers_are_kept_out_of_caches_and_its_failures_are_loud(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *settings) {
		s.options.MCP = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "public")
			switch r.URL.RawQuery {
			case "flush":
				if err := http.NewResponseController(w).Flush(); err != nil {
					t.Error(err)
				}
			case "write":
				_, _ = w.Write([]byte("x"))
			default:
				w.WriteHeader(http.StatusInternalServerError)
			}
		})
	})
	for _, query := range []string{"flush", "write", "fail"} {
		if a := b.call(t, http.MethodPost, "/mcp?"+query, "{}"); a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: headers %v", query, a.header)
		}
	}
	lines := b.log.requests(t)
	if lines[1]["level"] != "INFO" || lines[2]["level"] != "ERROR" {
		t.Errorf("levels %v and %v", lines[1]["level"], lines[2]["level"])
	}
}
