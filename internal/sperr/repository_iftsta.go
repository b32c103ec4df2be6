package sperr

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// outstanding are the closed orders whose Lieferant does not know the outcome. It is
// word for word the predicate of their indexes.
const outstanding = `status IN ('executed', 'failed') AND process_id IS NOT NULL AND iftsta_dispatched_at IS NULL`

// An outstanding outcome is on its way while somebody who may send it still holds its lease,
// and spent when its attempts are used up, the last one included, or when the next one is
// never due, which only SQL can do.
const (
	onItsWay = `(iftsta_in_flight AND iftsta_next_attempt_at > now() AND iftsta_next_attempt_at < ` + lastMoment + `)`
	spent    = `((iftsta_attempts >= @max_attempts OR iftsta_next_attempt_at >= ` + lastMoment + `) AND NOT ` + onItsWay + `)`
)

// claimColumns are what a command is made of and what ends its claim. An odd value in
// any other column must not keep a claim from being read.
var claimColumns = `id, tenant, malo_id, lf_mp_id, order_type, process_id, status,
	` + shown("executed_at") + `, execution_note, fail_reason, pruefschritt_code, iftsta_attempts, iftsta_next_attempt_at, iftsta_resets,
	event_id, abschluss_transaktion, abschluss_traceparent, iftsta_transaktion`

// claim takes at most limit outcomes that are due, least tried first, for as long as
// lease says. It counts the attempt, since whoever dies after it may have sent. What was
// closed without this service has no transaction yet, and gets one here, before anything
// is sent.
//
// = ANY finds the rows by their key whatever the planner believes about the table: a join
// with statistics of an emptier day reads all of it for each row.
func (r *Repository) claim(ctx context.Context, tx pgx.Tx, limit int, lease time.Duration) ([]claim, error) {
	rows, err := tx.Query(ctx, `
		WITH due AS (
			SELECT id, iftsta_unklar AS unklar, iftsta_transaktion IS NULL AS first FROM sperr_orders
			WHERE tenant = @tenant AND `+outstanding+`
			  AND iftsta_attempts < @max_attempts AND iftsta_next_attempt_at <= now()
			ORDER BY iftsta_attempts, iftsta_next_attempt_at LIMIT @limit
			FOR NO KEY UPDATE SKIP LOCKED
		), claimed AS (
			UPDATE sperr_orders SET
				iftsta_attempts = iftsta_attempts + 1, iftsta_unklar = true, iftsta_in_flight = true,
				iftsta_next_attempt_at = now() + @lease::interval,
				iftsta_transaktion = COALESCE(iftsta_transaktion, gen_random_uuid())
			WHERE tenant = @tenant AND id = ANY (ARRAY(SELECT id FROM due))
			RETURNING `+claimColumns+`
		)
		SELECT claimed.*, due.unklar, due.first FROM claimed JOIN due USING (id)`,
		pgx.NamedArgs{"tenant": r.tenant, "max_attempts": r.maxAttempts, "limit": limit, "lease": lease})
	if err != nil {
		return nil, fmt.Errorf("claim outcomes: %w", err)
	}
	claims, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (claim, error) {
		c, err := pgx.RowToStructByNameLax[struct {
			Order
			Unklar bool `db:"unklar"`
			First  bool `db:"first"`
		}](row)
		return claim{order: c.Order, unklar: c.Unklar, first: c.First}, err
	})
	if err != nil {
		return nil, fmt.Errorf("claim outcomes: %w", err)
	}
	return claims, nil
}

// ending is what became of a claim in the table.
type ending struct {
	Ended    bool    `db:"ended"`  // written; else another claim decides
	Locked   bool    `db:"locked"` // somebody else has the row; nothing is known
	Status   *Status `db:"status"` // where it ended
	Attempts *int    `db:"attempts"`
}

// held locks the rows of claims by their keys alone, whatever the planner believes about
// the table. Those that somebody else has locked are passed over, so that one of them does
// not hold up the others, unless the claimer waits.
func held(wait bool) string {
	skip := " SKIP LOCKED"
	if wait {
		skip = ""
	}
	return `WITH held AS MATERIALIZED (
		SELECT id, tenant, iftsta_next_attempt_at AS lease, iftsta_dispatched_at AS dispatched_at
		FROM sperr_orders WHERE id = ANY (@ids::uuid[]) FOR NO KEY UPDATE` + skip + `)`
}

// stillClaimed keeps of attempts a those whose claim h is still theirs, and theEnds tells
// of all of them, in their order.
const (
	stillClaimed = `JOIN held h ON h.id = a.id
		WHERE h.tenant = @tenant AND h.dispatched_at IS NULL AND h.lease = a.lease`
	theEnds = `SELECT e.id IS NOT NULL AS ended, e.status, e.attempts,
			h.id IS NULL AND EXISTS (SELECT FROM sperr_orders WHERE id = a.id) AS locked
		FROM unnest(@ids::uuid[], @leases::timestamptz[]) WITH ORDINALITY AS a (id, lease, place)
		LEFT JOIN held h ON h.id = a.id LEFT JOIN ended e ON e.id = a.id AND h.lease = a.lease
		ORDER BY a.place`
)

// recordDispatched writes which outcomes makod took; all attempts are such. A claim that
// another one has followed by now, or whose outcome is dispatched already, changes nothing.
func (r *Repository) recordDispatched(ctx context.Context, tx pgx.Tx, attempts []attempt, how recording) ([]ending, error) {
	var ids []uuid.UUID
	var leases []time.Time
	var refs, warnings []string
	for _, a := range attempts {
		ids, leases = append(ids, a.order.ID), append(leases, a.order.IFTSTANextAttemptAt)
		refs, warnings = append(refs, a.dispatched.ref), append(warnings, a.dispatched.warning)
	}
	return endings(ctx, tx, held(how.wait)+`, mine AS (
			SELECT a.* FROM unnest(@ids::uuid[], @leases::timestamptz[], @refs::text[], @warnings::text[]) AS a (id, lease, ref, warning)
			`+stillClaimed+`
		), ended AS (
			UPDATE sperr_orders o SET
				iftsta_ref = mine.ref, iftsta_dispatched_at = @at, iftsta_unklar = false, iftsta_in_flight = false,
				iftsta_last_error = NULL, iftsta_last_code = NULL,
				warnungen = o.warnungen || array_remove(ARRAY[mine.warning], ''), updated_at = @at
			FROM mine WHERE o.id = ANY (ARRAY(SELECT id FROM mine)) AND o.id = mine.id
			RETURNING o.id, o.status, o.iftsta_attempts AS attempts
		) `+theEnds,
		pgx.NamedArgs{"tenant": r.tenant, "at": how.at, "ids": ids, "leases": leases, "refs": refs, "warnings": warnings})
}

// recordNotDispatched writes why attempts were in vain and when the next ones are due, as
// recordDispatched does. Where a reset came in while makod was asked, the attempt belongs
// to the cycle before: it counts for nothing, and the new cycle begins.
func (r *Repository) recordNotDispatched(ctx context.Context, tx pgx.Tx, attempts []attempt, how recording) ([]ending, error) {
	var ids []uuid.UUID
	var leases []time.Time
	var texts, codes []string
	var unklar, giveBack, unsent []bool
	var waits []float64 // seconds
	var resets []int
	for _, a := range attempts {
		ids, leases = append(ids, a.order.ID), append(leases, a.order.IFTSTANextAttemptAt)
		texts, codes = append(texts, a.inVain.text), append(codes, a.inVain.code)
		unklar, giveBack = append(unklar, a.inVain.unklar), append(giveBack, a.inVain.giveBack)
		unsent = append(unsent, a.first && a.transactionID == "")
		waits, resets = append(waits, a.inVain.wait.Seconds()), append(resets, a.order.IFTSTAResets)
	}
	return endings(ctx, tx, held(how.wait)+`, mine AS (
			SELECT a.* FROM unnest(@ids::uuid[], @leases::timestamptz[], @texts::text[], @codes::text[], @unklar::boolean[],
				@give_back::boolean[], @waits::float8[], @resets::int[], @unsent::boolean[]) AS a (id, lease, text, code, unklar, give_back, wait, resets, unsent)
			`+stillClaimed+`
		), ended AS (
			UPDATE sperr_orders o SET
				iftsta_last_error = COALESCE(NULLIF(mine.text, ''), o.iftsta_last_error),
				iftsta_last_code = COALESCE(NULLIF(mine.code, ''), o.iftsta_last_code),
				iftsta_unklar = mine.unklar, iftsta_in_flight = false,
				iftsta_transaktion = CASE WHEN NOT mine.unsent THEN o.iftsta_transaktion END, -- the next claim gives the first one
				iftsta_attempts = o.iftsta_attempts - (mine.give_back AND o.iftsta_resets = mine.resets)::int,
				iftsta_next_attempt_at = CASE WHEN o.iftsta_resets = mine.resets THEN now() + make_interval(secs => mine.wait) ELSE now() END,
				updated_at = @at
			FROM mine WHERE o.id = ANY (ARRAY(SELECT id FROM mine)) AND o.id = mine.id
			RETURNING o.id, o.status, o.iftsta_attempts AS attempts
		) `+theEnds, pgx.NamedArgs{
		"tenant": r.tenant, "at": how.at, "ids": ids, "leases": leases, "texts": texts, "codes": codes,
		"unklar": unklar, "give_back": giveBack, "waits": waits, "resets": resets, "unsent": unsent,
	})
}

// recording says when claims end, and whether to wait for rows that somebody else has.
type recording struct {
	at   time.Time
	wait bool
}

func endings(ctx context.Context, tx pgx.Tx, sql string, args pgx.NamedArgs) ([]ending, error) {
	rows, err := tx.Query(ctx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("end claims: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[ending])
	if err != nil {
		return nil, fmt.Errorf("end claims: %w", err)
	}
	return list, nil
}

// owing are those of orders whose Lieferant does not know the outcome.
func (r *Repository) owing(ctx context.Context, tx pgx.Tx, orders []uuid.UUID) (map[uuid.UUID]bool, error) {
	rows, err := tx.Query(ctx, `SELECT id FROM sperr_orders WHERE tenant = $1 AND id = ANY ($2) AND `+outstanding, r.tenant, orders)
	if err != nil {
		return nil, fmt.Errorf("find owed outcomes: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, fmt.Errorf("find owed outcomes: %w", err)
	}
	owing := make(map[uuid.UUID]bool, len(ids))
	for _, id := range ids {
		owing[id] = true
	}
	return owing, nil
}
