package outbox

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"sperrd/internal/loop"
	"sperrd/internal/telemetry"
)

// The waits after a failed delivery: the first one times four each time, up to the
// longest.
const (
	firstBackoff = 30 * time.Second
	maxBackoff   = 2 * time.Hour
)

// pruneInterval is the rest between two prunings.
const pruneInterval = time.Hour

// Options are the settings of a [Drainer]; all are needed.
type Options struct {
	Tenant string
	// GiveUpAfter is how long after its first attempt an event that fails again
	// becomes a dead letter.
	GiveUpAfter time.Duration
	// RequestTimeout is that of the client.
	RequestTimeout time.Duration
	// Lease is how long a claimed event belongs to its claimer. It has to exceed
	// RequestTimeout by what claim and record take.
	Lease time.Duration
	// PollInterval is how often to look for events that nobody announced by Wake:
	// those of other replicas and those whose wait is over.
	PollInterval time.Duration
	// Retention is how long a delivered event is kept.
	Retention time.Duration
	// Parallelism is how many deliveries are under way at the same time, at most.
	Parallelism int
	Metrics     *telemetry.Metrics // nil: nobody counts
	Tracing     *telemetry.Tracing // nil: nobody records
	Now         func() time.Time
	Logger      *slog.Logger
}

// Drainer delivers the events of one tenant to the ERP. Any number of them, in any
// number of processes, may work on one database.
type Drainer struct {
	Options
	queue *queue
	erp   *Client
	wake  *loop.Signal
	pump  *loop.Pump[claim, result]
}

// NewDrainer returns a Drainer that has not begun.
func NewDrainer(pool *pgxpool.Pool, erp *Client, o Options) *Drainer {
	d := &Drainer{Options: o, queue: &queue{pool: pool, tenant: o.Tenant, now: o.Now}, erp: erp, wake: loop.NewSignal()}
	d.pump = loop.NewPump(loop.PumpOptions[claim, result]{
		Hands: o.Parallelism, Claim: d.claim, Work: d.work, Record: d.record,
	})
	return d
}

// Run delivers until ctx ends. It returns when everything in hand is recorded: what
// was claimed and not begun is given back, what was begun is finished. It is called
// once.
func (d *Drainer) Run(ctx context.Context) {
	var pruning sync.WaitGroup
	pruning.Go(func() { d.loop(loop.Loop{Name: "outbox pruning", Step: d.prune}).Run(ctx) })
	d.loop(loop.Loop{Name: "outbox", Step: d.step, Wake: d.wake}).Run(ctx)
	d.pump.Settle()
	pruning.Wait()
}

// loop makes l tell its failures and its passes.
func (d *Drainer) loop(l loop.Loop) loop.Loop {
	d.Metrics.StartLoop(l.Name)
	l.Logger, l.Passed = d.Logger, d.Metrics.CountPass
	return l
}

// Wake tells that there are new events. It never blocks and is safe for concurrent use.
func (d *Drainer) Wake() { d.wake.Set() }

// step claims what is due and sets it going.
func (d *Drainer) step(ctx context.Context) (rest time.Duration, err error) {
	more, err := d.pump.Step(ctx)
	if err != nil || more {
		return 0, err
	}
	return d.PollInterval, nil
}

func (d *Drainer) claim(ctx context.Context, limit int) ([]claim, error) {
	// Counted from before the statement that takes the lease, which runs on the
	// database's clock, so that the lease ends no earlier than this process believes.
	until := d.Now().Add(d.Lease)
	// A claim that a stop cut off could be made and belong to nobody until its lease ends.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
	defer cancel()
	claims, err := d.queue.claim(ctx, limit, d.Lease)
	for i := range claims {
		claims[i].until = until
	}
	return claims, err
}

// work delivers one event, unless it may not begin.
func (d *Drainer) work(ctx context.Context, c claim) result {
	if ctx.Err() != nil {
		return result{claim: c, kind: kindUnsent}
	}
	started := d.Now()
	if loop.Passed(started.Add(d.RequestTimeout), c.until) {
		d.Logger.WarnContext(ctx, "event not sent: the lease ends before an answer could come",
			"event_id", c.eventID, "order_id", c.orderID, "type", c.ceType)
		return result{claim: c, kind: kindUnsent, wait: d.PollInterval}
	}
	ctx, span := d.span(context.WithoutCancel(ctx), c)
	f := d.erp.deliver(ctx, c.eventID, c.envelope)
	r := result{claim: c, kind: kindDelivered, took: d.Now().Sub(started), span: span.SpanContext()}
	endSpan(span, f)
	if f != nil {
		r.kind, r.failure, r.wait = kindFailed, *f, wait(c.attempts, f.retryAfter)
	}
	return r
}

// wait is the wait after the given number of attempts, or the one that the ERP asked
// for. Jitter keeps what failed together from coming back together; it never
// shortens the ERP's wish.
func wait(attempts int, wish time.Duration) time.Duration {
	if wish > 0 {
		return min(wish+rand.N(wish/8+1), maxBackoff)
	}
	return loop.Backoff(firstBackoff, maxBackoff, attempts)
}

// prune deletes what was delivered long ago.
func (d *Drainer) prune(ctx context.Context) (rest time.Duration, err error) {
	total := int64(0)
	for ctx.Err() == nil {
		deleted, err := d.pruneSome(ctx)
		if err != nil {
			return 0, err
		}
		if total += deleted; deleted < pruneBatch {
			break
		}
	}
	if total > 0 {
		d.Logger.InfoContext(ctx, "delivered events deleted", "events", total)
	}
	return pruneInterval, nil
}

func (d *Drainer) pruneSome(ctx context.Context) (deleted int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	return d.queue.prune(ctx, d.Retention, pruneBatch)
}
