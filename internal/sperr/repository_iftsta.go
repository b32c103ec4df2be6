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

// spent is an outstanding outcome whose attempts are used up, the last one included: it is
// on its way no more.
const spent = `iftsta_attempts >= @max_attempts AND NOT (iftsta_in_flight AND iftsta_next_attempt_at > now())`

// claimColumns are what a command is made of and what ends its claim. An odd value in
// any other column must not keep a claim from being read.
const claimColumns = `o.id, o.tenant, o.malo_id, o.lf_mp_id, o.order_type, o.process_id, o.status,
	o.executed_at, o.execution_note, o.fail_reason, o.pruefschritt_code,
	o.iftsta_attempts, o.iftsta_next_attempt_at, o.iftsta_resets`

// claim takes at most limit outcomes that are due, least tried first, for as long as
// lease says. It counts the attempt, since whoever dies after it may have sent. An
// executed_at that only SQL can make, infinity, is no moment to report and is passed
// over.
func (r *Repository) claim(ctx context.Context, tx pgx.Tx, limit int, lease time.Duration) ([]claim, error) {
	rows, err := tx.Query(ctx, `
		WITH due AS (
			SELECT id, iftsta_unklar AS unklar FROM sperr_orders
			WHERE tenant = @tenant AND `+outstanding+`
			  AND iftsta_attempts < @max_attempts AND iftsta_next_attempt_at <= now()
			  AND (executed_at IS NULL OR isfinite(executed_at))
			ORDER BY iftsta_attempts, iftsta_next_attempt_at LIMIT @limit
			FOR UPDATE SKIP LOCKED
		)
		UPDATE sperr_orders o SET
			iftsta_attempts = o.iftsta_attempts + 1, iftsta_unklar = true, iftsta_in_flight = true,
			iftsta_next_attempt_at = now() + @lease::interval
		FROM due WHERE o.tenant = @tenant AND o.id = due.id
		RETURNING `+claimColumns+`, due.unklar`,
		pgx.NamedArgs{"tenant": r.tenant, "max_attempts": r.maxAttempts, "limit": limit, "lease": lease})
	if err != nil {
		return nil, fmt.Errorf("claim outcomes: %w", err)
	}
	claims, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (claim, error) {
		c, err := pgx.RowToStructByNameLax[struct {
			Order
			Unklar bool `db:"unklar"`
		}](row)
		return claim{order: c.Order, unklar: c.Unklar}, err
	})
	if err != nil {
		return nil, fmt.Errorf("claim outcomes: %w", err)
	}
	return claims, nil
}

// recorded is a dispatch that was written, with the order as far as its history needs it.
type recorded struct {
	order Order
	dispatched
}

// recordDispatched writes which of the attempts makod took and returns those. A claim
// that another one has followed by now, or whose outcome is dispatched already, changes
// nothing.
func (r *Repository) recordDispatched(ctx context.Context, tx pgx.Tx, attempts []attempt, at time.Time) ([]recorded, error) {
	sent := make(map[uuid.UUID]dispatched)
	var ids []uuid.UUID
	var leases []time.Time
	var refs, warnings []string
	for _, a := range attempts {
		if d := a.dispatched; d != nil {
			sent[a.order.ID] = *d
			ids, leases = append(ids, a.order.ID), append(leases, a.order.IFTSTANextAttemptAt)
			refs, warnings = append(refs, d.ref), append(warnings, d.warning)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := tx.Query(ctx, `
		UPDATE sperr_orders o SET
			iftsta_ref = a.ref, iftsta_dispatched_at = @at, iftsta_unklar = false, iftsta_in_flight = false,
			iftsta_last_error = NULL, iftsta_last_code = NULL,
			warnungen = o.warnungen || array_remove(ARRAY[a.warning], ''), updated_at = @at
		FROM unnest(@ids::uuid[], @leases::timestamptz[], @refs::text[], @warnings::text[]) AS a (id, lease, ref, warning)
		WHERE o.tenant = @tenant AND o.id = a.id
		  AND o.iftsta_dispatched_at IS NULL AND o.iftsta_next_attempt_at = a.lease
		RETURNING o.id, o.status, o.iftsta_attempts`, pgx.NamedArgs{
		"tenant": r.tenant, "at": at, "ids": ids, "leases": leases, "refs": refs, "warnings": warnings,
	})
	if err != nil {
		return nil, fmt.Errorf("record dispatches: %w", err)
	}
	done, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (recorded, error) {
		o, err := pgx.RowToStructByNameLax[Order](row)
		return recorded{order: o, dispatched: sent[o.ID]}, err
	})
	if err != nil {
		return nil, fmt.Errorf("record dispatches: %w", err)
	}
	return done, nil
}

// recordNotDispatched writes why attempts were in vain and when the next ones are due,
// and returns the orders of those that held their claim. Where a reset came in while
// makod was asked, the attempt belongs to the cycle before: it counts for nothing, and
// the new cycle begins.
func (r *Repository) recordNotDispatched(ctx context.Context, tx pgx.Tx, attempts []attempt, at time.Time) ([]uuid.UUID, error) {
	var ids []uuid.UUID
	var leases []time.Time
	var texts, codes []string
	var unklar, giveBack []bool
	var waits []float64 // seconds
	var resets []int
	for _, a := range attempts {
		if a.dispatched != nil {
			continue
		}
		ids, leases = append(ids, a.order.ID), append(leases, a.order.IFTSTANextAttemptAt)
		texts, codes = append(texts, a.inVain.text), append(codes, a.inVain.code)
		unklar, giveBack = append(unklar, a.inVain.unklar), append(giveBack, a.inVain.giveBack)
		waits, resets = append(waits, a.inVain.wait.Seconds()), append(resets, a.order.IFTSTAResets)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := tx.Query(ctx, `
		UPDATE sperr_orders o SET
			iftsta_last_error = COALESCE(NULLIF(a.text, ''), o.iftsta_last_error),
			iftsta_last_code = COALESCE(NULLIF(a.code, ''), o.iftsta_last_code),
			iftsta_unklar = a.unklar, iftsta_in_flight = false,
			iftsta_attempts = o.iftsta_attempts - (a.give_back AND o.iftsta_resets = a.resets)::int,
			iftsta_next_attempt_at = CASE WHEN o.iftsta_resets = a.resets THEN now() + make_interval(secs => a.wait) ELSE now() END,
			updated_at = @at
		FROM unnest(@ids::uuid[], @leases::timestamptz[], @texts::text[], @codes::text[], @unklar::boolean[], @give_back::boolean[],
			@waits::float8[], @resets::int[]) AS a (id, lease, text, code, unklar, give_back, wait, resets)
		WHERE o.tenant = @tenant AND o.id = a.id
		  AND o.iftsta_dispatched_at IS NULL AND o.iftsta_next_attempt_at = a.lease
		RETURNING o.id`, pgx.NamedArgs{
		"tenant": r.tenant, "at": at, "ids": ids, "leases": leases, "texts": texts, "codes": codes,
		"unklar": unklar, "give_back": giveBack, "waits": waits, "resets": resets,
	})
	if err != nil {
		return nil, fmt.Errorf("record attempts in vain: %w", err)
	}
	put, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, fmt.Errorf("record attempts in vain: %w", err)
	}
	return put, nil
}
