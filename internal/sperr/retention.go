package sperr

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/loop"
	"sperrd/internal/outbox"
	"sperrd/internal/transaction"
)

// redactedMembers are the members of an answer that hold an address or a free text: those of
// an order, and those of a problem, which may quote.
var redactedMembers = []string{
	"treffpunkt_hinweis", "treffpunkt_strasse", "treffpunkt_plz", "treffpunkt_ort", "treffpunkt_land", "hinweis",
	"execution_note", "fail_reason", "letzter_versuch_grund", "iftsta_last_error", "iftsta_ref", "iftsta_diagnose", "warnungen",
	"detail", "reason",
}

// RedactionPreview is how much is kept for long enough: what a run at this moment replaces
// or, for events and answers, looks through.
type RedactionPreview struct {
	Orders  int64      `json:"orders"`
	Oldest  *time.Time `json:"oldest"`  // arrival of the oldest of them; nil: there is none
	Events  int64      `json:"events"`  // of these orders
	Answers int64      `json:"answers"` // to calls about these orders, and old ones about none or a redacted one
	Rejects int64      `json:"rejects"` // refused deliveries, settled
}

// Redaction is what a run has replaced.
type Redaction struct{ Orders, Events, Answers, Rejects int }

// PreviewRedaction counts what Redact would find. It changes nothing. Counting many orders
// may take a minute.
func (s *Service) PreviewRedaction(ctx context.Context, age time.Duration) (preview RedactionPreview, err error) {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, s.pool, options, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL statement_timeout = '5min'`); err != nil {
			return err
		}
		preview, err = s.repo.countRedactable(ctx, tx, s.now().Add(-age))
		return err
	})
	return preview, err
}

// Redact replaces address and free text of the orders that are closed and unchanged for
// longer than age, in every place that holds them, and the content of refused deliveries
// that are settled for so long. An order whose Lieferant does not know the outcome is left
// alone, and so is a delivery that nobody has settled. Statistics stay as they are. An order
// and everything of it is one transaction; where Redact fails, or ctx ends, what it returns
// is done all the same, and one kind that fails does not keep the others. Any number of
// them may run at the same time.
func (s *Service) Redact(ctx context.Context, actor string, age time.Duration) (done Redaction, err error) {
	before, at := s.now().Add(-age), place{}
	err = errors.Join(
		inGroups(ctx, func() (more bool, err error) {
			at, more, err = s.redactSome(ctx, actor, before, at, &done)
			return more, err
		}),
		inGroups(ctx, func() (more bool, err error) { return s.redactAnswers(ctx, before, &done) }),
		inGroups(ctx, func() (more bool, err error) { return s.redactRejects(ctx, before, &done) }),
	)
	return done, err
}

// inGroups does one group after another while there are more.
func inGroups(ctx context.Context, group func() (more bool, err error)) error {
	for more := true; more; {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var err error
		if more, err = group(); err != nil {
			return err
		}
	}
	return nil
}

// redactSome does a group of orders with their events, answers and history.
func (s *Service) redactSome(ctx context.Context, actor string, before time.Time, after place, done *Redaction) (last place, more bool, err error) {
	var some Redaction
	err = s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error {
		at := s.now()
		orders, reached, err := s.repo.redactOrders(ctx, tx, before, after, at)
		if err != nil || len(orders) == 0 {
			return err
		}
		ids, lines := make([]uuid.UUID, len(orders)), make([]change, len(orders))
		for i, o := range orders {
			ids[i] = o.ID
			lines[i] = change{order: o, actor: actor, action: actionRedacted, from: o.Status, at: at, detail: map[string]any{"unchanged_before": before}}
		}
		if some.Events, err = outbox.Redact(ctx, tx, s.repo.tenant, ids, Redacted); err != nil {
			return err
		}
		if some.Answers, err = s.transactions.RedactOrders(ctx, tx, ids, s.answerRedaction()); err != nil {
			return err
		}
		some.Orders, last, more = len(orders), reached, len(orders) == maxRedacted
		return s.repo.appendHistory(ctx, tx, lines...)
	})
	if err != nil {
		return after, false, err
	}
	done.Orders, done.Events, done.Answers = done.Orders+some.Orders, done.Events+some.Events, done.Answers+some.Answers
	return last, more, nil
}

// redactAnswers does a group of old answers to calls that came to no order, or to one that
// was redacted before them.
func (s *Service) redactAnswers(ctx context.Context, before time.Time, done *Redaction) (more bool, err error) {
	var changed, seen int
	err = s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error {
		changed, seen, err = s.transactions.RedactOlder(ctx, tx, before, maxRedacted, s.answerRedaction())
		return err
	})
	if err != nil {
		return false, err
	}
	done.Answers += changed
	return seen == maxRedacted, nil
}

func (s *Service) answerRedaction() transaction.Redaction {
	return transaction.Redaction{Members: redactedMembers, Text: Redacted, At: s.now()}
}

// redactRejects does a group of settled deliveries.
func (s *Service) redactRejects(ctx context.Context, before time.Time, done *Redaction) (more bool, err error) {
	var n int
	err = s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error {
		n, err = s.repo.redactRejects(ctx, tx, before, s.now())
		return err
	})
	if err != nil {
		return false, err
	}
	done.Rejects += n
	return n == maxRedacted, nil
}

// retentionInterval is how often is looked for what is kept for long enough. The age counts
// in days.
const retentionInterval = time.Hour

// Retention redacts in the background.
type Retention struct {
	service *Service
	age     time.Duration
}

// NewRetention redacts orders of service that are closed and unchanged for longer than age.
func NewRetention(service *Service, age time.Duration) *Retention {
	return &Retention{service: service, age: age}
}

// Run works until ctx ends.
func (r *Retention) Run(ctx context.Context) {
	r.service.loop(loop.Loop{Name: "retention", Step: r.step}).Run(ctx)
}

func (r *Retention) step(ctx context.Context) (rest time.Duration, err error) {
	done, err := r.service.Redact(ctx, actorService, r.age)
	if done != (Redaction{}) {
		r.service.Logger.InfoContext(ctx, "address and free text replaced",
			"orders", done.Orders, "events", done.Events, "answers", done.Answers, "rejects", done.Rejects)
	}
	return retentionInterval, err
}
