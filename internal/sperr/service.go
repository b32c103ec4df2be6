package sperr

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"sperrd/internal/loop"
	"sperrd/internal/makod"
	"sperrd/internal/outbox"
	"sperrd/internal/telemetry"
	"sperrd/internal/transaction"
	"sperrd/internal/werktag"
)

const (
	// writeTimeout bounds what one call does in the database.
	writeTimeout = 10 * time.Second
	// connectionTimeout bounds how long it waits for a connection before that.
	connectionTimeout = 5 * time.Second
)

// Options are the settings of a Service.
type Options struct {
	Calendar          *werktag.Calendar
	PruefschrittCheck PruefschrittCheck
	RequestTimeout    time.Duration      // of one command to makod
	Lease             time.Duration      // how long a claim of an IFTSTA holds; longer than RequestTimeout
	FirstBackoff      time.Duration      // wait after the first failed attempt
	MaxBackoff        time.Duration      // the longest wait
	MaxPerSecond      int                // commands to makod that the retry worker may send; 0: no limit
	TwinWait          time.Duration      // how long a call waits for the answer of one with the same id that is under way
	Retention         time.Duration      // how long an answer is kept after the last call that got it
	Metrics           *telemetry.Metrics // nil: nobody counts
	Tracing           *telemetry.Tracing // nil: nobody records
	EventsWritten     func()             // called after a commit that may have written events; nil: nobody cares
	Now               func() time.Time   // business time; leases run on the database's clock
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

	transactions *transaction.Store

	unrecorded unrecorded
	underWay   underWay
	turnWait   time.Duration // turnTimeout
}

// NewService changes the orders that repo sees and reports their outcomes to makod.
func NewService(pool *pgxpool.Pool, repo *Repository, client *makod.Client, options Options) *Service {
	return &Service{
		Options: options, pool: pool, repo: repo, makod: client,
		in:   ingester{tenant: repo.tenant, calendar: options.Calendar, now: options.Now},
		pace: newPace(options.MaxPerSecond), retry: loop.NewSignal(),
		transactions: transaction.NewStore(pool, repo.tenant, options.Retention),
		turnWait:     turnTimeout,
	}
}

func (s *Service) now() time.Time { return s.Now().UTC() }

// detached is a context that a client which hangs up does not cancel, with a bound
// of its own: what was begun is finished and recorded.
func (s *Service) detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
}

// loop makes l tell its failures and its passes.
func (s *Service) loop(l loop.Loop) loop.Loop {
	s.Metrics.StartLoop(l.Name)
	l.Logger, l.Passed = s.Logger, s.Metrics.CountPass
	return l
}

func (s *Service) connection(ctx context.Context) (*pgxpool.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectionTimeout)
	defer cancel()
	return s.pool.Acquire(ctx)
}

// transact runs change in a transaction that a client which hangs up does not abort, and
// tells of the events that it may have written.
func (s *Service) transact(ctx context.Context, change func(ctx context.Context, tx pgx.Tx) error) error {
	ctx, cancel := s.detached(ctx)
	defer cancel()
	conn, err := s.connection(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return change(ctx, tx) })
	if err == nil && s.EventsWritten != nil {
		s.EventsWritten()
	}
	return err
}

// Create queues an operator's order. It has no market process, so that nobody is
// owed an IFTSTA. Input against a rule is a *ValidationError. Other errors and
// concurrency are those of Execute.
func (s *Service) Create(ctx context.Context, call Call, request NewOrder) (Result, error) {
	order, invalid := request.order(s.repo.tenant, s.Calendar, s.now())
	if invalid != nil && call.Attempt == nil {
		return Result{}, invalid
	}
	return s.once(ctx, call, func(ctx context.Context, tx pgx.Tx) (Result, error) {
		if invalid != nil {
			return Result{}, invalid
		}
		order.ErstelltTransaktion = call.logicalID()
		stored, inserted, err := s.add(ctx, tx, call, order)
		if err != nil || inserted {
			return Result{Order: stored}, err
		}
		if call.Attempt == nil { // then no key but the order's own, a random one, can be there
			return Result{}, fmt.Errorf("order %s is there already", order.ID)
		}
		return s.createdBefore(ctx, tx, call, order)
	})
}

// add writes a new order, its history and its event, and warns of the orders that are
// pending at its Marktlokation. inserted is false where its process, or the call that
// creates it, already has an order.
func (s *Service) add(ctx context.Context, tx pgx.Tx, call Call, order Order) (stored Order, inserted bool, err error) {
	order.Traceparent = telemetry.Traceparent(ctx)
	stored, inserted, err = s.repo.insert(ctx, tx, order)
	if err != nil || !inserted {
		return Order{}, false, err
	}
	e, err := auftragEingegangen(stored, stored.CreatedAt)
	if err != nil {
		return Order{}, false, err
	}
	err = s.record(ctx, tx, call, e, change{
		order: stored, action: actionCreated, at: stored.CreatedAt, detail: deliveryOf(order),
	})
	if err != nil {
		return Order{}, false, err
	}
	stored, err = s.warnOfPending(ctx, tx, call, stored)
	return stored, err == nil, err
}

// deliveryOf is what brought a market order, for its history.
func deliveryOf(o Order) map[string]any {
	detail := map[string]any{}
	if o.WebhookID != nil {
		detail["webhook_id"] = *o.WebhookID
	}
	if o.EventID != nil {
		detail["event_id"] = *o.EventID
	}
	if o.UebertragungstagSource != "" {
		detail["uebertragungstag_source"] = o.UebertragungstagSource
	}
	return detail
}

// Cancel withdraws a pending order; no IFTSTA follows. It is ErrNotFound or a
// *NotPendingError where there is nothing to withdraw. Other errors and concurrency are
// those of Execute.
func (s *Service) Cancel(ctx context.Context, call Call, id uuid.UUID, reason string) (Result, error) {
	reason, invalid := repairReason(reason)
	if invalid != nil && call.Attempt == nil {
		return Result{}, invalid
	}
	detail := map[string]any{}
	if reason != "" {
		detail["reason"] = reason
	}
	return s.once(ctx, call, func(ctx context.Context, tx pgx.Tx) (Result, error) {
		if invalid != nil {
			return s.refused(ctx, tx, id, invalid)
		}
		at := s.now()
		order, ok, err := s.repo.cancel(ctx, tx, id, at)
		if err != nil {
			return Result{}, err
		}
		if !ok {
			return s.lostRace(ctx, tx, id)
		}
		e, err := storniert(order, at)
		if err != nil {
			return Result{}, err
		}
		return Result{Order: order}, s.record(ctx, tx, call, e, change{
			order: order, action: actionCancelled, from: StatusPending, detail: detail, at: at,
		})
	})
}

// record writes the event and the history line of a change in its transaction, and in
// both of them which call has caused it.
func (s *Service) record(ctx context.Context, tx pgx.Tx, call Call, e event.Event, c change) error {
	c.actor = call.Actor
	call.describe(&c)
	reference := text(c.order.EventID)
	if a := call.Attempt; a != nil {
		reference = transaction.Shown(a.Initial)
		e.SetExtension(extensionTransaction, c.transactionID)
	}
	refer(&e, reference)
	if err := s.repo.appendHistory(ctx, tx, c); err != nil {
		return err
	}
	return outbox.Enqueue(ctx, tx, entryOf(c.order, e, telemetry.Traceparent(ctx)))
}
