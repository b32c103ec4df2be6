// Package loop runs the background work of the service: a step again and again (Loop),
// sooner when there is something to do (Signal), claimed work through a bounded number of
// hands (Pump), and their results into the database (Recorder). What a step does, and what
// a claim is, belongs to the packages that use it.
package loop

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

// The pauses of a loop whose step fails: the first one, doubled each time up to the
// longest. The jitter keeps replicas that failed together from returning together.
const (
	firstPause   = time.Second
	longestPause = 30 * time.Second
)

// remembered is how many texts of a series of failures are known as logged. It does not
// help against texts that never repeat, as with a port or a process id in them; there the
// pauses keep the log short: at most eight lines in the first minute, four in each later.
const remembered = 8

// Loop runs a step until its context ends.
type Loop struct {
	// Name stands in every line that the loop logs.
	Name string
	// Step does the work once and says how long the loop may rest after it; 0 is
	// not at all. With an error the rest does not count. It must end by itself: each
	// thing it waits for has a bound. The end of its context asks it to begin nothing
	// new and to finish what it has begun.
	Step func(ctx context.Context) (rest time.Duration, err error)
	// Wake ends a rest early; it may be nil. It does not shorten the pause after a
	// failure, or every commit would repeat the failure.
	Wake   *Signal
	Logger *slog.Logger
	// Passed is told of each pass and why it failed, if it did; it may be nil. A pass
	// that was told to stop is none.
	Passed func(name string, err error)
}

// Run returns when ctx has ended and the step in hand with it. A series of failures is
// logged once for each text of an error, and once more when the loop works again; the
// loop goes on meanwhile, slower and slower. Whoever runs a Pump in it calls Settle next.
func (l Loop) Run(ctx context.Context) {
	var trouble trouble
	for ctx.Err() == nil {
		rest, err := l.Step(ctx)
		switch {
		case ctx.Err() != nil:
			// A step that was told to stop has neither failed nor recovered.
		case err != nil:
			l.passed(err)
			l.failed(ctx, &trouble, err)
			pause(ctx, trouble.pause(), nil)
		default:
			l.passed(nil)
			l.recovered(ctx, &trouble)
			pause(ctx, rest, l.Wake)
		}
	}
}

func (l Loop) passed(err error) {
	if l.Passed != nil {
		l.Passed(l.Name, err)
	}
}

// trouble is an unbroken series of failures.
type trouble struct {
	failures int
	logged   []string // the texts that were logged last
}

// pause is the wait after the failures so far.
func (t trouble) pause() time.Duration {
	wait := longestPause
	if doublings := t.failures - 1; doublings < 5 {
		wait = min(firstPause<<doublings, longestPause)
	}
	return jittered(wait)
}

func (l Loop) failed(ctx context.Context, t *trouble, err error) {
	t.failures++
	text := err.Error()
	if slices.Contains(t.logged, text) {
		return
	}
	if len(t.logged) == remembered {
		t.logged = slices.Delete(t.logged, 0, 1)
	}
	t.logged = append(t.logged, text)
	l.Logger.ErrorContext(ctx, "loop fails and goes on trying", "loop", l.Name, "error", err)
}

func (l Loop) recovered(ctx context.Context, t *trouble) {
	if t.failures > 0 {
		l.Logger.InfoContext(ctx, "loop works again", "loop", l.Name, "failures", t.failures)
	}
	*t = trouble{}
}

// pause waits until wait has passed, wake is set or ctx has ended.
func pause(ctx context.Context, wait time.Duration, wake *Signal) {
	if wait <= 0 {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-wake.wait():
	}
}
