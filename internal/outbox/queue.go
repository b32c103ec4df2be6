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

// queue is the table as the drainer of one tenant sees it. Each method is one
// statement and so one transaction.
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
	attempts int    // this one included
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
		RETURNING o.id, o.event_id, o.order_id, o.ce_type, o.envelope::text, o.attempts, o.next_attempt_at)
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
			err = row.Scan(&c.id, &c.eventID, &c.orderID, &c.ceType, &envelope, &c.attempts, &c.lease,
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

// held locks the rows of claims by their keys alone, whatever the planner believes about
// the table, and passes over those that somebody else has locked; mine are the results
// whose lease still stands.
const held = `
	WITH held AS MATERIALIZED (
		SELECT id, tenant, next_attempt_at AS lease, delivered_at IS NULL AND dead_lettered_at IS NULL AS pending
		FROM event_outbox WHERE id = ANY (@ids::uuid[]) FOR UPDATE SKIP LOCKED),
	mine AS (
		SELECT r.* FROM unnest(@ids::uuid[], @leases::timestamptz[], @errors::text[], @permanent::bool[], @waits::interval[])
			AS r (id, lease, error, permanent, wait)
		JOIN held h ON h.id = r.id
		WHERE h.tenant = @tenant AND h.pending AND h.lease = r.lease),`

// theEnds tells of each claim, in the order of the results, whether it ended with this
// statement, whether its event is a dead letter now, and whether its row is locked by
// somebody else.
const theEnds = `
	SELECT e.id IS NOT NULL AS ended, COALESCE(e.dead, false) AS dead,
		h.id IS NULL AND EXISTS (SELECT FROM event_outbox WHERE id = r.id) AS locked
	FROM unnest(@ids::uuid[], @leases::timestamptz[]) WITH ORDINALITY AS r (id, lease, place)
	LEFT JOIN held h ON h.id = r.id LEFT JOIN ended e ON e.id = r.id AND h.lease = r.lease
	ORDER BY r.place`

// The statements that end claims, one for each kind of result.
const (
	sqlDelivered = held + `
		ended AS (
			UPDATE event_outbox o SET delivered_at = now(), last_error = NULL
			WHERE o.id = ANY (ARRAY(SELECT id FROM mine))
			RETURNING o.id, false AS dead)` + theEnds

	// The later events of the order have to wait as long. They are put off with it, so
	// that a claim need not walk over thousands that cannot go; one that has been tried
	// before may be under way and is left alone.
	sqlFailed = held + `
		ended AS (
			UPDATE event_outbox o SET
				last_error = mine.error, next_attempt_at = now() + mine.wait,
				dead_lettered_at = CASE WHEN mine.permanent OR o.first_attempt_at + @give_up_after::interval <= now()
					THEN now() END
			FROM mine WHERE o.id = ANY (ARRAY(SELECT id FROM mine)) AND o.id = mine.id
			RETURNING o.id, o.order_id, o.seq, o.next_attempt_at, o.dead_lettered_at IS NOT NULL AS dead),
		followers AS (
			SELECT o.id, ended.next_attempt_at FROM ended JOIN event_outbox o ON o.order_id = ended.order_id AND o.seq > ended.seq
			WHERE o.order_id = ANY (ARRAY(SELECT order_id FROM ended WHERE NOT dead)) AND NOT ended.dead
			  AND o.delivered_at IS NULL AND o.dead_lettered_at IS NULL
			  AND o.attempts = 0 AND o.next_attempt_at < ended.next_attempt_at
			FOR UPDATE OF o SKIP LOCKED),
		put_off AS (
			UPDATE event_outbox o SET next_attempt_at = followers.next_attempt_at
			FROM followers WHERE o.id = ANY (ARRAY(SELECT id FROM followers)) AND o.id = followers.id)` + theEnds

	// Nothing was sent: the attempt is given back.
	sqlUnsent = held + `
		ended AS (
			UPDATE event_outbox o SET
				attempts = o.attempts - 1, next_attempt_at = now() + mine.wait,
				first_attempt_at = CASE WHEN o.attempts > 1 THEN o.first_attempt_at END
			FROM mine WHERE o.id = ANY (ARRAY(SELECT id FROM mine)) AND o.id = mine.id
			RETURNING o.id, false AS dead)` + theEnds
)

// ending is what became of a claim in the table.
type ending struct {
	Ended  bool `db:"ended"` // written; else another claim decides
	Dead   bool `db:"dead"`
	Locked bool `db:"locked"` // somebody else has the row; nothing is known
}

// end writes results, which are all of one kind, and returns what became of their claims,
// in their order.
func (q *queue) end(ctx context.Context, k kind, results []result, giveUpAfter time.Duration) ([]ending, error) {
	var (
		ids       []uuid.UUID
		leases    []time.Time
		texts     []string
		permanent []bool
		waits     []time.Duration
	)
	for _, r := range results {
		ids, leases, waits = append(ids, r.claim.id), append(leases, r.claim.lease), append(waits, r.wait)
		texts, permanent = append(texts, r.failure.text), append(permanent, r.failure.permanent)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	args := pgx.NamedArgs{
		"tenant": q.tenant, "ids": ids, "leases": leases, "waits": waits,
		"errors": texts, "permanent": permanent, "give_up_after": giveUpAfter,
	}
	rows, err := q.pool.Query(ctx, k.statement(), args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[ending])
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
