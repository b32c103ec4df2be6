package outbox

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

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

// record writes results, one statement for each kind.
func (d *Drainer) record(ctx context.Context, results []result) {
	byKind := map[kind][]result{}
	for _, r := range results {
		byKind[r.kind] = append(byKind[r.kind], r)
	}
	for k, group := range byKind {
		ended, lost, err := d.end(ctx, k, group)
		if err != nil {
			d.Logger.ErrorContext(ctx, "results of deliveries not recorded; the events are sent again when their leases have ended",
				"events", len(lost), "delivered", k == kindDelivered, "event_ids", eventIDs(lost), "error", err)
		}
		d.report(ctx, group, ended, lost)
		if k != kindUnsent && len(ended) > 0 {
			d.wake.Set() // the next event of an order may be due
		}
	}
}

// end writes results of one kind, together or, if that fails for a reason that lies in
// one of them, one by one. It returns which of them ended their claim, as
// queue.end does, and those that could not be written, with the last reason.
func (d *Drainer) end(ctx context.Context, k kind, group []result) (ended map[uuid.UUID]bool, lost []result, err error) {
	ended, err = d.insist(ctx, k, group)
	if err == nil {
		return ended, nil, nil
	}
	if len(group) == 1 || postgres.IsUnavailable(err) {
		return nil, group, err
	}
	ended = map[uuid.UUID]bool{}
	for i := range group {
		one, oneErr := d.insist(ctx, k, group[i:i+1])
		for id, dead := range one {
			ended[id] = dead
		}
		if postgres.IsUnavailable(oneErr) {
			return ended, append(lost, group[i:]...), oneErr
		}
		if oneErr != nil {
			lost, err = append(lost, group[i]), oneErr
		}
	}
	if lost == nil {
		err = nil
	}
	return ended, lost, err
}

// insist writes results and, while the database is unavailable, tries a few times
// more within the lease. A stop ends that: the lease does the rest.
func (d *Drainer) insist(ctx context.Context, k kind, results []result) (map[uuid.UUID]bool, error) {
	leaseEnd := slices.MaxFunc(results, func(a, b result) int { return a.claim.until.Compare(b.claim.until) }).claim.until
	for pause := time.Second; ; pause *= 2 {
		ended, err := d.queue.end(ctx, k, results, d.GiveUpAfter)
		last := pause > 4*time.Second || d.Now().Add(pause).After(leaseEnd)
		if err == nil || last || !postgres.IsUnavailable(err) {
			return ended, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, err
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
			log.WarnContext(ctx, "result of a delivery not recorded: the event was no longer held by this claim",
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
