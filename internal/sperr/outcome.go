package sperr

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/werktag"
)

// maxSperrversuche is how often the Netzbetreiber goes there within one order
// (GPKE Teil 2 § 3.5.1.2 Nr. 5).
const maxSperrversuche = 2

// ExecuteReport is the field team's report that the act was done.
type ExecuteReport struct {
	Note             string
	ExecutedAt       *string // RFC 3339 with offset; nil: now
	PruefschrittCode *string
}

// FailReport is the field team's report of a visit in vain.
type FailReport struct {
	Reason           string // never blank
	PruefschrittCode *string
	Endgueltig       bool    // a legal or factual impossibility: no second visit
	VersuchAm        *string // RFC 3339 with offset; nil: now
}

// Report is what became of a field report. The report itself is always recorded.
type Report struct {
	Order  Order
	IFTSTA Dispatch
	Advice string // what the reporter should consider, may be empty
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
	lease               time.Duration // how long the dispatch that follows may take
	at                  time.Time
}

// visit is a failed visit that leaves the order pending.
type visit struct {
	visitedAt time.Time
	reason    string
	warnungen []string
	at        time.Time
}

// Execute records that the order was carried out and reports it to makod. Of
// concurrent Execute, Fail and Cancel exactly one wins; the others get a
// *NotPendingError. A report against a rule is a *ValidationError. A client that
// hangs up aborts nothing.
func (s *Service) Execute(ctx context.Context, actor string, id uuid.UUID, r ExecuteReport) (Report, error) {
	order, err := s.repo.Get(ctx, id)
	if err != nil {
		return Report{}, err
	}
	if order.Status != StatusPending {
		return Report{}, &NotPendingError{Order: order}
	}
	c, err := s.executed(order, r)
	if err != nil {
		return Report{}, err
	}
	claimed := s.Now() // before the lease is taken: see claim.until
	closed, err := s.closeOrder(ctx, actor, order, c)
	if err != nil {
		return Report{}, err
	}
	return s.report(ctx, claimed, closed), nil
}

// executed decides what an execute report writes.
func (s *Service) executed(order Order, r ExecuteReport) (closing, error) {
	now := s.now()
	c := closing{status: StatusExecuted, executionNote: nullable(r.Note), executedAt: &now, lease: s.Lease, at: now}
	if r.ExecutedAt != nil {
		at, err := fieldTime("executed_at", *r.ExecutedAt, now)
		if err != nil {
			return closing{}, err
		}
		c.executedAt = &at
	}
	invalid := &ValidationError{Subject: SubjectReport}
	checkText(invalid, "note", r.Note, maxFreeText)
	if err := invalid.err(); err != nil {
		return closing{}, err
	}
	code, warnings, err := pruefschrittCode(codeReport{
		order: order, outcome: StatusExecuted, code: r.PruefschrittCode, text: r.Note, closes: true,
	}, s.PruefschrittCheck, werktag.BerlinDay(now))
	if err != nil {
		return closing{}, err
	}
	c.pruefschrittCode = code
	c.warnungen = append(warnings, fieldTimeWarnings("executed_at", *c.executedAt, now, order)...)
	c.warnungen = append(c.warnungen, latin1Warning("note", r.Note)...)
	s.setIFTSTAFrist(&c, order, *c.executedAt)
	c.warnungen = order.newWarnings(c.warnungen)
	return c, nil
}

// Fail records a visit in vain. The first one leaves the order pending, since the
// Netzbetreiber owes a second; the second one closes it, and so does a first one
// that is endgueltig or that met active refusal of access, after which no further
// visit is made (GPKE Teil 2 § 3.5.1.1). A closed order is reported to makod.
// Errors and concurrency are those of Execute.
func (s *Service) Fail(ctx context.Context, actor string, id uuid.UUID, r FailReport) (Report, error) {
	r.Reason = strings.TrimSpace(r.Reason)
	for {
		order, err := s.repo.Get(ctx, id)
		if err != nil {
			return Report{}, err
		}
		if order.Status != StatusPending {
			return Report{}, &NotPendingError{Order: order}
		}
		report, decided, err := s.failOnce(ctx, actor, order, r)
		if err != nil || decided {
			return report, err
		}
		// Another visit was recorded meanwhile: the report is judged again. There
		// are at most maxSperrversuche of them, so this ends.
	}
}

// failOnce judges the report against order and writes it; decided is false where
// the order's count of visits is no longer the one judged.
func (s *Service) failOnce(ctx context.Context, actor string, order Order, r FailReport) (report Report, decided bool, err error) {
	f, err := s.failed(order, r)
	if err != nil {
		return Report{}, false, err
	}
	if !f.closes {
		recorded, ok, err := s.recordVisit(ctx, actor, order, f)
		return Report{Order: recorded, Advice: f.advice}, ok, err
	}
	claimed := s.Now() // before the lease is taken: see claim.until
	closed, err := s.closeOrder(ctx, actor, order, f.closing)
	if errors.Is(err, errVisitMeanwhile) {
		return Report{}, false, nil
	}
	if err != nil {
		return Report{}, false, err
	}
	return s.report(ctx, claimed, closed), true, nil
}

// failure is a judged fail report.
type failure struct {
	closes  bool
	closing closing // where it closes
	visit   visit   // where it does not
	code    *string
	advice  string
}

// failed decides what a fail report writes.
func (s *Service) failed(order Order, r FailReport) (failure, error) {
	now := s.now()
	visitedAt := now
	if r.VersuchAm != nil {
		var err error
		if visitedAt, err = fieldTime("versuch_am", *r.VersuchAm, now); err != nil {
			return failure{}, err
		}
	}
	invalid := &ValidationError{Subject: SubjectReport}
	if r.Reason == "" {
		invalid.add("reason", "must not be blank")
	}
	checkText(invalid, "reason", r.Reason, maxFreeText)
	if err := invalid.err(); err != nil {
		return failure{}, err
	}
	refused := order.OrderType == TypeSperrung && text(r.PruefschrittCode) == codeZutrittVerweigert
	closes := r.Endgueltig || refused || order.Sperrversuche+1 >= maxSperrversuche
	code, warnings, err := pruefschrittCode(codeReport{
		order: order, outcome: StatusFailed, code: r.PruefschrittCode, text: r.Reason, closes: closes,
	}, s.PruefschrittCheck, werktag.BerlinDay(now))
	if err != nil {
		return failure{}, err
	}
	warnings = append(warnings, fieldTimeWarnings("versuch_am", visitedAt, now, order)...)
	warnings = append(warnings, latin1Warning("reason", r.Reason)...)
	if !closes {
		v := visit{visitedAt: visitedAt, reason: r.Reason, warnungen: order.newWarnings(warnings), at: now}
		return failure{visit: v, code: code, advice: adviceFirstVisit(order, code)}, nil
	}
	attempts := min(order.Sperrversuche+1, maxSperrversuche)
	c := closing{
		status: StatusFailed, failReason: &r.Reason, pruefschrittCode: code, warnungen: warnings,
		seenSperrversuche: &order.Sperrversuche, sperrversuche: &attempts,
		letzterVersuchAm: &visitedAt, letzterVersuchGrund: &r.Reason, lease: s.Lease, at: now,
	}
	s.setIFTSTAFrist(&c, order, visitedAt)
	c.warnungen = order.newWarnings(c.warnungen)
	return failure{closes: true, closing: c, code: code}, nil
}

// adviceFirstVisit is what a first visit with a code that leaves no room for a
// second one should make the reporter consider.
func adviceFirstVisit(order Order, code *string) string {
	if order.OrderType == TypeSperrung && (text(code) == "A01" || text(code) == "A04") {
		return fmt.Sprintf("with %s the Lieferant clears the obstacle and orders anew: report endgueltig: true to close the order", *code)
	}
	return ""
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
func (s *Service) closeOrder(ctx context.Context, actor string, order Order, c closing) (closed Order, err error) {
	err = s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error {
		var ok bool
		closed, ok, err = s.repo.close(ctx, tx, order.ID, c)
		if err != nil {
			return err
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
			return err
		}
		return s.record(ctx, tx, e, change{
			order: closed, actor: actor, action: action, from: StatusPending, at: c.at,
			detail: map[string]any{"pruefschritt_code": c.pruefschrittCode, "sperrversuche": closed.Sperrversuche},
		})
	})
	return closed, err
}

// recordVisit writes the first visit in vain: state, history and event together.
func (s *Service) recordVisit(ctx context.Context, actor string, order Order, f failure) (recorded Order, ok bool, err error) {
	err = s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error {
		recorded, ok, err = s.repo.recordVisit(ctx, tx, order.ID, f.visit)
		if err != nil || !ok {
			return err
		}
		e, err := versuchGescheitert(recorded, f.visit.at)
		if err != nil {
			return err
		}
		return s.record(ctx, tx, e, change{
			order: recorded, actor: actor, action: actionVisitFailed, from: StatusPending, at: f.visit.at,
			detail: map[string]any{"pruefschritt_code": f.code, "sperrversuche": recorded.Sperrversuche},
		})
	})
	return recorded, ok, err
}

// errVisitMeanwhile means that the order is still pending, but a visit was recorded
// since it was read.
var errVisitMeanwhile = errors.New("a visit was recorded meanwhile")

// lostRace says why a guarded UPDATE found nothing: there is no such order, it is
// closed, or, where the guard held the count of visits, errVisitMeanwhile.
func (s *Service) lostRace(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	order, err := s.repo.get(ctx, tx, id)
	if err != nil {
		return err
	}
	if order.Status == StatusPending {
		return errVisitMeanwhile
	}
	return &NotPendingError{Order: order}
}
