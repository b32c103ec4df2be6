package loop

import (
	"context"
	"time"
)

// recordPauses are the waits before results are written once more.
var recordPauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

// Recorder writes results of a Pump so that as little as possible is done twice: what is
// not written down is done again when its lease ends.
type Recorder[R any] struct {
	// Write writes results, all of them or none.
	Write func(ctx context.Context, results []R) error
	// Passing tells of an error of Write that the same write may succeed later, as when
	// the database is away.
	Passing func(error) bool
	// Left is for how long it makes sense to write a result: until its lease ends.
	Left func(R) time.Duration
}

// Record writes results together. While the reason passes it tries again, a few times,
// within what is left and until ctx ends; where one result spoils the others it writes them
// one by one. It returns those that could not be written, with the last reason.
func (r Recorder[R]) Record(ctx context.Context, results []R) (lost []R, reason error) {
	err := r.insist(ctx, results)
	switch {
	case err == nil:
		return nil, nil
	case len(results) == 1 || r.Passing(err):
		return results, err
	}
	for i := range results {
		one := results[i : i+1]
		err := r.insist(ctx, one)
		if err != nil && r.Passing(err) {
			return append(lost, results[i:]...), err
		}
		if err != nil {
			lost, reason = append(lost, one...), err
		}
	}
	return lost, reason
}

// insist writes results, up to four times.
func (r Recorder[R]) insist(ctx context.Context, results []R) error {
	err := r.Write(ctx, results)
	for _, wait := range recordPauses {
		if err == nil || !r.Passing(err) || ctx.Err() != nil || r.left(results) < wait {
			return err
		}
		pause(ctx, wait, nil)
		if ctx.Err() != nil {
			return err // a stop waits for nobody: the lease does the rest
		}
		err = r.Write(ctx, results)
	}
	return err
}

// left is for how long it makes sense for any of the results.
func (r Recorder[R]) left(results []R) time.Duration {
	longest := time.Duration(0)
	for _, result := range results {
		longest = max(longest, r.Left(result))
	}
	return longest
}
