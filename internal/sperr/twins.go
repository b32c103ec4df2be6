package sperr

import (
	"context"
	"sync"
	"time"

	"sperrd/internal/loop"
)

// underWay are the operations that calls of this process have claimed and not ended, so
// that their twins here need not look for the end in the database. It is safe for
// concurrent use.
type underWay struct {
	mu   sync.Mutex
	done map[string]chan struct{} // by the id that the call gives to the operation
}

// begin tells that a call has claimed an operation, until end. One whose transaction was
// rolled back may not have ended yet when the next one claims: the latest counts.
func (u *underWay) begin(id string) (end func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.done == nil {
		u.done = make(map[string]chan struct{})
	}
	done := make(chan struct{})
	u.done[id] = done
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.done[id] == done {
			delete(u.done, id)
		}
		close(done)
	}
}

// ended is closed when the call that has claimed an operation ends; nil: nobody here has.
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
		wait = here // its end wakes the twin
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
