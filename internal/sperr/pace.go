package sperr

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"
)

// pace is how fast commands may go to makod, which counts them by peer and not by
// purpose. It is safe for concurrent use.
type pace struct {
	limiter *rate.Limiter

	mu    sync.Mutex
	until time.Time // makod has asked to wait until then

	// Which orders makod has put off, by the number of that event, and the number of the
	// last answer to any other kind of command.
	events   int
	putOffs  map[uuid.UUID]int
	answerAt int
}

// maxPutOffs bounds how many orders are remembered.
const maxPutOffs = 1000

// newPace allows perSecond commands a second, 0 as many as there are.
func newPace(perSecond int) *pace {
	if perSecond <= 0 {
		return &pace{limiter: rate.NewLimiter(rate.Inf, 0), putOffs: map[uuid.UUID]int{}}
	}
	// A full bucket is sent at once, on top of what the second allows.
	return &pace{limiter: rate.NewLimiter(rate.Limit(perSecond), max(1, perSecond/8)), putOffs: map[uuid.UUID]int{}}
}

// count takes a command into account that does not wait: those that wait do so longer, but
// no more than a second on top, or a burst of reports would silence the retry queue.
func (p *pace) count() {
	if p.limiter.Tokens() > -float64(p.limiter.Limit()) {
		p.limiter.Reserve()
	}
}

// wait until one command more may go. It is errBusy at once where that is not before
// longest has passed, and errStopping when ctx ends.
func (p *pace) wait(ctx context.Context, longest time.Duration) error {
	bounded, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	switch err := p.limiter.Wait(bounded); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errStopping
	default:
		return errBusy
	}
}

// pause lets nobody who waits send before at + wait.
func (p *pace) pause(at time.Time, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := at.Add(wait); until.After(p.until) {
		p.until = until
	}
}

// paused is how long makod still wants to be left alone at the moment at.
func (p *pace) paused(at time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(0, p.until.Sub(at))
}

// putOff notes that makod has put an order off, and tells whether that says something about
// the order rather than about makod: it is not the first time, and other commands were
// answered since.
func (p *pace) putOff(id uuid.UUID) (alone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, again := p.putOffs[id]
	if len(p.putOffs) >= maxPutOffs {
		clear(p.putOffs)
	}
	p.events++
	p.putOffs[id] = p.events
	return again && p.answerAt > before
}

// answered notes that makod has looked at a command, whatever came of it.
func (p *pace) answered(id uuid.UUID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events++
	p.answerAt = p.events
	delete(p.putOffs, id)
}
