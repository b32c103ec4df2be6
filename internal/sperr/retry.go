package sperr

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"sperrd/internal/loop"
	"sperrd/internal/postgres"
)

// RetryOptions are the settings of a RetryWorker.
type RetryOptions struct {
	// PollInterval is how often the queue is looked at when nothing wakes the worker.
	PollInterval time.Duration
	// Parallelism is how many outcomes are on their way to makod at the same time, at
	// most, and how many one claim takes.
	Parallelism int
}

// RetryWorker drains the IFTSTA queue: the outcomes that makod has not taken, least
// tried first. Any number of workers may run on one database: an outcome belongs to
// whoever moved its iftsta_next_attempt_at forward, until that moment has come. An
// outcome leaves the queue when makod has it or its attempts are spent; a passed Frist
// does not end the attempts, since late is better than never.
type RetryWorker struct {
	service *Service
	options RetryOptions
	pump    *loop.Pump[claim, attempt]
}

// NewRetryWorker returns the worker of service's queue.
func NewRetryWorker(service *Service, options RetryOptions) *RetryWorker {
	w := &RetryWorker{service: service, options: options}
	w.pump = loop.NewPump(loop.PumpOptions[claim, attempt]{
		Hands: options.Parallelism, Claim: w.claim, Work: w.send, Record: w.record,
	})
	return w
}

// Run works until ctx ends, and returns when all that is on its way to makod has come
// back and is recorded.
func (w *RetryWorker) Run(ctx context.Context) {
	w.service.unrecorded.accept(true)
	w.service.loop(loop.Loop{Name: "iftsta retry", Step: w.sweep, Wake: w.service.retry}).Run(ctx)
	w.pump.Settle()
	w.service.unrecorded.accept(false) // a report that is still on its way tells for itself
	w.recordReports(ctx)
}

// reportsRest is the rest between two tries to record the results of reports.
const reportsRest = time.Second

// sweep records what reports have left, then claims what is due and sets it on its way,
// unless makod has asked to wait.
func (w *RetryWorker) sweep(ctx context.Context) (rest time.Duration, err error) {
	rest = w.options.PollInterval
	if !w.recordReports(ctx) {
		rest = min(rest, reportsRest)
	}
	if paused := w.service.pace.paused(w.service.Now()); paused > 0 {
		return min(paused, rest), nil
	}
	more, err := w.pump.Step(ctx)
	if err != nil || more {
		return 0, err
	}
	return rest, nil
}

// recordReports records the results of reports that could not be recorded when they came.
// It is false where some are left for later.
func (w *RetryWorker) recordReports(ctx context.Context) (all bool) {
	attempts := w.service.unrecorded.take()
	if len(attempts) == 0 {
		return true
	}
	later := w.record(ctx, attempts) // empty after a stop
	return len(later) == 0 || !w.service.unrecorded.add(later...)
}

// claim takes the right to send from the queue. It is not cut short by a stop, which
// would leave a lease that nobody knows of.
func (w *RetryWorker) claim(ctx context.Context, limit int) (claims []claim, err error) {
	s := w.service
	ctx, cancel := s.detached(ctx)
	defer cancel()
	until := s.Now().Add(s.Lease) // before the lease is taken: see claim.until
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		claims, err = s.repo.claim(ctx, tx, limit, s.Lease)
		return err
	})
	for i := range claims {
		claims[i].until = until
	}
	return claims, err
}

// send waits for its turn and submits one claimed outcome.
func (w *RetryWorker) send(ctx context.Context, c claim) attempt {
	s := w.service
	if ctx.Err() != nil {
		return s.notSent(c, errStopping)
	}
	if err := s.pace.wait(ctx, c.until.Sub(s.Now())-s.RequestTimeout); err != nil {
		return s.notSent(c, err)
	}
	if s.pace.paused(s.Now()) > 0 {
		return s.notSent(c, errPaused)
	}
	return s.send(ctx, c)
}

// record ends the claims of attempts. What makod has taken and nobody has written down
// would be sent again, and makod may not know it again.
func (w *RetryWorker) record(ctx context.Context, attempts []attempt) (later []attempt) {
	s := w.service
	return loop.Recorder[attempt]{
		Write:   w.write,
		Passing: postgres.IsUnavailable,
		Left:    func(a attempt) time.Duration { return a.until.Sub(s.Now()) },
		Lost: func(ctx context.Context, attempts []attempt, reason error) {
			for _, a := range attempts {
				s.tell(ctx, a, false, reason)
			}
		},
	}.Record(ctx, attempts)
}

// write ends those claims whose rows nobody else has locked, and returns the others.
func (w *RetryWorker) write(ctx context.Context, attempts []attempt) (locked []attempt, err error) {
	ends, err := w.service.endClaims(ctx, attempts, false)
	if err != nil {
		return nil, err
	}
	for i, a := range attempts {
		if e := ends[i]; e.Locked {
			locked = append(locked, a)
		} else {
			w.service.tell(ctx, a, e.Ended, nil)
		}
	}
	return locked, nil
}
