package sperr

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"sperrd/internal/makod"
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

// claim is the right to send one outcome once, until the lease ends.
type claim struct {
	order  Order // as it stands under the claim; IFTSTANextAttemptAt is the lease
	unklar bool  // an earlier send had no answer: this one may find its work done
	// until is when the lease ends on this process's clock. It is counted from before
	// the statement that took the lease, which runs on the database's clock, so that
	// the lease ends no earlier than this process believes.
	until time.Time
}

// report dispatches the outcome of an order just closed and says how that went.
func (s *Service) report(ctx context.Context, claimed time.Time, order Order) Report {
	if !order.OwesIFTSTA() {
		return Report{Order: order}
	}
	// The client may be gone; the send and its record are finished all the same.
	ctx = context.WithoutCancel(ctx)
	return Report{Order: order, IFTSTA: s.dispatch(ctx, claim{order: order, until: claimed.Add(s.Lease)})}
}

// dispatch sends one claimed outcome to makod and records the result. Whatever is not
// DispatchDone stays queued and is logged here.
func (s *Service) dispatch(ctx context.Context, c claim) Dispatch {
	log := s.Logger.With("order_id", c.order.ID, "process_id", text(c.order.ProcessID), "attempt", c.order.IFTSTAAttempts)
	if s.Now().Add(s.RequestTimeout).After(c.until) {
		log.WarnContext(ctx, "IFTSTA not sent: the lease ends before an answer could come")
		s.recordNotDispatched(ctx, c, errLeaseTooShort)
		return DispatchNone
	}
	started := s.Now()
	accepted, err := s.makod.Submit(ctx, iftstaCommand(c.order))
	log = log.With("duration", s.Now().Sub(started))

	reconciled := c.unklar && alreadyApplied(c.order, err)
	if err != nil && !reconciled {
		n := s.recordNotDispatched(ctx, c, err)
		log.WarnContext(ctx, "IFTSTA not dispatched; the outcome stays queued", "code", n.code, "unklar", n.unklar)
		if n.unklar {
			return DispatchUnknown
		}
		return DispatchNone
	}
	d := dispatched{ref: accepted.ProcessID, reconciled: reconciled, at: s.now()}
	if reconciled {
		d.ref = text(c.order.ProcessID)
	}
	if d.ref != text(c.order.ProcessID) {
		d.warnungen = []string{fmt.Sprintf("makod booked the outcome on process %s, not on the order's own: check both", d.ref)}
		log.WarnContext(ctx, "makod booked the outcome on another process", "iftsta_ref", d.ref)
	}
	recorded, err := s.recordDispatched(ctx, c, d)
	if err != nil {
		log.ErrorContext(ctx, "IFTSTA dispatched, but not recorded; the outcome stays queued", "error", err)
		return DispatchUnknown
	}
	if !recorded {
		log.WarnContext(ctx, "IFTSTA dispatched after the lease had passed on; another claim decides")
		return DispatchUnknown
	}
	log.InfoContext(ctx, "IFTSTA dispatched", "iftsta_ref", d.ref, "reconciled", reconciled)
	return DispatchDone
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
	return makod.Command{
		Name: name, Marktrolle: makod.MarktrolleNB, IdempotencyKey: "sperrd-iftsta-" + o.ID.String(), Payload: payload,
	}
}

// alreadyApplied reports whether makod refuses an execute because its process is
// executed already. After a send without an answer that is the answer. A failure
// has no such sign: a rejected process has other causes too.
func alreadyApplied(o Order, err error) bool {
	var answer *makod.Error
	return o.Status == StatusExecuted && errors.As(err, &answer) &&
		answer.Code == makod.CodeInvalidState && answer.Found == makod.StateAusgefuehrt
}

// dispatched is the record of a successful attempt.
type dispatched struct {
	ref        string
	reconciled bool // makod had applied an earlier send
	warnungen  []string
	at         time.Time
}

// notDispatched is the record of an attempt in vain.
type notDispatched struct {
	text     string // makod's own words
	code     string
	unklar   bool // this or an earlier send may have been applied
	giveBack bool // makod put us off: the attempt does not count
	wait     time.Duration
	at       time.Time
}

func (s *Service) recordDispatched(ctx context.Context, c claim, d dispatched) (recorded bool, err error) {
	ctx, cancel := s.detached(ctx)
	defer cancel()
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		order, ok, err := s.repo.recordDispatched(ctx, tx, c.order.ID, c.order.IFTSTANextAttemptAt, d)
		if err != nil || !ok {
			return err
		}
		recorded = true
		return s.repo.appendHistory(ctx, tx, change{
			order: order, actor: actorService, action: actionIFTSTADispatched, from: order.Status, at: d.at,
			detail: map[string]any{"attempts": order.IFTSTAAttempts, "iftsta_ref": d.ref, "reconciled": d.reconciled},
		})
	})
	return recorded && err == nil, err
}

// actorService is the actor of what the service does by itself.
const actorService = "sperrd"

// errLeaseTooShort means that nothing was sent, since the answer might have come when
// another claim holds the order.
var errLeaseTooShort = errors.New("not sent: the lease ended before makod could have answered")

// recordNotDispatched ends a claim whose attempt did not get through and returns what
// it wrote. Where even that fails, the lease ends by itself and the attempt stays
// counted: nothing is lost.
func (s *Service) recordNotDispatched(ctx context.Context, c claim, cause error) notDispatched {
	n := s.judge(c, cause)
	ctx, cancel := s.detached(ctx)
	defer cancel()
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		return s.repo.recordNotDispatched(ctx, tx, c.order.ID, c.order.IFTSTANextAttemptAt, n)
	})
	if err != nil {
		s.Logger.ErrorContext(ctx, "result of an IFTSTA attempt not recorded", "order_id", c.order.ID, "error", err)
	}
	return n
}

// judge says what an attempt in vain means for the next one. What makod put off, and
// what was never sent, gives the attempt back.
func (s *Service) judge(c claim, cause error) notDispatched {
	n := notDispatched{text: truncate(cause.Error(), 500), unklar: c.unklar, at: s.now()}
	var answer *makod.Error
	if !errors.As(cause, &answer) {
		n.code, n.giveBack = "not_sent", true
		return n
	}
	n.code, n.unklar = answer.Code, c.unklar || answer.Unclear()
	if answer.Found != "" {
		n.code += ":" + answer.Found
	}
	if answer.Postponed() {
		n.giveBack, n.wait = true, min(max(answer.RetryAfter, time.Second), s.MaxBackoff)
		return n
	}
	n.wait = s.backoff(c.order.IFTSTAAttempts)
	return n
}

// backoff is the wait after the given number of attempts: the first one times four
// each time, up to the longest, spread over its second half so that what failed
// together does not come back together.
func (s *Service) backoff(attempts int) time.Duration {
	wait := s.FirstBackoff
	for range attempts - 1 {
		if wait >= s.MaxBackoff/4 {
			wait = s.MaxBackoff
			break
		}
		wait *= 4
	}
	wait = min(wait, s.MaxBackoff)
	return wait/2 + rand.N(wait/2+1)
}
