package sperr

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"sperrd/internal/makod"
	"sperrd/internal/postgres"
)

// Dispatch says how far the IFTSTA of an outcome got.
type Dispatch int

// The IFTSTA of an outcome is not with makod (or none is owed), it is with makod and
// recorded as such, or nobody knows: a command was sent whose answer or record failed.
const (
	DispatchNone Dispatch = iota
	DispatchDone
	DispatchUnknown
)

// report dispatches the outcome that result is owed, if any, and says how that went. The
// client may be gone; the send and its record are finished all the same.
func (s *Service) report(ctx context.Context, claimed time.Time, result Result) Result {
	if result.send {
		result.IFTSTA = s.dispatch(ctx, claim{order: result.Order, first: true, until: claimed.Add(s.Lease)})
	}
	return result
}

// dispatch sends one claimed outcome and records the result, without waiting for its
// turn. Whatever is not DispatchDone is the business of the retry worker from then on; so
// is a result that cannot be recorded now.
func (s *Service) dispatch(ctx context.Context, c claim) Dispatch {
	s.pace.count()
	a := s.send(ctx, c)
	ends, err := s.endClaims(ctx, []attempt{a}, true)
	recorded := err == nil && ends[0].Ended
	if postgres.IsUnavailable(err) && s.unrecorded.add(a) {
		s.retry.Set()
	} else {
		s.tell(ctx, a, recorded, err)
	}
	switch {
	case a.dispatched != nil && recorded:
		return DispatchDone
	case a.dispatched != nil || a.inVain.unklar:
		return DispatchUnknown
	default:
		return DispatchNone
	}
}

// iftstaPayload is what makod needs to write the IFTSTA 21039 (IFTSTA AHB 2.1
// § 7.2). Absent members are left out: makod takes a null reason for a reason.
type iftstaPayload struct {
	MaloID                  string `json:"malo_id"`
	LieferantID             string `json:"lf_mp_id"`
	ProcessID               string `json:"process_id"`
	AuftragsstatusQualifier string `json:"auftragsstatus_qualifier"`
	AuftragsstatusCode      string `json:"auftragsstatus_code"`
	PruefschrittCode        string `json:"pruefschritt_code,omitempty"`
	Fertigstellung          string `json:"fertigstellung,omitempty"` // DTM+293
	Note                    string `json:"note,omitempty"`
	Reason                  string `json:"reason,omitempty"`
}

// iftstaCommand is the command for an outcome, made of the stored order alone: a
// re-send hours later is the same bytes under the same key.
func iftstaCommand(o Order) makod.Command {
	payload := iftstaPayload{
		MaloID: o.MaloID, LieferantID: o.LieferantID, ProcessID: text(o.ProcessID),
		AuftragsstatusQualifier: o.OrderType.auftragsstatus(), AuftragsstatusCode: o.Status.iftstaCode(),
		PruefschrittCode: text(o.PruefschrittCode),
	}
	name := makod.CommandFehlgeschlagen
	if o.Status == StatusExecuted {
		name = makod.CommandBestaetigen
		payload.Note = text(o.ExecutionNote)
		// Whole minutes, rounded down, so that DTM+293 never lies after DTM+137
		// (condition [495]).
		payload.Fertigstellung = o.ExecutedAt.UTC().Truncate(time.Minute).Format(time.RFC3339)
	} else {
		payload.Reason = text(o.FailReason)
	}
	cmd := makod.Command{
		Name: name, Marktrolle: makod.MarktrolleNB, IdempotencyKey: "sperrd-iftsta-" + o.ID.String(), Payload: payload,
	}
	if id := o.reference(o.AbschlussTransaktion); makod.ValidID(id) { // an Idempotency-Key need not be one
		cmd.ReferenceID = strings.ToLower(id) // the id of an event may have capitals
	}
	return cmd
}

// command is what a claim sends. The payload and the key are the same each time; the
// transactionId is another one, which refers to the first (API-Guideline of EDI@Energy).
func (c claim) command() makod.Command {
	cmd := iftstaCommand(c.order)
	first := c.order.IFTSTATransaktion.String()
	if c.first {
		cmd.TransactionID = first
	} else {
		cmd.TransactionID, cmd.InitialTransactionID = uuid.NewString(), first
	}
	return cmd
}

// alreadyApplied reports whether makod refuses an execute because its process is
// executed already. After a send without an answer that is the answer. A failure
// has no such sign: a rejected process has other causes too.
func alreadyApplied(o Order, err error) bool {
	var answer *makod.Error
	return o.Status == StatusExecuted && errors.As(err, &answer) &&
		answer.Code == makod.CodeInvalidState && answer.Found == makod.StateAusgefuehrt
}
