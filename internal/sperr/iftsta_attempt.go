package sperr

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/makod"
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

// attempt is a claim and what became of it.
type attempt struct {
	claim
	dispatched *dispatched // nil: in vain
	inVain     notDispatched
	duration   time.Duration // of the command; 0: nothing was sent
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
	giveBack bool // makod put us off, or nothing was sent: the attempt does not count
	wait     time.Duration
}

// actorService is the actor of what the service does by itself.
const actorService = "sperrd"

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
	if s.Now().Add(s.RequestTimeout).After(c.until) {
		return s.notSent(c, errLeaseTooShort)
	}
	started := s.Now()
	accepted, err := s.makod.Submit(context.WithoutCancel(ctx), iftstaCommand(c.order))
	a := attempt{claim: c, duration: s.Now().Sub(started)}
	switch own := text(c.order.ProcessID); {
	case err == nil:
		a.dispatched = &dispatched{ref: accepted.ProcessID}
		if accepted.ProcessID != own {
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
	switch reason {
	case errLeaseTooShort:
		n.text, n.code = reason.Error(), codeNotSent
	case errBusy:
		n.wait = busyWait
	case errPaused:
		n.wait = s.pace.paused(s.Now())
	}
	return attempt{claim: c, inVain: n}
}

const (
	// codeNotSent is the code of an attempt that ended before anything was sent.
	codeNotSent = "not_sent"
	// busyWait keeps what found no room from being claimed again at once.
	busyWait = 5 * time.Second
)

// judge says what a failed command means for the next attempt. What makod put off gives
// the attempt back and lets the retry worker wait.
func (s *Service) judge(c claim, cause error) notDispatched {
	n := notDispatched{text: truncate(cause.Error(), 500), code: codeNotSent, unklar: c.unklar}
	var answer *makod.Error
	if !errors.As(cause, &answer) {
		n.giveBack = true
		return n
	}
	n.code, n.unklar = answer.Code, c.unklar || answer.Unclear()
	if answer.Found != "" {
		n.code += ":" + answer.Found
	}
	switch {
	case answer.Postponed():
		n.giveBack, n.wait = true, min(max(answer.RetryAfter, time.Second), s.MaxBackoff)
		s.pace.pause(s.Now(), n.wait)
	case c.order.IFTSTAAttempts < s.repo.maxAttempts:
		n.wait = s.backoff(c.order.IFTSTAAttempts)
	}
	// After the last attempt there is nothing to wait for: the order is free at once to
	// be announced and to be reset.
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

// endClaims records what became of attempts, all of them in one transaction, and
// returns the orders of those that held their claim until now. Where it fails, the
// leases end by themselves and the attempts stay counted: nothing is lost.
func (s *Service) endClaims(ctx context.Context, attempts []attempt) (ended map[uuid.UUID]bool, err error) {
	ctx, cancel := s.detached(ctx)
	defer cancel()
	at := s.now()
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		ended = make(map[uuid.UUID]bool, len(attempts))
		done, err := s.repo.recordDispatched(ctx, tx, attempts, at)
		if err != nil {
			return err
		}
		lines := make([]change, len(done))
		for i, d := range done {
			ended[d.order.ID] = true
			lines[i] = change{
				order: d.order, actor: actorService, action: actionIFTSTADispatched, from: d.order.Status, at: at,
				detail: map[string]any{"attempts": d.order.IFTSTAAttempts, "iftsta_ref": d.ref, "reconciled": d.reconciled},
			}
		}
		if err := s.repo.appendHistory(ctx, tx, lines...); err != nil {
			return err
		}
		put, err := s.repo.recordNotDispatched(ctx, tx, attempts, at)
		for _, id := range put {
			ended[id] = true
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return ended, nil
}

// tell logs what became of an attempt; err is why it could not be recorded.
func (s *Service) tell(ctx context.Context, a attempt, recorded bool, err error) {
	log := s.Logger.With("order_id", a.order.ID, "process_id", text(a.order.ProcessID), "attempt", a.order.IFTSTAAttempts)
	if a.duration > 0 {
		log = log.With("duration", a.duration)
	}
	level, message := slog.LevelInfo, "IFTSTA dispatched"
	switch d := a.dispatched; {
	case d == nil && a.inVain.text == "":
		level, message = slog.LevelDebug, "IFTSTA not sent; the claim is given back"
	case d == nil:
		level, message = slog.LevelWarn, "IFTSTA not dispatched"
		log = log.With("code", a.inVain.code, "unklar", a.inVain.unklar, "wait", a.inVain.wait)
	default:
		log = log.With("iftsta_ref", d.ref, "reconciled", d.reconciled)
		if d.warning != "" {
			log.WarnContext(ctx, "makod booked the outcome on another process")
		}
	}
	switch {
	case err != nil:
		level, message = slog.LevelError, message+", but not recorded: the lease ends by itself"
		log = log.With("error", err)
	case !recorded:
		level, message = max(level, slog.LevelWarn), message+" after the lease had passed on: another claim decides"
	}
	log.Log(ctx, level, message)
}
