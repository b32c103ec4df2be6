package loop

import (
	"context"
	"sync"
	"time"
)

// gather is how long a Pump lets hands come free before it claims for fewer than half
// of them: claims by the dozen cost a fraction of claims one by one.
const gather = 50 * time.Millisecond

// PumpOptions are the parts of a Pump. C is a claimed piece of work, R its result.
type PumpOptions[C, R any] struct {
	// Hands is how many pieces are in hand at the same time, at most.
	Hands int
	// Claim takes at most limit pieces. A claim has an owner until its lease ends.
	Claim func(ctx context.Context, limit int) ([]C, error)
	// Work does one piece. The end of ctx means: do not begin, but finish.
	Work func(ctx context.Context, piece C) R
	// Record writes results, as many together as came in while the last ones were
	// written. It handles its own failures. Only then are their hands free again.
	Record func(ctx context.Context, results []R)
}

// Pump moves work from its claim to its record. Pieces are independent of each
// other: one that takes long holds its own hand and no other. Step and Settle are
// called by one goroutine.
type Pump[C, R any] struct {
	PumpOptions[C, R]
	free chan struct{} // one for each free hand
	busy sync.WaitGroup

	mu        sync.Mutex
	results   []R // done, not recorded
	recording bool
}

// NewPump returns a Pump with all hands free.
func NewPump[C, R any](o PumpOptions[C, R]) *Pump[C, R] {
	p := &Pump[C, R]{PumpOptions: o, free: make(chan struct{}, o.Hands)}
	p.release(o.Hands)
	return p
}

// Step claims work for the hands that are free, waiting until there are some, and
// sets them to it. It does not wait for the work. more tells that there may be more to
// claim at once.
func (p *Pump[C, R]) Step(ctx context.Context) (more bool, err error) {
	hands := p.take(ctx)
	if hands == 0 {
		return false, nil // ctx has ended
	}
	pieces, err := p.Claim(ctx, hands)
	if err != nil {
		p.release(hands)
		return false, err
	}
	p.release(hands - len(pieces))
	for _, piece := range pieces {
		p.busy.Go(func() { p.finish(ctx, p.Work(ctx, piece)) })
	}
	return len(pieces) == hands, nil
}

// Settle waits until everything that was claimed is recorded.
func (p *Pump[C, R]) Settle() { p.busy.Wait() }

// take returns how many hands it has taken: at least one, unless ctx has ended.
func (p *Pump[C, R]) take(ctx context.Context) int {
	select {
	case <-ctx.Done():
		return 0
	case <-p.free:
	}
	taken := 1
	timer := time.NewTimer(gather)
	defer timer.Stop()
	for waiting := true; waiting && 2*taken < p.Hands; {
		select {
		case <-p.free:
			taken++
		case <-timer.C:
			waiting = false
		case <-ctx.Done():
			p.release(taken)
			return 0
		}
	}
	for {
		select {
		case <-p.free:
			taken++
		default:
			return taken
		}
	}
}

func (p *Pump[C, R]) release(hands int) {
	for range hands {
		p.free <- struct{}{}
	}
}

// finish hands a result in. Whoever comes while nobody records becomes the recorder, also
// of what comes in meanwhile.
func (p *Pump[C, R]) finish(ctx context.Context, result R) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.results = append(p.results, result)
	if p.recording {
		return
	}
	p.recording = true
	for len(p.results) > 0 {
		batch := p.results
		p.results = nil
		p.mu.Unlock()
		p.Record(ctx, batch)
		p.release(len(batch))
		p.mu.Lock()
	}
	p.recording = false
}
