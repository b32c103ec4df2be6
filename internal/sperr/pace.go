package sperr

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// pace is how fast commands may go to makod, which counts them by peer and not by
// purpose. It is safe for concurrent use.
type pace struct {
	limiter *rate.Limiter

	mu    sync.Mutex
	until time.Time // makod has asked to wait until then
}

// newPace allows perSecond commands a second, 0 as many as there are.
func newPace(perSecond int) *pace {
	if perSecond <= 0 {
		return &pace{limiter: rate.NewLimiter(rate.Inf, 0)}
	}
	// A full bucket is sent at once, on top of what the second allows.
	return &pace{limiter: rate.NewLimiter(rate.Limit(perSecond), max(1, perSecond/8))}
}

// count takes a command into account that does not wait: those that wait do so longer.
func (p *pace) count() { p.limiter.Reserve() }

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
