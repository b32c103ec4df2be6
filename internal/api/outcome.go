package api

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"sperrd/internal/sperr"
	"sperrd/internal/transaction"
)

// recorded is the body of a 202: the report is kept, and the Lieferant is not told
// yet. Note is true at the moment of recording; it promises nothing.
type recorded struct {
	Recorded         bool         `json:"recorded"`
	Status           sperr.Status `json:"status"`
	Sperrversuche    int          `json:"sperrversuche,omitzero"` // where the order stays pending
	IFTSTADispatched bool         `json:"iftsta_dispatched"`
	Note             string       `json:"note"`
}

// The notes of a 202.
const (
	noteQueued = "The outcome is recorded. makod has not taken the IFTSTA yet; it is sent again by itself until its attempts are spent. " +
		"The Lieferant does not know yet."
	noteUnknown = "The outcome is recorded. Whether makod has taken the IFTSTA is not known; it is sent again by itself until its attempts are spent. " +
		"The Lieferant may not know yet."
	noteFirstVisit = "The visit is recorded and the order stays pending: a second one is owed. " +
		"Nothing has been reported to the Lieferant."
)

// answerReport answers a field report.
func answerReport(result sperr.Result) (transaction.Answer, error) {
	order := result.Order
	if order.Status == sperr.StatusPending {
		note := noteFirstVisit
		if result.Advice != "" {
			note += " Note: " + result.Advice + "."
		}
		return newAnswer(http.StatusAccepted, "application/json", recorded{
			Recorded: true, Status: order.Status, Sperrversuche: order.Sperrversuche, Note: note,
		})
	}
	if result.IFTSTA == sperr.DispatchDone || !order.OwesIFTSTA() {
		return noContent(), nil
	}
	note := noteQueued
	if result.IFTSTA == sperr.DispatchUnknown {
		note = noteUnknown
	}
	return newAnswer(http.StatusAccepted, "application/json", recorded{Recorded: true, Status: order.Status, Note: note})
}

// answerDone answers what has nothing to tell.
func answerDone(sperr.Result) (transaction.Answer, error) { return noContent(), nil }

func (s *server) readExecute(r *http.Request) (change, error) {
	id, dryRun, err := reportOn(r)
	if err != nil {
		return change{}, err
	}
	var report struct {
		Note             string  `json:"note"`
		ExecutedAt       *string `json:"executed_at"`
		PruefschrittCode *string `json:"pruefschritt_code"`
	}
	body, err := s.decodeOptional(r, &report)
	if err != nil {
		return change{}, err
	}
	of := sperr.ExecuteReport{Note: report.Note, ExecutedAt: report.ExecutedAt, PruefschrittCode: report.PruefschrittCode}
	if dryRun {
		return previewed(func(ctx context.Context) (sperr.Preview, error) { return s.Service.PreviewExecute(ctx, id, of) }), nil
	}
	return change{
		orderID: id, body: body, answer: answerReport,
		do: func(ctx context.Context, call sperr.Call) (sperr.Result, error) {
			return s.Service.Execute(ctx, call, id, of)
		},
	}, nil
}

func (s *server) readFail(r *http.Request) (change, error) {
	id, dryRun, err := reportOn(r)
	if err != nil {
		return change{}, err
	}
	var report struct {
		Reason           string  `json:"reason"`
		PruefschrittCode *string `json:"pruefschritt_code"`
		Endgueltig       bool    `json:"endgueltig"`
		VersuchAm        *string `json:"versuch_am"`
	}
	body, err := s.decode(r, &report)
	if err != nil {
		return change{}, err
	}
	of := sperr.FailReport{
		Reason: report.Reason, PruefschrittCode: report.PruefschrittCode, Endgueltig: report.Endgueltig, VersuchAm: report.VersuchAm,
	}
	if dryRun {
		return previewed(func(ctx context.Context) (sperr.Preview, error) { return s.Service.PreviewFail(ctx, id, of) }), nil
	}
	return change{
		orderID: id, body: body, answer: answerReport,
		do: func(ctx context.Context, call sperr.Call) (sperr.Result, error) {
			return s.Service.Fail(ctx, call, id, of)
		},
	}, nil
}

func (s *server) readCancel(r *http.Request) (change, error) {
	return s.withReason(r, s.Service.Cancel)
}

// readResetIFTSTA begins a new cycle of attempts for an outcome that its Lieferant
// does not know yet.
func (s *server) readResetIFTSTA(r *http.Request) (change, error) {
	return s.withReason(r, s.Service.ResetIFTSTA)
}

// withReason reads what takes an order and, in an optional body, the reason for it.
func (s *server) withReason(
	r *http.Request, do func(ctx context.Context, call sperr.Call, id uuid.UUID, reason string) (sperr.Result, error),
) (change, error) {
	id, err := orderID(r)
	if err != nil {
		return change{}, err
	}
	var why struct {
		Reason string `json:"reason"`
	}
	body, err := s.decodeOptional(r, &why)
	if err != nil {
		return change{}, err
	}
	return change{
		orderID: id, body: body, answer: answerDone,
		do: func(ctx context.Context, call sperr.Call) (sperr.Result, error) { return do(ctx, call, id, why.Reason) },
	}, nil
}
