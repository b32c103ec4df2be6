package api_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// turns is a bench whose MCP answers when it is told to.
type turns struct {
	*bench
	entered, release chan struct{}
	most             *atomic.Int64 // at the same time
}

func newTurns(t *testing.T, parallel int) turns {
	t.Helper()
	m := turns{entered: make(chan struct{}, 100), release: make(chan struct{}), most: new(atomic.Int64)}
	var inside atomic.Int64
	m.bench = newBench(t, func(s *settings) {
		s.options.MCPParallel = parallel
		s.options.MCP = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			now := inside.Add(1)
			defer inside.Add(-1)
			for most := m.most.Load(); now > most && !m.most.CompareAndSwap(most, now); most = m.most.Load() {
			}
			m.entered <- struct{}{}
			<-m.release
		})
	})
	return m
}

func TestMCP_answers_no_more_at_a_time_than_it_may_and_REST_does_not_wait(t *testing.T) {
	t.Parallel()
	m := newTurns(t, 2)
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
	for range 8 {
		m.release <- struct{}{}
	}
	calls.Wait()
	if most := m.most.Load(); most != 2 {
		t.Errorf("%d at the same time", most)
	}
}

func TestMCP_who_waits_too_long_for_a_turn_is_told_to_come_again(t *testing.T) {
	t.Parallel()
	m := newTurns(t, 1)
	var first sync.WaitGroup
	first.Go(func() { wantStatus(t, m.mcp(t, toolsList), http.StatusOK) })
	<-m.entered
	a := m.mcp(t, toolsList)
	wantProblem(t, a, http.StatusServiceUnavailable, "unavailable")
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	close(m.release)
	first.Wait()
}
