package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"

	"sperrd/internal/sperr"
	"sperrd/internal/telemetry"
	"sperrd/internal/transaction"
)

// readReplay takes a refused delivery to the queue once more, whose cause is gone. Its
// body is optional, and so is the reason in it.
func (s *server) readReplay(r *http.Request) (change, error) {
	id, reason, body, err := readSettling(r, s.decodeOptional)
	if err != nil {
		return change{}, err
	}
	return change{
		rejectID: id, body: body, answer: answerReplay,
		do: func(ctx context.Context, call sperr.Call) (sperr.Result, error) {
			result, err := s.replay(ctx, call, id, reason)
			if conflict, ok := errors.AsType[*sperr.ProcessConflictError](err); ok {
				noteOrder(r, conflict.OrderID)
			}
			if err == nil && (result.Answered == nil || !result.Answered.Replayed) {
				entryOf(r.Context()).add(slog.String("receipt", receiptNames[result.Receipt.Kind]))
			}
			return result, err
		},
	}, nil
}

// replay has a delivery replayed and counts what became of that.
func (s *server) replay(ctx context.Context, call sperr.Call, id uuid.UUID, reason string) (sperr.Result, error) {
	became, counts := telemetry.ReplayInternal, true // of a panic
	defer func() {
		if counts {
			s.Metrics.CountReplay(became)
		}
	}()
	result, err := s.Service.ReplayReject(ctx, call, id, reason, readKept)
	became, counts = replayResult(result, err)
	return result, err
}

// readDismiss ends the work on a refused delivery of which nothing comes.
func (s *server) readDismiss(r *http.Request) (change, error) {
	id, reason, body, err := readSettling(r, s.decode)
	if err != nil {
		return change{}, err
	}
	return change{
		rejectID: id, body: body, answer: answerDone,
		do: func(ctx context.Context, call sperr.Call) (sperr.Result, error) {
			return s.Service.DismissReject(ctx, call, id, reason)
		},
	}, nil
}

// readSettling reads which delivery is to be settled and why.
func readSettling(r *http.Request, decode func(*http.Request, any) ([]byte, error)) (id uuid.UUID, reason string, body []byte, err error) {
	if id, err = rejectID(r); err != nil {
		return id, "", nil, err
	}
	var why struct {
		Reason string `json:"reason"`
	}
	body, err = decode(r, &why)
	return id, why.Reason, body, err
}

// readKept reads a kept delivery by the code of the webhook. What that would answer with a
// 4xx is no fault of the request that asks for the delivery.
func readKept(headers sperr.EventHeaders, body []byte) (event.Event, error) {
	e, err := readEvent(headerOf(headers), body)
	if err != nil && problemOf(err).Status < http.StatusInternalServerError {
		err = &sperr.UnreadableError{Cause: err}
	}
	return e, err
}

// replayed is the answer to a replay of which no new order came.
type replayed struct {
	Receipt string     `json:"receipt"`
	ID      *uuid.UUID `json:"id"` // of the order it concerns
}

func answerReplay(result sperr.Result) (transaction.Answer, error) {
	receipt := result.Receipt
	if receipt.Kind == sperr.ReceiptQueued {
		answer, err := newAnswer(http.StatusCreated, "application/json", map[string]uuid.UUID{"id": receipt.OrderID})
		if err != nil {
			return transaction.Answer{}, err
		}
		answer.Header["Location"] = orderPath(receipt.OrderID)
		return answer, nil
	}
	told := replayed{Receipt: receiptNames[receipt.Kind]}
	if receipt.OrderID != uuid.Nil {
		told.ID = &receipt.OrderID
	}
	return newAnswer(http.StatusOK, "application/json", told)
}

// describeSettled says how a delivery was settled, and nothing of by whom.
func (p *problem) describeSettled(reject sperr.WebhookReject) {
	p.Settlement, p.SettledAt, p.OrderID = *reject.Settlement, reject.SettledAt, reject.OrderID
	p.Detail = fmt.Sprintf("The delivery was %s at %s", p.Settlement, reject.SettledAt.UTC().Format(time.RFC3339))
	if reject.OrderID != nil {
		p.Detail += fmt.Sprintf(" and belongs to order %s", *reject.OrderID)
	}
	p.Detail += ". Nothing was done."
}

// describeUnreadable says what the webhook would say of a kept delivery.
func (p *problem) describeUnreadable(cause error) {
	would := problemOf(cause)
	p.Detail, p.Errors = "The delivery still cannot be read: "+would.Detail, would.Errors
}
