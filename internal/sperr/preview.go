package sperr

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"sperrd/internal/makod"
)

// Preview is what a report would do, decided by the functions that decide about a real
// one. Nothing of it is written, sent or counted.
type Preview struct {
	// Order is the order as the report would leave it; as it stands where Invalid is given.
	Order Order
	// Invalid says why the report would be refused. Nil: it is acceptable, and what
	// follows holds.
	Invalid *ValidationError

	PruefschrittCode *string        // that the report carries or is given; nil: none
	Warnungen        []string       // that the report adds to those of the order
	Advice           string         // what the reporter should consider, may be empty
	Command          *makod.Command // what would go to makod, without the ids of an attempt; nil: nothing would
}

// PreviewExecute tells what Execute would do with a report at this moment. It is
// ErrNotFound or a *NotPendingError where no report is taken; a report against a rule is
// no error here, but Preview.Invalid.
func (s *Service) PreviewExecute(ctx context.Context, id uuid.UUID, r ExecuteReport) (Preview, error) {
	order, err := s.repo.pending(ctx, s.pool, id)
	if err != nil {
		return Preview{}, err
	}
	c, err := s.executed(order, r)
	if err != nil {
		return refusedPreview(order, err)
	}
	return c.preview(order), nil
}

// PreviewFail tells what Fail would do with a report at this moment. Its errors are those
// of PreviewExecute.
func (s *Service) PreviewFail(ctx context.Context, id uuid.UUID, r FailReport) (Preview, error) {
	order, err := s.repo.pending(ctx, s.pool, id)
	if err != nil {
		return Preview{}, err
	}
	r.Reason = strings.TrimSpace(r.Reason)
	f, err := s.failed(order, r)
	if err != nil {
		return refusedPreview(order, err)
	}
	if f.closes {
		return f.closing.preview(order), nil
	}
	return Preview{Order: f.visit.on(order), PruefschrittCode: f.code, Warnungen: f.visit.warnungen, Advice: f.advice}, nil
}

// refusedPreview is the preview of a report that would be refused, or err where it is no
// refusal.
func refusedPreview(order Order, err error) (Preview, error) {
	invalid, ok := errors.AsType[*ValidationError](err)
	if !ok {
		return Preview{}, err
	}
	return Preview{Order: order, Invalid: invalid}, nil
}

// preview is what becomes of the order, and the command that makod would get.
func (c closing) preview(order Order) Preview {
	closed := c.on(order)
	p := Preview{Order: closed, PruefschrittCode: c.pruefschrittCode, Warnungen: c.warnungen}
	if closed.OwesIFTSTA() {
		cmd := iftstaCommand(closed)
		p.Command = &cmd
	}
	return p
}

// on is the order as Repository.close leaves it, in what a command and an answer tell.
func (c closing) on(o Order) Order {
	o.Status, o.ExecutedAt, o.ExecutionNote = c.status, c.executedAt, c.executionNote
	o.FailReason, o.PruefschrittCode, o.IFTSTAFaelligAm = c.failReason, c.pruefschrittCode, c.iftstaFaelligAm
	if c.sperrversuche != nil {
		o.Sperrversuche = *c.sperrversuche
	}
	return o
}

// on is the order as Repository.recordVisit leaves it, in what an answer tells.
func (v visit) on(o Order) Order {
	o.Sperrversuche++
	return o
}
