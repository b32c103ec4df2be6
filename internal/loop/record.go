package loop

import (
	"context"
	"errors"
	"time"
)

// again is how long a result waits before it is handed to Record once more. Mostly its row
// is locked for a moment, by a claim that looks at it and passes over it.
const again = 250 * time.Millisecond

// atStop is for how long results are tried to be written after the end of ctx, when nobody
// hands them in once more.
const atStop = 2 * time.Second

// ErrLocked is the reason for which a Recorder gives up a result whose row somebody else
// has locked until the end.
var ErrLocked = errors.New("somebody else has the row locked")

// Recorder writes results of a Pump so that as little as possible is done twice: what is
// not written down is done again when its lease ends.
type Recorder[R any] struct {
	// Write writes results together, but for those whose rows somebody else has locked,
	// which it returns. On an error it has written nothing.
	Write func(ctx context.Context, results []R) (locked []R, err error)
	// Passing tells of an error of Write that the same write may succeed later, as when
	// the database is away.
	Passing func(error) bool
	// Left is for how long it makes sense to write a result: until its lease ends.
	Left func(R) time.Duration
	// Lost is told of results that are given up, with the reason.
	Lost func(ctx context.Context, results []R, reason error)
}

// Record is the Record of a Pump. Where one result spoils the others it writes them one by
// one. What cannot be written now comes again until its lease ends; after the end of ctx it
// is tried for a moment longer and then given up.
func (r Recorder[R]) Record(ctx context.Context, results []R) (later []R) {
	later, reason := r.record(ctx, results)
	for began := time.Now(); ctx.Err() != nil && len(later) > 0; {
		if time.Since(began) > atStop {
			r.Lost(ctx, later, reason)
			return nil
		}
		pause(context.WithoutCancel(ctx), again/5, nil)
		later, reason = r.record(ctx, later)
	}
	return later
}

// record writes results once and returns those that can be written later, with the reason.
func (r Recorder[R]) record(ctx context.Context, results []R) (later []R, reason error) {
	locked, err := r.Write(ctx, results)
	switch {
	case err == nil:
		return r.keep(ctx, locked, ErrLocked), ErrLocked
	case r.Passing(err):
		return r.keep(ctx, results, err), err
	case len(results) == 1:
		r.Lost(ctx, results, err)
		return nil, err
	}
	reason = ErrLocked
	for i := range results {
		locked, err := r.Write(ctx, results[i:i+1])
		switch {
		case err == nil:
			later = append(later, r.keep(ctx, locked, ErrLocked)...)
		case r.Passing(err):
			return append(later, r.keep(ctx, results[i:], err)...), err
		default:
			r.Lost(ctx, results[i:i+1], err)
		}
	}
	return later, reason
}

// keep returns the results for which there is time, and gives the others up.
func (r Recorder[R]) keep(ctx context.Context, results []R, reason error) (later []R) {
	var lost []R
	for _, result := range results {
		if r.Left(result) > again {
			later = append(later, result)
		} else {
			lost = append(lost, result)
		}
	}
	if len(lost) > 0 {
		r.Lost(ctx, lost, reason)
	}
	return later
}
