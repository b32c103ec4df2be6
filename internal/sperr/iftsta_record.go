package sperr

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/trace"

	"sperrd/internal/telemetry"
)

// endClaims records what became of attempts, all of them in one transaction, and returns
// how their claims ended, in their order. Where it fails, the leases end by themselves and
// the attempts stay counted: nothing is lost. wait is for a caller who has but one attempt.
func (s *Service) endClaims(ctx context.Context, attempts []attempt, wait bool) (ends []ending, err error) {
	ctx, cancel := s.detached(ctx)
	defer cancel()
	how := recording{at: s.now(), wait: wait}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		ends = make([]ending, len(attempts))
		sent, err := end(attempts, ends, true, func(some []attempt) ([]ending, error) {
			return s.repo.recordDispatched(ctx, tx, some, how)
		})
		if err != nil {
			return err
		}
		if err := s.repo.appendHistory(ctx, tx, dispatchLines(attempts, ends, sent, how.at)...); err != nil {
			return err
		}
		inVain, err := end(attempts, ends, false, func(some []attempt) ([]ending, error) {
			return s.repo.recordNotDispatched(ctx, tx, some, how)
		})
		if err != nil {
			return err
		}
		return s.repo.appendHistory(ctx, tx, inVainLines(attempts, ends, inVain, how.at)...)
	})
	if err != nil {
		return nil, err
	}
	return ends, nil
}

// end records those attempts that are dispatched, or those that are not, and puts their
// endings in their places, which it returns.
func end(attempts []attempt, ends []ending, dispatched bool, record func([]attempt) ([]ending, error)) (places []int, err error) {
	var some []attempt
	for i, a := range attempts {
		if (a.dispatched != nil) == dispatched {
			some, places = append(some, a), append(places, i)
		}
	}
	if len(some) == 0 {
		return nil, nil
	}
	list, err := record(some)
	if err != nil {
		return nil, err
	}
	for i, place := range places {
		ends[place] = list[i]
	}
	return places, nil
}

// dispatchLines are the history of those attempts whose dispatch was written.
func dispatchLines(attempts []attempt, ends []ending, sent []int, at time.Time) []change {
	var lines []change
	for _, i := range sent {
		a, e := attempts[i], ends[i]
		if !e.Ended {
			continue
		}
		lines = append(lines, change{
			order: Order{ID: a.order.ID, Status: *e.Status}, actor: actorService, action: actionIFTSTADispatched, from: *e.Status, at: at, transactionID: a.transactionID,
			detail: map[string]any{"attempts": *e.Attempts, "iftsta_ref": a.dispatched.ref, "reconciled": a.dispatched.reconciled},
		})
	}
	return lines
}

// inVainLines are the history of those attempts in vain that count and were written. makod's
// own words stay out of it.
func inVainLines(attempts []attempt, ends []ending, inVain []int, at time.Time) []change {
	var lines []change
	for _, i := range inVain {
		a, e := attempts[i], ends[i]
		if !e.Ended || a.inVain.giveBack {
			continue
		}
		lines = append(lines, change{
			order: Order{ID: a.order.ID, Status: *e.Status}, actor: actorService, action: actionIFTSTANotTaken, from: *e.Status, at: at, transactionID: a.transactionID,
			detail: map[string]any{"attempt": a.order.IFTSTAAttempts, "code": a.inVain.code, "unklar": a.inVain.unklar},
		})
	}
	return lines
}

// tell logs what became of an attempt; err is why it could not be recorded.
func (s *Service) tell(ctx context.Context, a attempt, recorded bool, err error) {
	if a.span.IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, a.span)
	}
	log := s.Logger.With("order_id", a.order.ID, "process_id", text(a.order.ProcessID), "attempt", a.order.IFTSTAAttempts)
	if a.transactionID != "" {
		log = log.With("transaction_id", a.transactionID, "duration", a.duration)
	}
	s.Metrics.CountIFTSTA(a.result(), a.duration)
	switch d := a.dispatched; {
	case d == nil && a.inVain.text == "":
		log.DebugContext(ctx, "IFTSTA not sent; the claim is given back")
	case d == nil:
		log.WarnContext(ctx, "IFTSTA not dispatched", "code", a.inVain.code, "unklar", a.inVain.unklar, "wait", a.inVain.wait)
	default:
		log.InfoContext(ctx, "IFTSTA dispatched", "iftsta_ref", d.ref, "reconciled", d.reconciled)
		if d.warning != "" {
			s.Metrics.CountForeignProcess()
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

// result is as what an attempt counts.
func (a attempt) result() telemetry.IFTSTAResult {
	switch n := a.inVain; {
	case a.dispatched != nil && a.dispatched.reconciled:
		return telemetry.IFTSTAReconciled
	case a.dispatched != nil:
		return telemetry.IFTSTADispatched
	case n.code == codeNotReportable:
		return telemetry.IFTSTANotReportable
	case a.transactionID == "":
		return telemetry.IFTSTANotSent
	case n.giveBack:
		return telemetry.IFTSTAPostponed
	case n.unclear:
		return telemetry.IFTSTAUnclear
	default:
		return telemetry.IFTSTARefused
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
