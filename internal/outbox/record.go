package outbox

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"sperrd/internal/loop"
	"sperrd/internal/postgres"
	"sperrd/internal/telemetry"
)

// kind is how a claim ended.
type kind int

const (
	kindDelivered kind = iota
	kindFailed         // the ERP did not take it
	kindUnsent         // it was not begun
)

func (k kind) statement() string {
	return [...]string{kindDelivered: sqlDelivered, kindFailed: sqlFailed, kindUnsent: sqlUnsent}[k]
}

// result is the end of one claim.
type result struct {
	claim   claim
	kind    kind
	failure failure       // of kindFailed
	wait    time.Duration // until the next attempt
	took    time.Duration
	span    trace.SpanContext // of the delivery
}

// record writes results, one statement for each kind, deliveries first: what is lost of
// them reaches the ERP twice.
func (d *Drainer) record(ctx context.Context, results []result) (later []result) {
	byKind := map[kind][]result{}
	for _, r := range results {
		byKind[r.kind] = append(byKind[r.kind], r)
	}
	for _, k := range []kind{kindDelivered, kindFailed, kindUnsent} {
		if len(byKind[k]) == 0 {
			continue
		}
		later = append(later, loop.Recorder[result]{
			Write:   func(ctx context.Context, some []result) ([]result, error) { return d.write(ctx, k, some) },
			Passing: postgres.IsUnavailable,
			Left:    func(r result) time.Duration { return r.claim.until.Sub(d.Now()) },
			Lost: func(ctx context.Context, lost []result, reason error) {
				for _, r := range lost {
					d.Metrics.CountDelivery(r.counted(), r.took)
				}
				d.Logger.ErrorContext(ctx, "results of deliveries not recorded; the events are sent again when their leases have ended",
					"events", len(lost), "delivered", k == kindDelivered, "event_ids", eventIDs(lost), "error", reason)
			},
		}.Record(ctx, byKind[k])...)
	}
	return later
}

// write ends those claims whose rows nobody else has locked, tells of them and returns the
// others.
func (d *Drainer) write(ctx context.Context, k kind, results []result) (locked []result, err error) {
	ends, err := d.queue.end(ctx, k, results, d.GiveUpAfter)
	if err != nil {
		return nil, err
	}
	for i, r := range results {
		e := ends[i]
		if e.Locked {
			locked = append(locked, r)
			continue
		}
		d.tell(ctx, r, e)
		if e.Ended && k == kindDelivered || e.Dead {
			d.wake.Set() // the next event of its order may be due
		}
	}
	return locked, nil
}

// tell logs what became of a delivery.
func (d *Drainer) tell(ctx context.Context, r result, e ending) {
	c := r.claim
	ctx = trace.ContextWithSpanContext(ctx, r.span)
	log := d.Logger.With("event_id", c.eventID, "order_id", c.orderID, "type", c.ceType, "attempt", c.attempts, "duration", r.took)
	d.Metrics.CountDelivery(r.counted(), r.took)
	if e.Dead {
		d.Metrics.CountDeadLetter()
	}
	switch {
	case r.kind == kindUnsent:
	case !e.Ended:
		// Recorded at a try whose answer was lost, or another claim decides.
		log.WarnContext(ctx, "result of a delivery not recorded: the claim is not held any more",
			"delivered", r.kind == kindDelivered)
	case r.kind == kindDelivered:
		log.InfoContext(ctx, "event delivered")
	case e.Dead:
		log.ErrorContext(ctx, "event is a dead letter: the ERP has to be told by hand, or the event requeued",
			"code", r.failure.code, "status", r.failure.status, "permanent", r.failure.permanent)
	default:
		log.WarnContext(ctx, "event not delivered", "code", r.failure.code, "status", r.failure.status, "next_in", r.wait)
	}
}

// counted is as what a result counts.
func (r result) counted() telemetry.DeliveryResult {
	switch f := r.failure; {
	case r.kind == kindDelivered:
		return telemetry.DeliveryDelivered
	case r.kind == kindUnsent:
		return telemetry.DeliveryNotSent
	case f.status/100 == 3:
		return telemetry.DeliveryHTTP3xx
	case f.status/100 == 4:
		return telemetry.DeliveryHTTP4xx
	case f.status/100 == 5:
		return telemetry.DeliveryHTTP5xx
	case f.status != 0:
		return telemetry.DeliveryHTTPOther
	default:
		return telemetry.DeliveryResult(f.code) // timeout, connection_failed, not_sent
	}
}

// eventIDs lists results for one line of the log, not too many of them.
func eventIDs(results []result) []string {
	var ids []string
	for _, r := range results[:min(len(results), 20)] {
		ids = append(ids, r.claim.eventID)
	}
	return ids
}
