// Package neighbourtest is what the simulated neighbours of the service have in
// common: they serve until they are closed, hold answers back at a [Gate], let
// them hang or cut them off, and let a test wait for what arrives. Package
// makodtest and package erptest are built on it.
//
// It knows neither neighbour: what a request means, which one fails and what is
// kept of it is theirs.
package neighbourtest

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
)

// Line is what lies between a simulated neighbour and its clients. It works
// under the neighbour's own mutex. All its methods are safe for concurrent use;
// those that want the mutex held say so, the others want it free.
type Line struct {
	mu        *sync.Mutex
	neighbour string // for errors, as is the next
	requests  string
	errClosed error
	closed    chan struct{}
	close     func()
	free      chan struct{} // closed from the start, see Reach

	changed chan struct{} // guarded by mu, as is the next
	gates   []*Gate
}

// NewLine returns an open line without gates. The mutex guards the neighbour's
// state. Errors name the neighbour and its requests by the words given, and a
// wait on a closed line ends with errClosed.
func NewLine(mu *sync.Mutex, neighbour, requests string, errClosed error) *Line {
	l := &Line{
		mu: mu, neighbour: neighbour, requests: requests, errClosed: errClosed,
		closed: make(chan struct{}), free: make(chan struct{}), changed: make(chan struct{}),
	}
	close(l.free)
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

// Start serves on a free local port until the test ends and returns the base URL.
func (l *Line) Start(tb testing.TB, h http.Handler) string {
	tb.Helper()
	ts := httptest.NewServer(h)
	tb.Cleanup(func() {
		l.Close() // lets hanging answers go, for which ts.Close waits
		ts.Close()
	})
	return ts.URL
}

// Serve serves on the listener until ctx ends and then waits up to five seconds
// for answers under way. It returns nil after an orderly end.
func (l *Line) Serve(ctx context.Context, ln net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		l.Close()
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
		return fmt.Errorf("serve the simulated %s: %w", l.neighbour, err)
	}
	return nil
}

// Close ends every wait and every hanging or held answer. Later requests are
// still answered, but nothing hangs any more.
func (l *Line) Close() { l.close() }

// Broadcast wakes everybody in Await. The mutex is held.
func (l *Line) Broadcast() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// Await waits until the condition, called with the mutex held, is true. It fails
// when ctx ends or the line is closed.
func (l *Line) Await(ctx context.Context, condition func() bool) error {
	for {
		l.mu.Lock()
		done, changed := condition(), l.changed
		l.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-l.closed:
			return l.errClosed
		}
	}
}
