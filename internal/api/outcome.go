package api

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"sperrd/internal/sperr"
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

// writeReport answers a field report.
func writeReport(w http.ResponseWriter, report sperr.Report) error {
	order := report.Order
	if order.Status == sperr.StatusPending {
		note := noteFirstVisit
		if report.Advice != "" {
			note += " Note: " + report.Advice + "."
		}
		return writeJSON(w, http.StatusAccepted, recorded{
			Recorded: true, Status: order.Status, Sperrversuche: order.Sperrversuche, Note: note,
		})
	}
	if report.IFTSTA == sperr.DispatchDone || !order.OwesIFTSTA() {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	note := noteQueued
	if report.IFTSTA == sperr.DispatchUnknown {
		note = noteUnknown
	}
	return writeJSON(w, http.StatusAccepted, recorded{Recorded: true, Status: order.Status, Note: note})
}

func (s *server) handleExecute(w http.ResponseWriter, r *http.Request) error {
	id, err := orderID(r)
	if err != nil {
		return err
	}
	var body struct {
		Note             string  `json:"note"`
		ExecutedAt       *string `json:"executed_at"`
		PruefschrittCode *string `json:"pruefschritt_code"`
	}
	if err := s.decodeOptional(r, &body); err != nil {
		return err
	}
	ctx, cancel := bounded(r)
	defer cancel()
	report, err := s.Service.Execute(ctx, actor(r), id, sperr.ExecuteReport{
		Note: body.Note, ExecutedAt: body.ExecutedAt, PruefschrittCode: body.PruefschrittCode,
	})
	if err != nil {
		return err
	}
	return writeReport(w, report)
}

func (s *server) handleFail(w http.ResponseWriter, r *http.Request) error {
	id, err := orderID(r)
	if err != nil {
		return err
	}
	var body struct {
		Reason           string  `json:"reason"`
		PruefschrittCode *string `json:"pruefschritt_code"`
		Endgueltig       bool    `json:"endgueltig"`
		VersuchAm        *string `json:"versuch_am"`
	}
	if err := s.decode(r, &body); err != nil {
		return err
	}
	ctx, cancel := bounded(r)
	defer cancel()
	report, err := s.Service.Fail(ctx, actor(r), id, sperr.FailReport{
		Reason: body.Reason, PruefschrittCode: body.PruefschrittCode, Endgueltig: body.Endgueltig, VersuchAm: body.VersuchAm,
	})
	if err != nil {
		return err
	}
	return writeReport(w, report)
}

func (s *server) handleCancel(w http.ResponseWriter, r *http.Request) error {
	return s.withReason(w, r, s.Service.Cancel)
}

// handleResetIFTSTA begins a new cycle of attempts for an outcome that its Lieferant
// does not know yet.
func (s *server) handleResetIFTSTA(w http.ResponseWriter, r *http.Request) error {
	return s.withReason(w, r, s.Service.ResetIFTSTA)
}

// withReason does what takes an order and, in an optional body, the reason for it.
func (s *server) withReason(
	w http.ResponseWriter, r *http.Request, do func(ctx context.Context, actor string, id uuid.UUID, reason string) error,
) error {
	id, err := orderID(r)
	if err != nil {
		return err
	}
	var body struct {
		Reason string `json:"reason"`
	}
	if err := s.decodeOptional(r, &body); err != nil {
		return err
	}
	ctx, cancel := bounded(r)
	defer cancel()
	if err := do(ctx, actor(r), id, body.Reason); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
