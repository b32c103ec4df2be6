package sperr

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// endClaims records what became of attempts, all of them in one transaction, and returns
// how their claims ended, by order. Where it fails, the leases end by themselves and the
// attempts stay counted: nothing is lost. wait is for a caller who has but one attempt.
func (s *Service) endClaims(ctx context.Context, attempts []attempt, wait bool) (ends map[uuid.UUID]ending, err error) {
	ctx, cancel := s.detached(ctx)
	defer cancel()
	how := recording{at: s.now(), wait: wait}
	var sent, inVain []attempt
	for _, a := range attempts {
		if a.dispatched != nil {
			sent = append(sent, a)
		} else {
			inVain = append(inVain, a)
		}
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		ends = make(map[uuid.UUID]ending, len(attempts))
		if len(sent) > 0 {
			done, err := s.repo.recordDispatched(ctx, tx, sent, how)
			if err != nil {
				return err
			}
			collect(ends, done)
			if err := s.repo.appendHistory(ctx, tx, dispatchLines(sent, ends, how.at)...); err != nil {
				return err
			}
		}
		if len(inVain) == 0 {
			return nil
		}
		done, err := s.repo.recordNotDispatched(ctx, tx, inVain, how)
		collect(ends, done)
		return err
	})
	if err != nil {
		return nil, err
	}
	return ends, nil
}

func collect(ends map[uuid.UUID]ending, list []ending) {
	for _, e := range list {
		ends[e.ID] = e
	}
}

// dispatchLines are the history of those attempts whose dispatch was written.
func dispatchLines(sent []attempt, ends map[uuid.UUID]ending, at time.Time) []change {
	var lines []change
	for _, a := range sent {
		e := ends[a.order.ID]
		if !e.Ended {
			continue
		}
		lines = append(lines, change{
			order: Order{ID: e.ID, Status: *e.Status}, actor: actorService, action: actionIFTSTADispatched, from: *e.Status, at: at,
			detail: map[string]any{"attempts": *e.Attempts, "iftsta_ref": a.dispatched.ref, "reconciled": a.dispatched.reconciled},
		})
	}
	return lines
}

// tell logs what became of an attempt; err is why it could not be recorded.
func (s *Service) tell(ctx context.Context, a attempt, recorded bool, err error) {
	log := s.Logger.With("order_id", a.order.ID, "process_id", text(a.order.ProcessID), "attempt", a.order.IFTSTAAttempts)
	if a.duration > 0 {
		log = log.With("duration", a.duration)
	}
	switch d := a.dispatched; {
	case d == nil && a.inVain.text == "":
		log.DebugContext(ctx, "IFTSTA not sent; the claim is given back")
	case d == nil:
		log.WarnContext(ctx, "IFTSTA not dispatched", "code", a.inVain.code, "unklar", a.inVain.unklar, "wait", a.inVain.wait)
	default:
		log.InfoContext(ctx, "IFTSTA dispatched", "iftsta_ref", d.ref, "reconciled", d.reconciled)
		if d.warning != "" {
			log.WarnContext(ctx, "makod booked the outcome on another process", "iftsta_ref", d.ref)
		}
	}
	switch {
	case err != nil:
		log.ErrorContext(ctx, "result of an IFTSTA attempt not recorded: the lease ends by itself", "dispatched", a.dispatched != nil, "error", err)
	case !recorded:
		// Recorded at a try whose answer was lost, or another claim decides.
		log.WarnContext(ctx, "result of an IFTSTA attempt not recorded: the claim is not held any more", "dispatched", a.dispatched != nil)
	}
}

// maxUnrecorded bounds how many results wait for the database.
const maxUnrecorded = 1000

// unrecorded are the results of reports that could not be recorded when they came. While
// this process has a retry worker, it goes on trying. It is safe for concurrent use.
type unrecorded struct {
	mu       sync.Mutex
	open     bool
	attempts []attempt
}

// accept says whether somebody takes what is added.
func (u *unrecorded) accept(open bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open = open
}

// add is false where nobody takes them, or there is no room: the lease does the rest.
func (u *unrecorded) add(attempts ...attempt) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.open || len(u.attempts)+len(attempts) > maxUnrecorded {
		return false
	}
	u.attempts = append(u.attempts, attempts...)
	return true
}

// take returns all of them, which are the caller's then.
func (u *unrecorded) take() []attempt {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := u.attempts
	u.attempts = nil
	return all
}
