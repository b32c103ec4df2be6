package sperr

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/outbox"
)

// NothingToResetError means that no IFTSTA of the order is outstanding: it is pending or
// cancelled, makod has the outcome, or no Lieferant waits for one. Order is how it stands.
type NothingToResetError struct {
	Order Order
}

func (e *NothingToResetError) Error() string {
	return fmt.Sprintf("order %s has no IFTSTA outstanding", e.Order.ID)
}

// ResetIFTSTA begins a new cycle of attempts for an outcome that makod has not taken,
// also past its Frist: it is due at once, or when the attempt on its way has ended. It is
// ErrNotFound or a *NothingToResetError where there is no such outcome, and a
// *ValidationError for a reason that cannot be kept.
func (s *Service) ResetIFTSTA(ctx context.Context, actor string, id uuid.UUID, reason string) error {
	reason, err := repairReason(reason)
	if err != nil {
		return err
	}
	err = s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if err := s.repo.as(ctx, tx, actor, reason); err != nil {
			return err
		}
		_, ok, err := s.repo.reset(ctx, tx, id)
		if err != nil || ok {
			return err
		}
		order, err := s.repo.get(ctx, tx, id)
		if err != nil {
			return err
		}
		return &NothingToResetError{Order: order}
	})
	if err != nil {
		return err
	}
	s.Logger.InfoContext(ctx, "IFTSTA reset", "order_id", id, "actor", actor)
	s.retry.Set()
	return nil
}

// ResetStuck does what ResetIFTSTA does for every outcome whose attempts are spent, and
// returns their orders, of which id, malo_id, process_id and status are read. Where it
// fails, those it returns are reset all the same.
func (s *Service) ResetStuck(ctx context.Context, actor, reason string) ([]Order, error) {
	reason, err := repairReason(reason)
	if err != nil {
		return nil, err
	}
	var all []Order
	for {
		var some []Order
		err := s.transact(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
			if err = s.repo.as(ctx, tx, actor, reason); err != nil {
				return err
			}
			some, err = s.repo.resetStuck(ctx, tx)
			return err
		})
		if err != nil {
			return all, err
		}
		all = append(all, some...)
		if len(some) < maxResets {
			s.retry.Set()
			return all, nil
		}
	}
}

// repairReason checks why a human mends something; the history keeps it.
func repairReason(reason string) (string, error) {
	invalid := &ValidationError{Subject: SubjectReport}
	reason = strings.TrimSpace(reason)
	checkText(invalid, "reason", reason, maxFreeText)
	return reason, invalid.err()
}

// RequeueEvents gives dead letters of the outbox to the ERP once more, those named or, for
// an empty list, all of them, and notes each in the history of its order.
func (s *Service) RequeueEvents(ctx context.Context, actor, reason string, eventIDs []string) ([]outbox.Requeued, error) {
	return s.requeue(ctx, actor, reason, func(ctx context.Context, tx pgx.Tx) ([]outbox.Requeued, error) {
		return outbox.Requeue(ctx, tx, s.repo.tenant, eventIDs)
	})
}

// HurryEvents ends the wait of events that the ERP did not take while it was away, and
// notes each in the history of its order. lease is the one of the outbox: what may be on its
// way to the ERP at this moment is left alone.
func (s *Service) HurryEvents(ctx context.Context, actor, reason string, lease time.Duration) ([]outbox.Requeued, error) {
	return s.requeue(ctx, actor, reason, func(ctx context.Context, tx pgx.Tx) ([]outbox.Requeued, error) {
		return outbox.Hurry(ctx, tx, s.repo.tenant, lease)
	})
}

// requeue moves events in groups until there are no more, in one transaction: one that
// fails again at once is not moved twice.
func (s *Service) requeue(
	ctx context.Context, actor, reason string, move func(context.Context, pgx.Tx) ([]outbox.Requeued, error),
) ([]outbox.Requeued, error) {
	reason, err := repairReason(reason)
	if err != nil {
		return nil, err
	}
	var all []outbox.Requeued
	err = s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error {
		for {
			some, err := move(ctx, tx)
			if err != nil {
				return err
			}
			if err := s.repo.noteRequeued(ctx, tx, some, requeuing{actor: actor, reason: reason, at: s.now()}); err != nil {
				return err
			}
			if all = append(all, some...); len(some) < outbox.MaxRequeue {
				return nil
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
