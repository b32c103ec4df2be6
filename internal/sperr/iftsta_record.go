package sperr

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// endClaims records what became of attempts, all of them in one transaction, and
// returns the orders of those that held their claim until now. Where it fails, the
// leases end by themselves and the attempts stay counted: nothing is lost.
func (s *Service) endClaims(ctx context.Context, attempts []attempt) (ended map[uuid.UUID]bool, err error) {
	ctx, cancel := s.detached(ctx)
	defer cancel()
	at := s.now()
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		ended = make(map[uuid.UUID]bool, len(attempts))
		done, err := s.repo.recordDispatched(ctx, tx, attempts, at)
		if err != nil {
			return err
		}
		lines := make([]change, len(done))
		for i, d := range done {
			ended[d.order.ID] = true
			lines[i] = change{
				order: d.order, actor: actorService, action: actionIFTSTADispatched, from: d.order.Status, at: at,
				detail: map[string]any{"attempts": d.order.IFTSTAAttempts, "iftsta_ref": d.ref, "reconciled": d.reconciled},
			}
		}
		if err := s.repo.appendHistory(ctx, tx, lines...); err != nil {
			return err
		}
		put, err := s.repo.recordNotDispatched(ctx, tx, attempts, at)
		for _, id := range put {
			ended[id] = true
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return ended, nil
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
