package sperr

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"sperrd/internal/loop"
	"sperrd/internal/makod"
)

// claim is the right to send one outcome once, until the lease ends.
type claim struct {
	order  Order // as it stands under the claim; IFTSTANextAttemptAt is the lease
	unklar bool  // an earlier send had no answer: this one may find its work done
	first  bool  // no command was sent under the order's transaction yet
	// until is when the lease ends on this process's clock. It is counted from before
	// the statement that took the lease, which runs on the database's clock, so that
	// the lease ends no earlier than this process believes.
	until time.Time
}

// attempt is a claim and what became of it.
type attempt struct {
	claim
	transactionID string      // of the command; empty: there was none
	dispatched    *dispatched // nil: in vain
	inVain        notDispatched
	duration      time.Duration // of the command; 0: nothing was sent
	span          trace.SpanContext
}

// dispatched is the record of a successful attempt.
type dispatched struct {
	ref        string
	reconciled bool   // makod had applied an earlier send
	warning    string // empty: none
}

// notDispatched is the record of an attempt in vain.
type notDispatched struct {
	text     string // makod's own words; empty: those of the attempt before stay
	code     string
	unklar   bool // this or an earlier send may have been applied
	unclear  bool // this one may have been
	giveBack bool // makod put us off, or nothing was sent: the attempt does not count
	wait     time.Duration
}

// The reasons for which a claimed outcome is not sent.
var (
	errLeaseTooShort = errors.New("not sent: the lease ended before makod could have answered")
	errStopping      = errors.New("not sent: the service stops")
	errPaused        = errors.New("not sent: makod has asked to wait")
	errBusy          = errors.New("not sent: as many commands as may be are on their way to makod")
)

// send submits one claimed outcome to makod, unless the answer could come when the
// lease has ended already.
func (s *Service) send(ctx context.Context, c claim) attempt {
	if loop.Passed(s.Now().Add(s.RequestTimeout), c.until) {
		return s.notSent(c, errLeaseTooShort)
	}
	if c.order.unreportable() {
		return s.notReportable(c)
	}
	started := s.Now()
	cmd := c.command()
	ctx, span := s.commandSpan(context.WithoutCancel(ctx), c, cmd)
	accepted, err := s.makod.Submit(ctx, cmd)
	a := attempt{claim: c, transactionID: cmd.TransactionID, duration: s.Now().Sub(started), span: span.SpanContext()}
	defer func() { endCommandSpan(span, a) }()
	// A 5xx may be a proxy's and says nothing of makod.
	if answer, ok := errors.AsType[*makod.Error](err); err == nil || ok && answer.Status/100 == 4 && !answer.Postponed() {
		s.pace.answered(c.order.ID)
	}
	switch own := text(c.order.ProcessID); {
	case err == nil:
		a.dispatched = &dispatched{ref: accepted.ProcessID}
		if !strings.EqualFold(accepted.ProcessID, own) { // a UUID put in by SQL may have capitals
			a.dispatched.warning = fmt.Sprintf("makod booked the outcome on process %s, not on the order's own: check both", accepted.ProcessID)
		}
	case c.unklar && alreadyApplied(c.order, err):
		a.dispatched = &dispatched{ref: own, reconciled: true}
	default:
		a.inVain = s.judge(c, err)
	}
	return a
}

// notSent ends a claim without a send: the attempt is given back. What makod last
// said stays on the order unless the lease is at fault, which an operator must know.
func (s *Service) notSent(c claim, reason error) attempt {
	n := notDispatched{unklar: c.unklar, giveBack: true}
	switch {
	case errors.Is(reason, errLeaseTooShort):
		n.text, n.code, n.wait = reason.Error(), codeNotSent, busyWait
	case errors.Is(reason, errBusy):
		n.wait = busyWait
	case errors.Is(reason, errPaused):
		n.wait = s.pace.paused(s.Now())
	}
	return attempt{claim: c, inVain: n}
}

// notReportable ends a claim whose outcome no command can carry. The attempt counts, so that
// the order is stuck in the end like one that makod keeps refusing.
func (s *Service) notReportable(c claim) attempt {
	return attempt{claim: c, inVain: notDispatched{
		text: "not sent: executed_at is no moment of the years 1 to 9999", code: codeNotReportable,
		unklar: c.unklar, wait: loop.Backoff(s.FirstBackoff, s.MaxBackoff, c.order.IFTSTAAttempts),
	}}
}

const (
	// codeNotReportable is the code of an outcome that no command can carry.
	codeNotReportable = "not_reportable"
	// codeNotSent is the code of an attempt that ended before anything was sent.
	codeNotSent = "not_sent"
	// busyWait keeps what found no room, or came too late, from being claimed again at once.
	busyWait = 5 * time.Second
)

// judge says what a failed command means for the next attempt. What makod put off gives
// the attempt back and lets the retry worker wait.
func (s *Service) judge(c claim, cause error) notDispatched {
	answer, known := errors.AsType[*makod.Error](cause)
	if !known { // the client has no other kind: whatever it is, nobody knows what it did
		return notDispatched{text: truncate(cause.Error(), 500), code: "unknown", unklar: true, unclear: true, wait: loop.Backoff(s.FirstBackoff, s.MaxBackoff, c.order.IFTSTAAttempts)}
	}
	n := notDispatched{text: truncate(answer.Error(), 500), code: answer.Code, unklar: c.unklar || answer.Unclear(), unclear: answer.Unclear()}
	if answer.Found != "" {
		n.code += ":" + answer.Found
	}
	switch {
	case answer.Postponed():
		n.giveBack, n.wait = true, min(max(answer.RetryAfter, time.Second), s.MaxBackoff)
		// One order that makod cannot serve must not hold up those that it can.
		if answer.RateLimited() || !s.pace.putOff(c.order.ID) {
			s.pace.pause(s.Now(), n.wait)
		}
	case c.order.IFTSTAAttempts < s.repo.maxAttempts:
		n.wait = loop.Backoff(s.FirstBackoff, s.MaxBackoff, c.order.IFTSTAAttempts)
	}
	// After the last attempt there is nothing to wait for: the order is free at once to
	// be announced and to be reset.
	return n
}
