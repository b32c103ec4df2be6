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
// next has to wait, each time longer up to a bound. A key that the provider has just
// begun to use is therefore known within one request, and a storm comes to nothing.
type demand struct {
	wake chan struct{} // takes one: there is something to do for Run

	mu        sync.Mutex // guards everything below
	served    bool       // Run is there to fetch
	pending   *fetch
	begun     bool          // the pending fetch has
	last      *fetch        // that has ended, nil before the first
	spare     bool          // one fetch is left for those who came late, see ask
	extra     bool          // the pending one is that, and lengthens no pause
	pause     time.Duration // the one after the next fruitless fetch
	notBefore time.Time
	asked     time.Time // last
}

// fetch is one look at the provider's keys.
type fetch struct {
	ended   chan struct{} // closed when it has
	outcome string        // settled by then, for the reason of a refusal
}

const (
	outcomeAsked  = "the provider was asked for new ones"
	outcomeFailed = "the provider was asked for new ones, but could not say"
	outcomeNobody = "nobody fetches new ones"
)

func newDemand() *demand { return &demand{wake: make(chan struct{}, 1)} }

// latest is the last fetch that has ended. Whoever looks at the keys and then asks takes
// it before, so that a fetch which ends in between is not taken for none.
func (d *demand) latest() *fetch {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

// ask wants a fetch on behalf of somebody who has looked at the keys after the fetch
// seen. Without one there will be none, and refusal says why.
//
// late says that this fetch began before the question: what it brings may be older than
// the key, which the provider has begun to use since. Whoever was late asks once more
// and says so, and gets a fetch at once; one for all, and none in a storm that goes on.
func (d *demand) ask(now time.Time, seen *fetch, wasLate bool) (f *fetch, late bool, refusal string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	// Quiet is when nobody asks: a storm that is refused goes on.
	if now.Sub(d.asked) > longestPause {
		d.pause = firstPause
	}
	d.asked = now
	switch {
	case !d.served:
		return nil, false, outcomeNobody
	case d.last != seen:
		return d.last, true, ""
	case d.pending != nil:
		return d.pending, d.begun, ""
	case !now.Before(d.notBefore):
	case wasLate && d.spare:
		d.spare, d.extra = false, true
	default:
		wait := (d.notBefore.Sub(now) + time.Second - 1).Truncate(time.Second)
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
	if err != nil {
		d.release(outcomeFailed)
	} else {
		d.release(outcomeAsked)
	}
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
		d.release(outcomeNobody)
	}
}

// release lets those go who wait. The mutex is held.
func (d *demand) release(outcome string) {
	if d.pending == nil {
		return
	}
	d.pending.outcome = outcome
	close(d.pending.ended)
	d.last, d.pending, d.begun, d.extra = d.pending, nil, false, false
}
