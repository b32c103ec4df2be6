package api

import (
	"context"
	"fmt"
	"time"
)

// turns lets a bounded number of requests that cost much be answered at the same time:
// who asks without end must leave memory and connections to the orders.
type turns struct {
	of     string        // what there may be too many of
	free   chan struct{} // as many as are under way
	wait   time.Duration // for a turn
	answer time.Duration // of MCP, whose turn lasts until its client has it
}

// take waits for a turn. end gives it back.
func (t turns) take(ctx context.Context) (end func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, t.wait)
	defer cancel()
	end = func() { <-t.free }
	select {
	case t.free <- struct{}{}:
		return end, nil
	default: // what is free is had also by who may not wait
	}
	select {
	case t.free <- struct{}{}:
		return end, nil
	case <-waiting.Done():
	}
	if err := ctx.Err(); err != nil {
		return nil, err // the client has gone
	}
	return nil, fmt.Errorf("%w: too many %s at a time", errUnavailable, t.of)
}
