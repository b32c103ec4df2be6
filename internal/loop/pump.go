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
	// Hands is how many pieces are in hand at the same time, at most; at least 1.
	Hands int
	// Claim takes at most limit pieces. A claim has an owner until its lease ends.
	Claim func(ctx context.Context, limit int) ([]C, error)
	// Work does one piece, within a bound of its own. The end of ctx means: do not
	// begin, but finish. It is called by many goroutines at once.
	Work func(ctx context.Context, piece C) R
	// Record writes results, as many together as came in while the last ones were
	// written; one call at a time, also after the end of ctx. Then their hands are free
	// again, but for those that it returns: they come once more, a moment later or when
	// ctx ends, and hold their hands until then. See Recorder.
	Record func(ctx context.Context, results []R) (later []R)
}

// Pump moves work from its claim to its record. Pieces are independent of each
// other: one that takes long holds its own hand and no other. Step and Settle are
// called by one goroutine. A panic in Work or Record ends the process.
type Pump[C, R any] struct {
	do   PumpOptions[C, R]
	free chan struct{} // one for each free hand
	busy sync.WaitGroup

	mu        sync.Mutex
	results   []R // done, not recorded
	recording bool
}

// NewPump returns a Pump with all hands free.
func NewPump[C, R any](o PumpOptions[C, R]) *Pump[C, R] {
	p := &Pump[C, R]{do: o, free: make(chan struct{}, o.Hands)}
	p.release(o.Hands)
	return p
}

// Step claims work for the hands that are free, waiting until there are some, and
// sets them to it. It does not wait for the work, which goes on with ctx after Step has
// returned. more tells that there may be more to claim at once. Nothing is claimed once
// ctx has ended; that is no error.
func (p *Pump[C, R]) Step(ctx context.Context) (more bool, err error) {
	hands := p.take(ctx)
	if hands == 0 {
		return false, nil // ctx has ended
	}
	pieces, err := p.do.Claim(ctx, hands)
	if err != nil {
		p.release(hands)
		return false, err
	}
	p.release(hands - len(pieces))
	for i, piece := range pieces {
		if i >= hands {
			// A statement with a LIMIT in a subquery can claim more than that, by the
			// plan it gets. Without a hand of its own such a piece would come to free
			// one too many, and to wait for ever with that.
			<-p.free
		}
		p.busy.Go(func() { p.finish(ctx, p.do.Work(ctx, piece)) })
	}
	return len(pieces) >= hands, nil
}

// Settle waits until everything that was claimed is recorded. Every Loop that runs Step
// is followed by it.
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
	for waiting := true; waiting && 2*taken < p.do.Hands; {
		select {
		case <-p.free:
			taken++
		case <-timer.C:
			waiting = false
		case <-ctx.Done():
			waiting = false
		}
	}
	// A select takes any case that is ready: a free hand may hide the end of ctx.
	if ctx.Err() != nil {
		p.release(taken)
		return 0
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

// release never blocks: there is a place for every hand, and only taken ones come back.
func (p *Pump[C, R]) release(hands int) {
	for range hands {
		p.free <- struct{}{}
	}
}

// finish hands a result in. Whoever comes while nobody records becomes the recorder, also
// of what comes in meanwhile. The lock is not deferred: Record runs outside of it, and
// unlocking twice would hide a panic of Record.
func (p *Pump[C, R]) finish(ctx context.Context, result R) {
	p.mu.Lock()
	p.results = append(p.results, result)
	if p.recording {
		p.mu.Unlock()
		return
	}
	p.recording = true
	for len(p.results) > 0 {
		batch := p.results
		p.results = nil
		p.mu.Unlock()
		later := p.do.Record(ctx, batch)
		for _, result := range later {
			p.busy.Go(func() {
				pause(ctx, again, nil)
				p.finish(ctx, result)
			})
		}
		p.release(len(batch) - len(later))
		p.mu.Lock()
	}
	p.recording = false
	p.mu.Unlock()
}
