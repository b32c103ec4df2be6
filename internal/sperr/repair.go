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

// ResetAll does what ResetIFTSTA does for every outcome that f chooses, each once, and
// returns their orders, of which id, malo_id, process_id and status are read. Where it
// fails, or ctx ends, those it returns are reset all the same.
func (s *Service) ResetAll(ctx context.Context, actor, reason string, f IFTSTAFilter) (reset []Order, err error) {
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
			some, err = s.repo.resetSome(ctx, tx, f, last, MaxResets)
			return err
		})
		if err != nil {
			return reset, err
		}
		if reset = append(reset, some...); len(some) < MaxResets {
			return reset, nil
		}
		last = some[len(some)-1].ID
	}
	return reset, ctx.Err()
}

// ResetRequest asks for the outcomes that Filter chooses, in the order of their orders' ids.
type ResetRequest struct {
	Filter IFTSTAFilter
	After  uuid.UUID // only ids above this one; zero: all
	Limit  int       // at most MaxResets count
	Reason string
}

// Check is a *ValidationError for an empty filter, which a caller may not have meant, for one
// that is mistyped, and for a reason that cannot be kept.
func (r ResetRequest) Check() error {
	if _, err := repairReason(r.Reason); err != nil {
		return err
	}
	if err := r.Filter.Check(); err != nil {
		return err
	}
	if r.Filter.Empty() {
		return errEmptyFilter
	}
	return nil
}

// ResetSome resets what r asks for, in one transaction, and returns the orders as
// Result.Reset. It is what Check says where the request is
// against a rule. Other errors and concurrency are those of Execute.
func (s *Service) ResetSome(ctx context.Context, call Call, r ResetRequest) (Result, error) {
	invalid := r.Check()
	if invalid != nil && call.Attempt == nil {
		return Result{}, invalid
	}
	result, err := s.once(ctx, call, func(ctx context.Context, tx pgx.Tx) (result Result, err error) {
		if invalid != nil {
			return Result{}, invalid
		}
		if err := s.repo.as(ctx, tx, call, strings.TrimSpace(r.Reason)); err != nil {
			return Result{}, err
		}
		result.Reset, err = s.repo.resetSome(ctx, tx, r.Filter, r.After, min(r.Limit, MaxResets))
		return result, err
	})
	if err != nil {
		return result, err
	}
	for _, o := range result.Reset {
		s.Logger.InfoContext(ctx, "IFTSTA reset", "order_id", o.ID, "actor", call.Actor)
	}
	s.retry.Set()
	return result, nil
}

var errEmptyFilter = &ValidationError{Subject: SubjectReport, Fields: []FieldError{{
	Field: "stuck", Reason: "or another filter is needed: stuck, code, lf_mp_id, malo_id, order_type, faellig_bis; none of them would choose every outcome",
}}}

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

// EventRepair is who gives which events to the ERP once more, and why. With DryRun nobody
// does: it only finds out which they would be.
type EventRepair struct {
	Actor, Reason string
	DryRun        bool
	EventIDs      []string // none: all that are chosen
	outbox.Chosen
}

func (s *Service) selection(r EventRepair, after int64) outbox.Selection {
	return outbox.Selection{Tenant: s.repo.tenant, EventIDs: r.EventIDs, Chosen: r.Chosen, After: after}
}

// RequeueEvents gives dead letters of the outbox to the ERP once more, each once, and notes
// it in the history of their orders. Where it fails, or ctx ends, those it returns are
// requeued all the same.
func (s *Service) RequeueEvents(ctx context.Context, r EventRepair) ([]outbox.Moved, error) {
	return s.moveEvents(ctx, r, actionEventRequeued, func(ctx context.Context, tx pgx.Tx, after int64) ([]outbox.Moved, error) {
		return outbox.Requeue(ctx, tx, s.selection(r, after))
	})
}

// HurryEvents ends the wait of events that the ERP did not take while it was away, as
// RequeueEvents does with dead letters. lease is the one of the outbox: what may be on its
// way to the ERP at this moment is left alone.
func (s *Service) HurryEvents(ctx context.Context, r EventRepair, lease time.Duration) ([]outbox.Moved, error) {
	return s.moveEvents(ctx, r, actionEventHurried, func(ctx context.Context, tx pgx.Tx, after int64) ([]outbox.Moved, error) {
		return outbox.Hurry(ctx, tx, s.selection(r, after), lease)
	})
}

// errDryRun takes back what a dry run has done.
var errDryRun = errors.New("dry run")

// moveEvents moves events in groups until there are no more. They come in the order of the
// outbox, so that one that fails again at once is not moved twice.
func (s *Service) moveEvents(
	ctx context.Context, r EventRepair, action string, move func(ctx context.Context, tx pgx.Tx, after int64) ([]outbox.Moved, error),
) (moved []outbox.Moved, err error) {
	m := moving{actor: r.Actor, action: action}
	if m.reason, err = repairReason(r.Reason); err != nil {
		return nil, err
	}
	var last int64
	for ctx.Err() == nil {
		var some []outbox.Moved
		err := s.transact(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
			if some, err = move(ctx, tx, last); err != nil {
				return err
			}
			if r.DryRun {
				return errDryRun
			}
			m.at = s.now()
			return s.repo.noteMoved(ctx, tx, some, m)
		})
		if err != nil && !errors.Is(err, errDryRun) {
			return moved, err
		}
		if moved = append(moved, some...); len(some) < outbox.MaxMoved {
			return moved, nil
		}
		last = some[len(some)-1].Seq
	}
	return moved, ctx.Err()
}
