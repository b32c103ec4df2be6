package authn

import (
	"fmt"
	"sync"
	"time"
)

// The pauses between fetches that key ids of unknown tokens cause.
const (
	firstPause   = 5 * time.Second
	longestPause = 15 * time.Second
)

// demand bounds the fetches that unknown key ids cause: anybody can invent one. All
// who ask at the same time share a fetch, and after one that brought no new key the
// next has to wait, each time longer up to a bound. A key that the provider has just begun
// to use is therefore known within one request, and a storm comes to nothing.
type demand struct {
	wake chan struct{} // takes one: there is something to do for Run

	mu        sync.Mutex // guards everything below
	served    bool       // Run is there to fetch
	pending   *fetch
	begun     bool          // the pending fetch has
	spare     bool          // one fetch is left for those who came late, see ask
	extra     bool          // the pending one is that, and lengthens no pause
	pause     time.Duration // the one after the next fruitless fetch
	notBefore time.Time
	asked     time.Time // last
}

// fetch is one look at the provider's keys.
type fetch struct {
	ended  chan struct{} // closed when it has
	failed bool          // settled by then
}

func newDemand() *demand { return &demand{wake: make(chan struct{}, 1)} }

// ask wants a fetch. Without one there will be none, and refusal says why. late says that this fetch began before the question:
// what it brings may be older than the key, which the provider has begun to use since.
// Whoever was late asks once more and says so, and gets a fetch at once; one for all,
// and none in a storm that goes on.
func (d *demand) ask(now time.Time, wasLate bool) (f *fetch, late bool, refusal string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	// Quiet is when nobody asks: a storm that is refused goes on.
	if now.Sub(d.asked) > longestPause {
		d.pause = firstPause
	}
	d.asked = now
	switch {
	case !d.served:
		return nil, false, "nobody fetches new ones"
	case d.pending != nil:
		return d.pending, d.begun, ""
	case !now.Before(d.notBefore):
	case wasLate && d.spare:
		d.spare, d.extra = false, true
	default:
		wait := d.notBefore.Sub(now).Round(time.Second)
		return nil, false, fmt.Sprintf("the provider was asked for new ones a moment ago, and is again in %s", wait)
	}
	d.pending = &fetch{ended: make(chan struct{})}
	d.wake <- struct{}{} // never blocks: it holds one only while that fetch is pending
	return d.pending, false, ""
}

// begin is called before the fetch that somebody asked for.
func (d *demand) begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.begun = true
}

// end is called when the fetch has ended that somebody asked for, with the error it had.
func (d *demand) end(now time.Time, news bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pending != nil { // Run may have ended meanwhile
		d.pending.failed = err != nil
	}
	switch {
	case news:
		d.pause, d.notBefore = firstPause, time.Time{}
	case d.extra:
		d.notBefore = now.Add(firstPause)
	default:
		d.spare = d.pause == firstPause
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
		close(d.pending.ended)
		d.pending, d.begun, d.extra = nil, false, false
	}
}
