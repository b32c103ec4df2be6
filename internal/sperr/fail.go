package sperr

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/transaction"
)

// maxSperrversuche is how often the Netzbetreiber goes there within one order
// (GPKE Teil 2 § 3.5.1.2 Nr. 5).
const maxSperrversuche = 2

// FailReport is the field team's report of a visit in vain.
type FailReport struct {
	Reason           string // never blank
	PruefschrittCode *string
	Endgueltig       bool    // a legal or factual impossibility: no second visit
	VersuchAm        *string // RFC 3339 with offset; nil: now
}

// visit is a failed visit that leaves the order pending.
type visit struct {
	visitedAt   time.Time
	reason      string
	transaktion *string // logical id of the call; nil: it has none
	warnungen   []string
	at          time.Time
}

// Fail records a visit in vain. The first one leaves the order pending, since the
// Netzbetreiber owes a second; the second one closes it, and so does a first one
// that is endgueltig or that met active refusal of access, after which no further
// visit is made (GPKE Teil 2 § 3.5.1.1). A closed order is reported to makod.
// Errors and concurrency are those of Execute.
func (s *Service) Fail(ctx context.Context, call Call, id uuid.UUID, r FailReport) (Result, error) {
	r.Reason = strings.TrimSpace(r.Reason)
	return s.once(ctx, call, func(ctx context.Context, tx pgx.Tx) (result Result, err error) {
		// Where another visit was recorded meanwhile, the report is judged again. There
		// are at most maxSperrversuche of them, so this ends.
		for err = errVisitMeanwhile; errors.Is(err, errVisitMeanwhile); {
			result, err = s.failOnce(ctx, tx, call, id, r)
		}
		return result, err
	})
}

// failOnce judges the report against the order as it stands and writes it. It is
// errVisitMeanwhile where the order's count of visits is no longer the one judged.
func (s *Service) failOnce(ctx context.Context, tx pgx.Tx, call Call, id uuid.UUID, r FailReport) (Result, error) {
	order, err := s.repo.pending(ctx, tx, id)
	if err != nil {
		return Result{Order: order}, err
	}
	if call.Attempt != nil && text(order.LetzterVersuchTransaktion) == call.Attempt.Initial {
		return s.visitedBefore(ctx, tx, call, order, r)
	}
	f, err := s.failed(order, r)
	if err != nil {
		return Result{Order: order}, err
	}
	if !f.closes {
		return s.recordVisit(ctx, tx, call, order, f)
	}
	return s.closeOrder(ctx, tx, call, order, f.closing)
}

// visitedBefore is the result of a call that has reported this very visit already,
// although nothing but the order itself remembers that: it is no second visit.
func (s *Service) visitedBefore(ctx context.Context, tx pgx.Tx, call Call, order Order, r FailReport) (Result, error) {
	tree, err := s.pruefschritte(order)
	if err != nil {
		return Result{}, err
	}
	actor, code, err := s.repo.doneOnce(ctx, tx, order.ID, actionVisitFailed)
	switch {
	case err != nil:
		return Result{}, err
	case actor != call.Actor:
		return Result{}, &transaction.ConflictError{Reason: transaction.ReasonPrincipal}
	case r.closesAtOnce(tree) || !order.visitedAs(r) || r.PruefschrittCode != nil && *r.PruefschrittCode != code:
		return Result{}, &transaction.ConflictError{Reason: transaction.ReasonContent}
	}
	return Result{Order: order, Advice: adviceFirstVisit(tree, r.PruefschrittCode), rebuilt: true}, nil
}

// visitedAs reports whether r may be the report of the visit that o was last left with. A
// report of another moment is another one, but for what was corrected in the time of a
// device that runs ahead.
func (o Order) visitedAs(r FailReport) bool {
	if r.Reason != text(o.LetzterVersuchGrund) {
		return false
	}
	if r.VersuchAm == nil || o.LetzterVersuchAm == nil {
		return true
	}
	at, err := parseRFC3339(*r.VersuchAm)
	return err == nil && at.Sub(*o.LetzterVersuchAm).Abs() <= clockSkew
}

// closesAtOnce reports whether r closes an order of the tree at whatever visit.
func (r FailReport) closesAtOnce(tree []Pruefschritt) bool {
	return r.Endgueltig || onFirstVisit(tree, r.PruefschrittCode) == FirstVisitCloses
}

// onFirstVisit is what a failed first visit with the code means; empty where it has none,
// or one that the tree does not know.
func onFirstVisit(tree []Pruefschritt, code *string) FirstVisit {
	p, _ := findPruefschritt(pruefschritteOf(tree, StatusFailed), code)
	return p.FirstVisit
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
	tree, err := s.pruefschritte(order)
	if err != nil {
		return failure{}, err
	}
	invalid := &ValidationError{Subject: SubjectReport}
	visitedAt := fieldTime(invalid, "versuch_am", r.VersuchAm, now)
	closes := r.closesAtOnce(tree) || order.Sperrversuche+1 >= maxSperrversuche
	code, warnings := codeReport{
		order: order, outcome: StatusFailed, code: r.PruefschrittCode, reason: r.Reason, closes: closes, tree: tree,
	}.judge(invalid, s.PruefschrittCheck)
	if !isBlank(r.Reason) {
		checkText(invalid, "reason", r.Reason, maxFreeText)
	}
	if err := invalid.err(); err != nil {
		return failure{}, err
	}
	warnings = append(warnings, fieldTimeWarnings("versuch_am", visitedAt, now, order)...)
	warnings = append(warnings, latin1Warning("reason", r.Reason)...)
	if !closes {
		v := visit{visitedAt: visitedAt, reason: r.Reason, warnungen: order.newWarnings(warnings), at: now}
		return failure{visit: v, code: code, advice: adviceFirstVisit(tree, code)}, nil
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
func adviceFirstVisit(tree []Pruefschritt, code *string) string {
	if onFirstVisit(tree, code) == FirstVisitAdviseEndgueltig {
		return fmt.Sprintf("with %s the Lieferant clears the obstacle and orders anew: report endgueltig: true to close the order", *code)
	}
	return ""
}

// recordVisit writes the first visit in vain: state, history and event together.
func (s *Service) recordVisit(ctx context.Context, tx pgx.Tx, call Call, order Order, f failure) (Result, error) {
	f.visit.transaktion = call.logicalID()
	recorded, ok, err := s.repo.recordVisit(ctx, tx, order.ID, f.visit)
	if err != nil {
		return Result{}, err
	}
	if !ok {
		return s.lostRace(ctx, tx, order.ID)
	}
	e, err := versuchGescheitert(recorded, f.visit.at)
	if err != nil {
		return Result{}, err
	}
	return Result{Order: recorded, Advice: f.advice}, s.record(ctx, tx, call, e, change{
		order: recorded, action: actionVisitFailed, from: StatusPending, at: f.visit.at,
		detail: map[string]any{"pruefschritt_code": f.code, "sperrversuche": recorded.Sperrversuche},
	})
}
