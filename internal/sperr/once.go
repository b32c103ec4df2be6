package sperr

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/postgres"
	"sperrd/internal/transaction"
)

// Call is one call that changes an order: who makes it, and by what it is recognised when
// it comes again.
type Call struct {
	Actor   string               // for the history
	Attempt *transaction.Attempt // nil: it is done as often as it comes
	// Answer is what the caller is told of a result or a refusal. It is kept with the
	// change and must depend on nothing else. Required with an Attempt.
	Answer func(Result, error) (transaction.Answer, error)

	rejectID uuid.UUID // the refused delivery that it replays; zero: none
}

// describe writes into a line of the history which call it is of.
func (c Call) describe(line *change) {
	if c.rejectID != uuid.Nil {
		line.detail["reject_id"] = c.rejectID
	}
	if c.Attempt == nil {
		return
	}
	line.transactionID = transaction.Shown(c.Attempt.ID)
	for name, id := range relatedIDs(*c.Attempt) {
		line.detail[name] = id
	}
}

// logicalID is the one of the operation that a call does; nil: it has none.
func (c Call) logicalID() *string {
	if c.Attempt == nil {
		return nil
	}
	return &c.Attempt.Initial
}

// relatedIDs are the ids that a call names beside its own, for the history.
func relatedIDs(a transaction.Attempt) map[string]string {
	ids := map[string]string{}
	if a.Initial != a.ID {
		ids["initial_transaction_id"] = transaction.Shown(a.Initial)
	}
	if a.Reference != "" {
		ids["reference_id"] = a.Reference
	}
	return ids
}

// Result is what became of a call.
type Result struct {
	Order  Order
	IFTSTA Dispatch
	Advice string // what the reporter should consider, may be empty
	// Receipt is what became of a market event.
	Receipt Receipt
	// Reset are the orders whose outcomes are sent again, see ResetSome.
	Reset []Order

	// Answered is the answer that is kept for a call with an Attempt, and that alone is
	// what the caller may be told. It also stands beside the error of a refusal.
	Answered *Answered

	send    bool // the outcome is owed to a Lieferant
	rebuilt bool // an earlier call had done it, and the record of that is gone
}

// replayed reports whether an earlier call has done what this one asked for.
func (r Result) replayed() bool { return r.Answered != nil && r.Answered.Replayed }

// Answered is an answer that is kept.
type Answered struct {
	transaction.Answer
	LogicalID string    // of the operation
	OrderID   uuid.UUID // zero: it concerned no order
	Replayed  bool      // an earlier call has got it already
}

// isRefusal reports whether err is an answer in itself: nothing of it changes when the
// same call comes again. Everything else, a database in trouble above all, is no answer,
// and the call is judged anew.
func isRefusal(err error) bool {
	_, closed := errors.AsType[*NotPendingError](err)
	_, nothing := errors.AsType[*NothingToResetError](err)
	_, invalid := errors.AsType[*ValidationError](err)
	return closed || nothing || invalid || errors.Is(err, ErrNotFound) || isReplayRefusal(err)
}

// once does change in a transaction of its own, and then reports the outcome, if it
// closed an order, to makod. With an Attempt it does so once for the operation that the
// call belongs to, and every other call gets the answer of that one.
//
// An error is what change returns, a *transaction.ConflictError, transaction.ErrInProgress,
// or trouble of the database, after which nobody knows whether the change was made:
// with an Attempt the same call finds out.
func (s *Service) once(ctx context.Context, call Call, change func(ctx context.Context, tx pgx.Tx) (Result, error)) (Result, error) {
	if call.Attempt == nil {
		claimed := s.Now() // before the lease is taken: see claim.until
		var result Result
		err := s.transact(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
			result, err = change(ctx, tx)
			return err
		})
		if err != nil {
			return Result{}, err
		}
		return s.report(ctx, claimed, result), nil
	}
	waiting, cancel := context.WithTimeout(ctx, s.TwinWait)
	defer cancel()
	for round, over := 1, false; ; round++ {
		record, found, err := s.transactions.Find(ctx, *call.Attempt, s.now())
		switch {
		case errors.Is(err, transaction.ErrInProgress):
		case err != nil:
			return Result{}, err
		case found && record.Final:
			return replay(record), nil
		case !found:
			if result, err := s.first(ctx, call, change); !errors.Is(err, errTaken) {
				return result, err
			}
		}
		if !over {
			over = !s.pause(waiting, call.Attempt.Initial, round) // and one more look then
			continue
		}
		if !found {
			return Result{}, transaction.ErrInProgress
		}
		// The call that did the work has died, or makod keeps it waiting: what it wrote
		// down before it asked makod stands.
		record.Answer, err = s.transactions.Settle(ctx, record.LogicalID, nil, s.now())
		if err != nil {
			return Result{}, err
		}
		return replay(record), nil
	}
}

func replay(r transaction.Record) Result {
	return Result{Answered: &Answered{Answer: r.Answer, LogicalID: r.LogicalID, OrderID: r.OrderID, Replayed: true}}
}

// errTaken means that another call does the operation, or has done it.
var errTaken = errors.New("another call has the transaction")

// first does the operation of a call that nobody has done, or refuses it, and keeps the
// answer in the same transaction.
func (s *Service) first(ctx context.Context, call Call, change func(ctx context.Context, tx pgx.Tx) (Result, error)) (Result, error) {
	end := func() {}
	defer func() { end() }()
	claimed := s.Now() // before the lease is taken: see claim.until
	var result Result
	var refusal error
	var answer transaction.Answer
	err := s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error {
		ok, err := s.transactions.Claim(ctx, tx, *call.Attempt, s.now())
		if err != nil {
			return err
		}
		if !ok {
			return errTaken
		}
		end = s.underWay.begin(call.Attempt.Initial)
		// What a refused change has written is undone; its answer stays.
		refusal = pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) (err error) {
			result, err = change(ctx, tx)
			return err
		})
		if refusal != nil && !isRefusal(refusal) {
			return refusal
		}
		if answer, err = call.Answer(result, refusal); err != nil {
			return err
		}
		return s.transactions.Keep(ctx, tx, *call.Attempt, transaction.Entry{
			OrderID: result.Order.ID, Answer: answer, Provisional: refusal == nil && result.send, At: s.now(),
		})
	})
	if err != nil {
		return Result{}, err
	}
	if refusal == nil && result.send {
		result = s.report(ctx, claimed, result)
		if answer, err = s.settle(ctx, call, result, answer); err != nil {
			return Result{}, err
		}
	}
	result.Answered = &Answered{Answer: answer, LogicalID: call.Attempt.Initial, OrderID: result.Order.ID, Replayed: result.rebuilt}
	return result, refusal
}

// settle makes what makod said the answer of an operation, unless a twin has not waited
// for it. Where the database refuses it, provisional stands, which says no more than is
// known. An error means that nobody knows which of the two stands: the same call finds out.
func (s *Service) settle(ctx context.Context, call Call, result Result, provisional transaction.Answer) (transaction.Answer, error) {
	answer, err := call.Answer(result, nil)
	if err != nil {
		return transaction.Answer{}, err
	}
	settled, err := s.settleOnce(ctx, call, answer)
	if postgres.IsUnavailable(err) { // it may have been written: whichever stands, this reads it
		settled, err = s.settleOnce(ctx, call, answer)
	}
	if err == nil || postgres.IsUnavailable(err) {
		return settled, err
	}
	s.Logger.WarnContext(ctx, "answer of a transaction not settled: the one written before makod was asked stands",
		"order_id", result.Order.ID, "transaction_id", transaction.Shown(call.Attempt.ID), "error", err)
	return provisional, nil
}

// settleTimeout bounds one try to settle.
const settleTimeout = 5 * time.Second

func (s *Service) settleOnce(ctx context.Context, call Call, answer transaction.Answer) (transaction.Answer, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	return s.transactions.Settle(ctx, call.Attempt.Initial, &answer, s.now())
}
