package outbox

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

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
