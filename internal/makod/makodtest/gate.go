package makodtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Gate holds answers back. A command that reaches it has been evaluated and, if
// makod accepts it, carried out; only its answer waits. That is the moment in
// which a sender must not die, send twice or forget.
type Gate struct {
	server  *Server
	maloID  string // "" for all
	reached int    // guarded by server.mu
	open    chan struct{}
	release func()
}

// Hold puts up a gate for every command from now on. Release it in the end.
func (s *Server) Hold() *Gate { return s.HoldFor("") }

// HoldFor puts up a gate for the commands of one MaLo.
func (s *Server) HoldFor(maloID string) *Gate {
	g := &Gate{server: s, maloID: maloID, open: make(chan struct{})}
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

// Wait waits until n commands have reached the gate since it was put up.
func (g *Gate) Wait(ctx context.Context, n int) error {
	if err := g.server.await(ctx, func() bool { return g.reached >= n }); err != nil {
		return fmt.Errorf("wait for %d commands at the gate: %w", n, err)
	}
	return nil
}

// Release lets all held answers go and removes the gate. It may be called more
// than once.
func (g *Gate) Release() { g.release() }

// gateFor returns a channel that is closed when the answer to a command may
// pass, which is at once if it meets no gate. s.mu is held.
func (s *Server) gateFor(maloID string) <-chan struct{} {
	for _, g := range s.gates {
		if g.maloID == "" || g.maloID == maloID {
			g.reached++
			s.broadcast()
			return g.open
		}
	}
	return s.free
}
