package sperr

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/transaction"
)

// RejectSettledError means that the refused delivery is settled already. Reject is how it
// stands.
type RejectSettledError struct {
	Reject WebhookReject
}

func (e *RejectSettledError) Error() string {
	return fmt.Sprintf("the refused delivery %s is %s already", e.Reject.ID, *e.Reject.Settlement)
}

// UnreadableError means that a kept delivery is still no event that can be read. Cause
// says why; it is no part of the chain, since the request that asked was a good one.
type UnreadableError struct {
	Cause error
}

func (e *UnreadableError) Error() string {
	return "the kept delivery cannot be read: " + e.Cause.Error()
}

// isReplayRefusal reports whether err refuses to settle a delivery, for good as far as
// that call goes: what would change the answer is a new version or configuration, and
// a new call.
func isReplayRefusal(err error) bool {
	_, settled := errors.AsType[*RejectSettledError](err)
	_, unreadable := errors.AsType[*UnreadableError](err)
	_, conflict := errors.AsType[*ProcessConflictError](err)
	return settled || unreadable || conflict
}

// ReadEvent reads the event of a kept delivery as the webhook does. It is an
// *UnreadableError where that would refuse it.
type ReadEvent func(EventHeaders, []byte) (event.Event, error)

// ReplayReject gives a refused delivery to the queue once more, as Receive would have
// taken it when it first came: the Uebertragungstag stays what it was. Where only SQL can
// have made the first receipt, now stands for it, and a warning on the order says so. Result.Receipt says
// what became of it. The delivery is settled then, whether or not it is a new order; where
// it is refused, nothing changes and it stays open: *UnreadableError, *ValidationError,
// *ProcessConflictError. It is ErrNotFound or a *RejectSettledError where there is nothing
// to replay. Of several calls one settles it. Other errors are those of Execute.
func (s *Service) ReplayReject(ctx context.Context, call Call, id uuid.UUID, reason string, read ReadEvent) (Result, error) {
	reason, invalid := repairReason(reason)
	if invalid != nil && call.Attempt == nil {
		return Result{}, invalid
	}
	call.rejectID = id
	var reject WebhookReject
	var a arrival
	var t taken
	result, err := s.once(ctx, call, func(ctx context.Context, tx pgx.Tx) (_ Result, err error) {
		if invalid != nil {
			return Result{}, invalid
		}
		if reject, err = s.repo.openReject(ctx, tx, id); err != nil {
			return ofReject(reject), err
		}
		e, err := read(reject.Headers, reject.Body)
		if err != nil {
			return Result{}, err
		}
		if a, err = s.arrivedBefore(reject, e); err != nil {
			return Result{}, err
		}
		if t, err = s.take(ctx, tx, call, a); err != nil {
			return Result{Order: t.order}, err
		}
		return Result{Order: t.order, Receipt: t.receipt}, s.settleReject(ctx, tx, call, reject, settling{
			settlement: SettlementReplayed, reason: reason, orderID: t.order.ID,
		})
	})
	if err != nil || result.replayed() {
		return result, err
	}
	s.tellArrival(ctx, a, t)
	s.tellSettled(ctx, call, reject, SettlementReplayed)
	return result, nil
}

// arrivedBefore reads an event that was first delivered when reject says.
func (s *Service) arrivedBefore(reject WebhookReject, e event.Event) (arrival, error) {
	if reject.OddFirstSeen == nil {
		return s.arrived(reject.WebhookID, e, reject.FirstSeenAt)
	}
	a, err := s.arrived(reject.WebhookID, e, s.now())
	if err == nil && a.kind == kindOrder {
		a.order.warn(fmt.Sprintf("first_seen_at of the refused delivery holds %s, which is no day of the years 1 to 9999: "+
			"uebertragungstag is the day of the event's time, or else that of the replay", *reject.OddFirstSeen))
	}
	return a, err
}

// DismissReject settles a refused delivery without an order, for a reason. It is
// ErrNotFound or a *RejectSettledError where there is nothing to dismiss, and a
// *ValidationError for a reason that is blank or cannot be kept. Of several calls one
// settles it. Other errors are those of Execute.
func (s *Service) DismissReject(ctx context.Context, call Call, id uuid.UUID, reason string) (Result, error) {
	reason, invalid := repairReason(reason)
	if invalid == nil && isBlank(reason) {
		invalid = &ValidationError{Subject: SubjectReport, Fields: []FieldError{{Field: "reason", Reason: "must not be blank"}}}
	}
	if invalid != nil && call.Attempt == nil {
		return Result{}, invalid
	}
	var reject WebhookReject
	result, err := s.once(ctx, call, func(ctx context.Context, tx pgx.Tx) (_ Result, err error) {
		if invalid != nil {
			return Result{}, invalid
		}
		if reject, err = s.repo.openReject(ctx, tx, id); err != nil {
			return ofReject(reject), err
		}
		return Result{}, s.settleReject(ctx, tx, call, reject, settling{settlement: SettlementDismissed, reason: reason})
	})
	if err != nil || result.replayed() {
		return result, err
	}
	s.tellSettled(ctx, call, reject, SettlementDismissed)
	return result, nil
}

// ofReject names the order that a settled delivery came to.
func ofReject(reject WebhookReject) (result Result) {
	if reject.OrderID != nil {
		result.Order.ID = *reject.OrderID
	}
	return result
}

// settleReject completes how a delivery is settled by the call that does it.
func (s *Service) settleReject(ctx context.Context, tx pgx.Tx, call Call, reject WebhookReject, how settling) error {
	how.actor, how.at = call.Actor, s.now()
	if call.Attempt != nil {
		how.transactionID = transaction.Shown(call.Attempt.ID)
	}
	return s.repo.settle(ctx, tx, reject.ID, how)
}

func (s *Service) tellSettled(ctx context.Context, call Call, reject WebhookReject, how Settlement) {
	s.Logger.InfoContext(ctx, "refused delivery settled", "settlement", how,
		"reject_id", reject.ID, "webhook_id", truncate(reject.WebhookID, 100), "actor", call.Actor)
}
