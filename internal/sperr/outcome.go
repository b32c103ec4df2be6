package sperr

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/telemetry"
	"sperrd/internal/werktag"
)

// ExecuteReport is the field team's report that the act was done.
type ExecuteReport struct {
	Note             string
	ExecutedAt       *string // RFC 3339 with offset; nil: now
	PruefschrittCode *string
}

// closing is what a terminal report writes.
type closing struct {
	status              Status
	executedAt          *time.Time
	executionNote       *string
	failReason          *string
	pruefschrittCode    *string
	iftstaFaelligAm     *werktag.Date
	seenSperrversuche   *int // the report holds only if this is still the count; nil: whatever it is
	sperrversuche       *int // nil: unchanged
	letzterVersuchAm    *time.Time
	letzterVersuchGrund *string
	warnungen           []string
	traceparent         *string       // W3C, of the call; nil: it is in no trace
	transaktion         *string       // logical id of the call; nil: it has none
	lease               time.Duration // how long the dispatch that follows may take
	at                  time.Time
}

// Execute records that the order was carried out and reports it to makod. Of
// concurrent Execute, Fail and Cancel exactly one wins; the others get a
// *NotPendingError. A report against a rule is a *ValidationError. A client that
// hangs up aborts nothing. For a call with an Attempt see once.
func (s *Service) Execute(ctx context.Context, call Call, id uuid.UUID, r ExecuteReport) (Result, error) {
	return s.once(ctx, call, func(ctx context.Context, tx pgx.Tx) (Result, error) {
		order, err := s.repo.pending(ctx, tx, id)
		if err != nil {
			return Result{Order: order}, err
		}
		c, err := s.executed(order, r)
		if err != nil {
			return Result{Order: order}, err
		}
		return s.closeOrder(ctx, tx, call, order, c)
	})
}

// executed decides what an execute report writes.
func (s *Service) executed(order Order, r ExecuteReport) (closing, error) {
	now := s.now()
	tree, err := s.pruefschritte(order)
	if err != nil {
		return closing{}, err
	}
	invalid := &ValidationError{Subject: SubjectReport}
	executedAt := fieldTime(invalid, "executed_at", r.ExecutedAt, now)
	code, warnings := codeReport{
		order: order, outcome: StatusExecuted, code: r.PruefschrittCode, closes: true, tree: tree,
	}.judge(invalid, s.PruefschrittCheck)
	checkText(invalid, "note", r.Note, maxFreeText)
	if err := invalid.err(); err != nil {
		return closing{}, err
	}
	c := closing{
		status: StatusExecuted, executionNote: nullable(r.Note), executedAt: &executedAt, pruefschrittCode: code, lease: s.Lease, at: now,
	}
	c.warnungen = append(warnings, fieldTimeWarnings("executed_at", executedAt, now, order)...)
	c.warnungen = append(c.warnungen, latin1Warning("note", r.Note)...)
	s.setIFTSTAFrist(&c, order, executedAt)
	c.warnungen = order.newWarnings(c.warnungen)
	return c, nil
}

// pruefschritte are the codes of the order's tree that are in force today.
func (s *Service) pruefschritte(order Order) ([]Pruefschritt, error) {
	return Pruefschritte(werktag.BerlinDay(s.now()), order.OrderType, "")
}

// setIFTSTAFrist counts the IFTSTA Frist from the Berlin day of the Abschluss.
func (s *Service) setIFTSTAFrist(c *closing, order Order, abschluss time.Time) {
	if !order.OwesIFTSTA() {
		return
	}
	day, err := IFTSTAFaelligAm(s.Calendar, werktag.BerlinDay(abschluss))
	frist, warnings := countedFrist("iftsta_faellig_am", day, err)
	c.iftstaFaelligAm, c.warnungen = frist, append(c.warnungen, warnings...)
}

// closeOrder writes a terminal outcome: state, history and event together.
func (s *Service) closeOrder(ctx context.Context, tx pgx.Tx, call Call, order Order, c closing) (Result, error) {
	c.transaktion, c.traceparent = call.logicalID(), telemetry.Traceparent(ctx)
	closed, ok, err := s.repo.close(ctx, tx, order.ID, c)
	if err != nil {
		return Result{}, err
	}
	if !ok {
		return s.lostRace(ctx, tx, order.ID)
	}
	event, action := ausgefuehrt, actionExecuted
	if c.status == StatusFailed {
		event, action = fehlgeschlagen, actionFailed
	}
	e, err := event(closed, c.at)
	if err != nil {
		return Result{}, err
	}
	err = s.record(ctx, tx, call, e, change{
		order: closed, action: action, from: StatusPending, at: c.at,
		detail: map[string]any{"pruefschritt_code": c.pruefschrittCode, "sperrversuche": closed.Sperrversuche},
	})
	if !closed.OwesIFTSTA() {
		return Result{Order: closed}, err
	}
	return Result{Order: closed, IFTSTA: DispatchUnknown, send: true}, err
}

// errVisitMeanwhile means that the order is still pending, but a visit was recorded
// since it was read.
var errVisitMeanwhile = errors.New("a visit was recorded meanwhile")

// lostRace says why a guarded UPDATE found nothing: there is no such order, it is
// closed, or, where the guard held the count of visits, errVisitMeanwhile.
func (s *Service) lostRace(ctx context.Context, tx pgx.Tx, id uuid.UUID) (Result, error) {
	order, err := s.repo.pending(ctx, tx, id)
	if err == nil {
		err = errVisitMeanwhile
	}
	return Result{Order: order}, err
}
