package sperr

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/outbox"
)

// NothingToResetError means that no IFTSTA of the order is outstanding. Order is how it
// stands.
type NothingToResetError struct {
	Order Order
}

func (e *NothingToResetError) Error() string {
	return fmt.Sprintf("order %s has no IFTSTA outstanding: %s", e.Order.ID, e.Reason())
}

// Reason says why nothing is outstanding, for whoever asked.
func (e *NothingToResetError) Reason() string {
	switch o := e.Order; {
	case o.Status == StatusPending:
		return "it is pending and has no outcome yet"
	case o.Status == StatusCancelled:
		return "it is cancelled, and no IFTSTA follows"
	case !o.OwesIFTSTA():
		return "it has no market process, and nobody is owed an IFTSTA"
	case o.IFTSTADispatchedAt != nil:
		return "its IFTSTA is dispatched since " + o.IFTSTADispatchedAt.UTC().Format(time.RFC3339)
	case o.OddValues["iftsta_dispatched_at"] != "":
		return "its iftsta_dispatched_at holds " + o.OddValues["iftsta_dispatched_at"] + ", which counts as dispatched"
	default: // it has changed since
		return "it has changed meanwhile"
	}
}

// ResetIFTSTA begins a new cycle of attempts for an outcome that makod has not taken,
// also past its Frist: it is due at once, or when the attempt on its way has ended. It is
// ErrNotFound or a *NothingToResetError where there is no such outcome, and a
// *ValidationError for a reason that cannot be kept. Other errors and concurrency are
// those of Execute.
func (s *Service) ResetIFTSTA(ctx context.Context, call Call, id uuid.UUID, reason string) (Result, error) {
	reason, invalid := repairReason(reason)
	if invalid != nil && call.Attempt == nil {
		return Result{}, invalid
	}
	result, err := s.once(ctx, call, func(ctx context.Context, tx pgx.Tx) (Result, error) {
		if invalid != nil {
			return s.refused(ctx, tx, id, invalid)
		}
		if err := s.repo.as(ctx, tx, call, reason); err != nil {
			return Result{}, err
		}
		ok, err := s.repo.reset(ctx, tx, id)
		if err != nil || ok {
			return Result{Order: Order{ID: id}}, err
		}
		order, err := s.repo.get(ctx, tx, id)
		if err != nil {
			return Result{}, err
		}
		return Result{Order: order}, &NothingToResetError{Order: order}
	})
	if err != nil {
		return result, err
	}
	if result.Answered == nil || !result.Answered.Replayed {
		s.Logger.InfoContext(ctx, "IFTSTA reset", "order_id", id, "actor", call.Actor)
	}
	s.retry.Set()
	return result, nil
}

// ResetStuck does what ResetIFTSTA does for every outcome whose attempts are spent, each
// once, and returns their orders, of which id, malo_id, process_id and status are read.
// Where it fails, or ctx ends, those it returns are reset all the same.
func (s *Service) ResetStuck(ctx context.Context, actor, reason string) (reset []Order, err error) {
	if reason, err = repairReason(reason); err != nil {
		return nil, err
	}
	defer s.retry.Set()
	var last uuid.UUID
	for ctx.Err() == nil {
		var some []Order
		err := s.transact(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
			if err = s.repo.as(ctx, tx, Call{Actor: actor}, reason); err != nil {
				return err
			}
			some, err = s.repo.resetStuck(ctx, tx, last)
			return err
		})
		if err != nil {
			return reset, err
		}
		if reset = append(reset, some...); len(some) < maxResets {
			return reset, nil
		}
		last = some[len(some)-1].ID
	}
	return reset, ctx.Err()
}

// repairReason checks why a human mends something; the history keeps it.
func repairReason(reason string) (string, error) {
	invalid := &ValidationError{Subject: SubjectReport}
	reason = strings.TrimSpace(reason)
	checkText(invalid, "reason", reason, maxFreeText)
	return reason, invalid.err()
}

// refused reads the order, if there is one, so that a refusal made without it can name it.
func (s *Service) refused(ctx context.Context, tx pgx.Tx, id uuid.UUID, refusal error) (Result, error) {
	order, err := s.repo.get(ctx, tx, id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Result{}, err
	}
	return Result{Order: order}, refusal
}

// RequeueEvents gives dead letters of the outbox to the ERP once more, those named or, for
// an empty list, all of them, each once, and notes it in the history of their orders. Where
// it fails, or ctx ends, those it returns are requeued all the same.
func (s *Service) RequeueEvents(ctx context.Context, actor, reason string, eventIDs []string) ([]outbox.Moved, error) {
	return s.moveEvents(ctx, moving{actor: actor, reason: reason, action: actionEventRequeued}, func(ctx context.Context, tx pgx.Tx, after int64) ([]outbox.Moved, error) {
		return outbox.Requeue(ctx, tx, outbox.Selection{Tenant: s.repo.tenant, EventIDs: eventIDs, After: after})
	})
}

// HurryEvents ends the wait of events that the ERP did not take while it was away, as
// RequeueEvents does with dead letters. lease is the one of the outbox: what may be on its
// way to the ERP at this moment is left alone.
func (s *Service) HurryEvents(ctx context.Context, actor, reason string, lease time.Duration) ([]outbox.Moved, error) {
	return s.moveEvents(ctx, moving{actor: actor, reason: reason, action: actionEventHurried}, func(ctx context.Context, tx pgx.Tx, after int64) ([]outbox.Moved, error) {
		return outbox.Hurry(ctx, tx, outbox.Selection{Tenant: s.repo.tenant, After: after}, lease)
	})
}

// moveEvents moves events in groups until there are no more. They come in the order of the
// outbox, so that one that fails again at once is not moved twice.
func (s *Service) moveEvents(
	ctx context.Context, m moving, move func(ctx context.Context, tx pgx.Tx, after int64) ([]outbox.Moved, error),
) (moved []outbox.Moved, err error) {
	if m.reason, err = repairReason(m.reason); err != nil {
		return nil, err
	}
	var last int64
	for ctx.Err() == nil {
		var some []outbox.Moved
		err := s.transact(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
			if some, err = move(ctx, tx, last); err != nil {
				return err
			}
			m.at = s.now()
			return s.repo.noteMoved(ctx, tx, some, m)
		})
		if err != nil {
			return moved, err
		}
		if moved = append(moved, some...); len(some) < outbox.MaxMoved {
			return moved, nil
		}
		last = some[len(some)-1].Seq
	}
	return moved, ctx.Err()
}
