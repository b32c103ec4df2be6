package outbox

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"sperrd/internal/loop"
	"sperrd/internal/postgres"
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
}

// record writes results, one statement for each kind, deliveries first: what is lost of
// them reaches the ERP twice.
func (d *Drainer) record(ctx context.Context, results []result) {
	byKind := map[kind][]result{}
	for _, r := range results {
		byKind[r.kind] = append(byKind[r.kind], r)
	}
	for _, k := range []kind{kindDelivered, kindFailed, kindUnsent} {
		group := byKind[k]
		if len(group) == 0 {
			continue
		}
		ended := map[uuid.UUID]bool{}
		lost, err := loop.Recorder[result]{
			Write: func(ctx context.Context, some []result) error {
				written, err := d.queue.end(ctx, k, some, d.GiveUpAfter)
				maps.Copy(ended, written)
				return err
			},
			Passing: postgres.IsUnavailable,
			Left:    func(r result) time.Duration { return r.claim.until.Sub(d.Now()) },
		}.Record(ctx, group)
		if err != nil {
			d.Logger.ErrorContext(ctx, "results of deliveries not recorded; the events are sent again when their leases have ended",
				"events", len(lost), "delivered", k == kindDelivered, "event_ids", eventIDs(lost), "error", err)
		}
		d.report(ctx, group, ended, lost)
		if k == kindDelivered && len(ended) > 0 || slices.Contains(slices.Collect(maps.Values(ended)), true) {
			d.wake.Set() // delivered or dead: the next event of its order may be due
		}
	}
}

// report logs one line for each delivery, now that it is known what became of it.
func (d *Drainer) report(ctx context.Context, group []result, ended map[uuid.UUID]bool, lost []result) {
	unwritten := map[uuid.UUID]bool{}
	for _, r := range lost {
		unwritten[r.claim.id] = true
	}
	for _, r := range group {
		c := r.claim
		dead, held := ended[c.id]
		log := d.Logger.With("event_id", c.eventID, "order_id", c.orderID, "type", c.ceType, "attempt", c.attempts, "duration", r.took)
		switch {
		case unwritten[c.id]: // said for the group
		case r.kind == kindUnsent:
		case !held:
			// Recorded at a try whose answer was lost, or another claim decides.
			log.WarnContext(ctx, "result of a delivery not recorded: the claim is not held any more",
				"delivered", r.kind == kindDelivered)
		case r.kind == kindDelivered:
			log.InfoContext(ctx, "event delivered")
		case dead:
			log.ErrorContext(ctx, "event is a dead letter: the ERP has to be told by hand, or the event requeued",
				"code", r.failure.code, "status", r.failure.status, "permanent", r.failure.permanent)
		default:
			log.WarnContext(ctx, "event not delivered", "code", r.failure.code, "status", r.failure.status, "next_in", r.wait)
		}
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
