package neighbourtest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
)

// Gate holds back the answers to requests that have been dealt with. All its
// methods are safe for concurrent use.
type Gate struct {
	line    *Line
	key     string // "" for all
	reached int    // guarded by line.mu
	open    chan struct{}
	release func()
}

// Hold puts up a gate for the requests of one key from now on, "" meaning all.
func (l *Line) Hold(key string) *Gate {
	g := &Gate{line: l, key: key, open: make(chan struct{})}
	g.release = sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.gates = slices.DeleteFunc(l.gates, func(other *Gate) bool { return other == g })
		close(g.open)
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gates = append(l.gates, g)
	return g
}

// Wait waits until n requests have reached the gate since it was put up. It
// fails when ctx ends or with the neighbour's ErrClosed.
func (g *Gate) Wait(ctx context.Context, n int) error {
	if err := g.line.Await(ctx, func() bool { return g.reached >= n }); err != nil {
		return fmt.Errorf("wait for %d %s at the gate: %w", n, g.line.requests, err)
	}
	return nil
}

// Release lets all held answers go and removes the gate. It may be called more
// than once.
func (g *Gate) Release() { g.release() }

// Reach counts a request at the first gate of its key and returns a channel that
// is closed when its answer may pass: at once if it meets no gate. The mutex is
// held.
func (l *Line) Reach(key string) <-chan struct{} {
	for _, g := range l.gates {
		if g.key == "" || g.key == key {
			g.reached++
			l.Broadcast()
			return g.open
		}
	}
	return l.free
}

// Wire is what happens to an answer on its way.
type Wire int

// Deliver lets the answer through, Cut loses it once it may pass, and with Hang
// it never may.
const (
	Deliver Wire = iota
	Cut
	Hang
)

// Travels reports whether the answer to r reaches the client. It returns when
// that is settled: the way is open, the client has given up or the line is closed.
func (l *Line) Travels(r *http.Request, wire Wire, open <-chan struct{}) bool {
	if wire == Hang {
		open = nil // never
	}
	select {
	case <-open: // first, so that a closed line goes on answering
		return wire != Cut
	default:
	}
	select {
	case <-open:
		return wire != Cut
	case <-r.Context().Done():
	case <-l.closed:
	}
	return false
}

// Disconnect closes the connection without an answer.
func Disconnect(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "this connection cannot be cut", http.StatusInternalServerError)
		return
	}
	_ = conn.Close()
}
