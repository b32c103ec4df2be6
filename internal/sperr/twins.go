package sperr

import (
	"context"
	"sync"
	"time"

	"sperrd/internal/loop"
)

// underWay are the operations that calls of this process do at the moment, so that their
// twins here need not look for the end in the database. It is safe for concurrent use.
type underWay struct {
	mu   sync.Mutex
	done map[string]chan struct{} // by the id that the call gives to the operation
}

// begin tells that a call does an operation, until end. Of two calls with the same id the
// database lets one do it; the other one ends at once.
func (u *underWay) begin(id string) (end func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.done[id] != nil {
		return func() {}
	}
	if u.done == nil {
		u.done = make(map[string]chan struct{})
	}
	done := make(chan struct{})
	u.done[id] = done
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.done, id)
		close(done)
	}
}

// ended is closed when the operation is done; nil: nobody here does it.
func (u *underWay) ended(id string) <-chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.done[id]
}

// pause is the wait before a twin of an operation is looked for again, in which no
// connection is held. It is false when the wait is over for good.
func (s *Service) pause(waiting context.Context, id string, round int) bool {
	const first, longest, here = 10 * time.Millisecond, 250 * time.Millisecond, time.Second
	wait, ended := loop.Backoff(first, longest, round), s.underWay.ended(id)
	if ended != nil {
		wait = here // a call of another process may do it all the same
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ended:
		return true
	case <-timer.C:
		return true
	case <-waiting.Done():
		return false
	}
}
