package authn

import (
	"fmt"
	"sync"
	"time"
)

// The pauses between fetches that key ids of unknown tokens cause.
const (
	firstPause   = 5 * time.Second
	longestPause = 60 * time.Second
)

// demand bounds the fetches that unknown key ids cause: anybody can invent one. All
// who ask at the same time share a fetch, and after one that brought no new key the
// next has to wait, each time twice as long. A key that the provider has just begun
// to use is therefore known within one request, and a storm comes to nothing.
type demand struct {
	wake chan struct{} // takes one: there is something to do for Run

	mu        sync.Mutex // guards everything below
	served    bool       // Run is there to fetch
	pending   chan struct{}
	pause     time.Duration // the one after the next fruitless fetch
	notBefore time.Time
	asked     time.Time // last
}

func newDemand() *demand { return &demand{wake: make(chan struct{}, 1)} }

// ask wants a fetch. The channel is closed when it has ended; without one there will
// be none, and refusal says why.
func (d *demand) ask(now time.Time) (ended <-chan struct{}, refusal string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	// Quiet is when nobody asks: a storm that is refused goes on.
	if now.Sub(d.asked) > longestPause {
		d.pause = firstPause
	}
	d.asked = now
	switch {
	case !d.served:
		return nil, "nobody fetches new ones"
	case d.pending != nil:
		return d.pending, ""
	case now.Before(d.notBefore):
		wait := d.notBefore.Sub(now).Round(time.Second)
		return nil, fmt.Sprintf("the provider was asked for new ones a moment ago, and is again in %s", wait)
	}
	d.pending = make(chan struct{})
	d.wake <- struct{}{} // never blocks: it holds one only while that fetch is pending
	return d.pending, ""
}

// end is called when the fetch has ended that somebody asked for.
func (d *demand) end(now time.Time, news bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if news {
		d.pause, d.notBefore = firstPause, time.Time{}
	} else {
		d.notBefore = now.Add(d.pause)
		d.pause = min(2*d.pause, longestPause)
	}
	d.release()
}

// serve says whether there is somebody to fetch. When there no longer is, nobody is
// left waiting.
func (d *demand) serve(served bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.served = served
	if !served {
		select {
		case <-d.wake:
		default:
		}
		d.release()
	}
}

// release lets those go who wait. The mutex is held.
func (d *demand) release() {
	if d.pending != nil {
		close(d.pending)
		d.pending = nil
	}
}
