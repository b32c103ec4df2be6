package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	claimTimeout  = 10 * time.Second
	recordTimeout = 5 * time.Second
	// pruneBatch is how many rows one statement deletes.
	pruneBatch = 1000
)

// queue is the table as the drainer of one tenant sees it: claims are in this file, their
// ends in ends.go.
type queue struct {
	pool   *pgxpool.Pool
	tenant string
	now    func() time.Time

	floor floor
}

// floor is where the last claim ended in the order of event_outbox_due. What lies below it
// was taken, or cannot go yet. While somebody holds an old snapshot, PostgreSQL keeps the
// entries of what was taken, and every claim that began at the start would walk over all
// of them.
type floor struct {
	attempts int
	next     time.Time
	seq      int64
	since    time.Time // when the claims began at the start
}

// floorAge is how long claims may go on from where the last one ended: what has come to
// lie below meanwhile waits for so long, at most.
const floorAge = time.Second

// claim is the right to send one event once, until the lease ends.
type claim struct {
	id       uuid.UUID
	eventID  string
	orderID  uuid.UUID
	ceType   string
	envelope []byte // the same bytes each time: jsonb has one text
	trace    *string
	attempts int // this one included
	lease    time.Time
	until    time.Time // when the lease ends on this process's clock
}

// sqlClaim walks event_outbox_due in its order. The first pending event of the order is
// looked up for each row by way of event_outbox_pending_order: NOT EXISTS would become
// a join, which the planner gets badly wrong where its statistics know of an empty table,
// and so would a tenant lead it to another index; an order has only one.
const sqlClaim = `
	WITH due AS MATERIALIZED (
		SELECT o.id, o.attempts, o.next_attempt_at, o.seq FROM event_outbox o
		WHERE o.tenant = @tenant AND o.next_attempt_at <= now() AND isfinite(o.next_attempt_at)
		  AND o.delivered_at IS NULL AND o.dead_lettered_at IS NULL
		  AND (o.attempts, o.next_attempt_at, o.seq) > (@floor_attempts::smallint, @floor_next::timestamptz, @floor_seq::bigint)
		  AND o.seq = (
			SELECT e.seq FROM event_outbox e
			WHERE e.order_id = o.order_id AND e.delivered_at IS NULL AND e.dead_lettered_at IS NULL
			ORDER BY e.seq LIMIT 1)
		ORDER BY o.attempts, o.next_attempt_at, o.seq
		LIMIT @limit FOR UPDATE OF o SKIP LOCKED),
	claimed AS (
		UPDATE event_outbox o SET
			attempts = least(o.attempts + 1, 32767), next_attempt_at = now() + @lease::interval,
			first_attempt_at = coalesce(o.first_attempt_at, now())
		WHERE o.tenant = @tenant AND o.id = ANY (ARRAY(SELECT id FROM due))
		RETURNING o.id, o.event_id, o.order_id, o.ce_type, o.envelope::text, o.traceparent, o.attempts, o.next_attempt_at)
	SELECT claimed.*, due.attempts, due.next_attempt_at, due.seq
	FROM claimed JOIN due ON due.id = claimed.id ORDER BY due.attempts, due.next_attempt_at, due.seq`

// claim leases at most limit events that are due, the least tried first. Of one order
// it takes only the first that is neither delivered nor a dead letter. It is called by one
// goroutine.
func (q *queue) claim(ctx context.Context, limit int, lease time.Duration) ([]claim, error) {
	if now := q.now(); now.Sub(q.floor.since) >= floorAge {
		q.floor = floor{attempts: -1, since: now}
	}
	claims, err := q.claimFromFloor(ctx, limit, lease)
	if err != nil || len(claims) == limit || q.floor.attempts < 0 {
		return claims, err
	}
	// There is no more above the floor; below it something may have come due.
	q.floor = floor{attempts: -1, since: q.now()}
	more, err := q.claimFromFloor(ctx, limit-len(claims), lease)
	if err != nil && len(claims) > 0 {
		return claims, nil // those are ours; the next claim meets the same error
	}
	return append(claims, more...), err
}

func (q *queue) claimFromFloor(ctx context.Context, limit int, lease time.Duration) (claims []claim, err error) {
	last := q.floor
	// What cannot be read is not claimed: the claim is a transaction with its reading.
	err = pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sqlClaim, pgx.NamedArgs{
			"tenant": q.tenant, "limit": limit, "lease": lease,
			"floor_attempts": q.floor.attempts, "floor_next": q.floor.next, "floor_seq": q.floor.seq,
		})
		if err != nil {
			return err
		}
		claims, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c claim, err error) {
			var envelope string
			err = row.Scan(&c.id, &c.eventID, &c.orderID, &c.ceType, &envelope, &c.trace, &c.attempts, &c.lease,
				&last.attempts, &last.next, &last.seq)
			c.envelope = []byte(envelope)
			return c, err
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("claim events: %w", err)
	}
	q.floor = last
	return claims, nil
}

// prune deletes at most limit events that were delivered longer than retention ago.
func (q *queue) prune(ctx context.Context, retention time.Duration, limit int) (deleted int64, err error) {
	tag, err := q.pool.Exec(ctx, `
		DELETE FROM event_outbox WHERE tenant = @tenant AND id = ANY (ARRAY(
			SELECT id FROM event_outbox
			WHERE tenant = @tenant AND delivered_at < now() - @retention::interval
			ORDER BY delivered_at LIMIT @limit FOR UPDATE SKIP LOCKED))`,
		pgx.NamedArgs{"tenant": q.tenant, "retention": retention, "limit": limit})
	if err != nil {
		return 0, fmt.Errorf("delete delivered events: %w", err)
	}
	return tag.RowsAffected(), nil
}
