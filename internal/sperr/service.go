package sperr

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"sperrd/internal/loop"
	"sperrd/internal/makod"
	"sperrd/internal/outbox"
	"sperrd/internal/werktag"
)

// writeTimeout bounds what one call does in the database.
const writeTimeout = 10 * time.Second

// Options are the settings of a Service.
type Options struct {
	Calendar          *werktag.Calendar
	PruefschrittCheck PruefschrittCheck
	RequestTimeout    time.Duration    // of one command to makod
	Lease             time.Duration    // how long a claim of an IFTSTA holds; longer than RequestTimeout
	FirstBackoff      time.Duration    // wait after the first failed attempt
	MaxBackoff        time.Duration    // the longest wait
	MaxPerSecond      int              // commands to makod that the retry worker may send; 0: no limit
	EventsWritten     func()           // called after a commit that may have written events; nil: nobody cares
	Now               func() time.Time // business time; leases run on the database's clock
	Logger            *slog.Logger
}

// Service is the only place where the transactions that change an order begin. In
// each of them the state, its history and its event are written together. It is
// safe for concurrent use, also by several processes on one database.
type Service struct {
	Options
	pool  *pgxpool.Pool
	repo  *Repository
	makod *makod.Client
	in    ingester
	pace  *pace        // of commands to makod
	retry *loop.Signal // wakes the retry worker of this process

	unrecorded unrecorded
}

// NewService changes the orders that repo sees and reports their outcomes to makod.
func NewService(pool *pgxpool.Pool, repo *Repository, client *makod.Client, options Options) *Service {
	return &Service{
		Options: options, pool: pool, repo: repo, makod: client,
		in:   ingester{tenant: repo.tenant, calendar: options.Calendar, now: options.Now},
		pace: newPace(options.MaxPerSecond), retry: loop.NewSignal(),
	}
}

func (s *Service) now() time.Time { return s.Now().UTC() }

// detached is a context that a client which hangs up does not cancel, with a bound
// of its own: what was begun is finished and recorded.
func (s *Service) detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
}

// transact runs change in a transaction that a client which hangs up does not abort, and
// tells of the events that it may have written.
func (s *Service) transact(ctx context.Context, change func(ctx context.Context, tx pgx.Tx) error) error {
	ctx, cancel := s.detached(ctx)
	defer cancel()
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return change(ctx, tx) })
	if err == nil && s.EventsWritten != nil {
		s.EventsWritten()
	}
	return err
}

// Create queues an operator's order. It has no market process, so that nobody is
// owed an IFTSTA. Input against a rule is a *ValidationError.
func (s *Service) Create(ctx context.Context, actor string, request NewOrder) (Order, error) {
	order, err := request.order(s.repo.tenant, s.Calendar, s.now())
	if err != nil {
		return Order{}, err
	}
	err = s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error {
		order, _, err = s.add(ctx, tx, order, actor)
		return err
	})
	if err != nil {
		return Order{}, err
	}
	return order, nil
}

// add writes a new order, its history and its event. inserted is false where the
// process already has an order.
func (s *Service) add(ctx context.Context, tx pgx.Tx, order Order, actor string) (stored Order, inserted bool, err error) {
	open, err := s.repo.openTypes(ctx, tx, order.MaloID)
	if err != nil {
		return Order{}, false, err
	}
	for _, t := range open {
		order.warn(fmt.Sprintf("another %s for this Marktlokation is pending", t))
	}
	stored, inserted, err = s.repo.insert(ctx, tx, order)
	if err != nil || !inserted {
		return Order{}, false, err
	}
	e, err := auftragEingegangen(stored, stored.CreatedAt)
	if err != nil {
		return Order{}, false, err
	}
	return stored, true, s.record(ctx, tx, e, change{order: stored, actor: actor, action: actionCreated, at: stored.CreatedAt})
}

// Cancel withdraws a pending order; no IFTSTA follows. It is ErrNotFound or a
// *NotPendingError where there is nothing to withdraw.
func (s *Service) Cancel(ctx context.Context, actor string, id uuid.UUID, reason string) error {
	invalid := &ValidationError{Subject: SubjectReport}
	reason = strings.TrimSpace(reason)
	checkText(invalid, "reason", reason, maxFreeText)
	if err := invalid.err(); err != nil {
		return err
	}
	at := s.now()
	var detail map[string]any
	if reason != "" {
		detail = map[string]any{"reason": reason}
	}
	return s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error {
		order, ok, err := s.repo.cancel(ctx, tx, id, at)
		if err != nil {
			return err
		}
		if !ok {
			return s.lostRace(ctx, tx, id)
		}
		e, err := storniert(order, at)
		if err != nil {
			return err
		}
		return s.record(ctx, tx, e, change{order: order, actor: actor, action: actionCancelled, from: StatusPending, detail: detail, at: at})
	})
}

// record writes the event and the history line of a change in its transaction.
func (s *Service) record(ctx context.Context, tx pgx.Tx, e event.Event, c change) error {
	if err := s.repo.appendHistory(ctx, tx, c); err != nil {
		return err
	}
	return outbox.Enqueue(ctx, tx, outbox.Entry{Tenant: c.order.Tenant, OrderID: c.order.ID, Event: e})
}
