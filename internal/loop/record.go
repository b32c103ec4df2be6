package loop

import (
	"context"
	"errors"
	"time"
)

// again is how long a result waits before it is handed to Record once more.
const again = time.Second

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
// one. What cannot be written now comes again, until its lease or ctx ends: a stop waits
// for nobody.
func (r Recorder[R]) Record(ctx context.Context, results []R) (later []R) {
	locked, err := r.Write(ctx, results)
	switch {
	case err == nil:
		return r.keep(ctx, locked, ErrLocked)
	case r.Passing(err):
		return r.keep(ctx, results, err)
	case len(results) == 1:
		r.Lost(ctx, results, err)
		return nil
	}
	for i := range results {
		locked, err := r.Write(ctx, results[i:i+1])
		switch {
		case err == nil:
			later = append(later, r.keep(ctx, locked, ErrLocked)...)
		case r.Passing(err):
			return append(later, r.keep(ctx, results[i:], err)...)
		default:
			r.Lost(ctx, results[i:i+1], err)
		}
	}
	return later
}

// keep returns the results for which there is time, and gives the others up.
func (r Recorder[R]) keep(ctx context.Context, results []R, reason error) (later []R) {
	var lost []R
	for _, result := range results {
		if ctx.Err() == nil && r.Left(result) > again {
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
