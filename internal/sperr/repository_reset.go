package sperr

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/transaction"
)

// maxResets bounds what one transaction resets.
const maxResets = 500

// as tells the trigger that writes the history of a reset who asked for it, why and in
// which call, until tx ends.
func (r *Repository) as(ctx context.Context, tx pgx.Tx, call Call, reason string) error {
	settings := map[string]string{"sperrd.actor": call.Actor, "sperrd.reason": reason}
	if a := call.Attempt; a != nil {
		settings["sperrd.transaction_id"] = transaction.Shown(a.ID)
		for name, id := range relatedIDs(*a) {
			settings["sperrd."+name] = id
		}
	}
	_, err := tx.Exec(ctx, `SELECT set_config(key, value, true) FROM jsonb_each_text($1)`, settings)
	if err != nil {
		return fmt.Errorf("name the actor: %w", err)
	}
	return nil
}

// reset begins a new cycle of attempts; the trigger on the table does the rest. It is false
// where the order owes no IFTSTA any more, or never did.
func (r *Repository) reset(ctx context.Context, tx pgx.Tx, id uuid.UUID) (bool, error) {
	tag, err := tx.Exec(ctx, `
		UPDATE sperr_orders SET iftsta_attempts = 0 WHERE tenant = $1 AND id = $2 AND `+outstanding, r.tenant, id)
	if err != nil {
		return false, fmt.Errorf("reset order %s: %w", id, err)
	}
	return tag.RowsAffected() > 0, nil
}

// resetStuck does the same for orders whose attempts are spent, at most maxResets of those
// with an id above after, in its order. What it returns has no more than the columns named.
func (r *Repository) resetStuck(ctx context.Context, tx pgx.Tx, after uuid.UUID) ([]Order, error) {
	rows, err := tx.Query(ctx, `
		WITH stuck AS (
			SELECT id FROM sperr_orders
			WHERE tenant = @tenant AND id > @after AND `+outstanding+` AND `+spent+`
			ORDER BY id LIMIT @limit
			FOR NO KEY UPDATE -- waits: the scanner locks the spent ones while it announces them
		), reset AS (
			UPDATE sperr_orders SET iftsta_attempts = 0 WHERE tenant = @tenant AND id = ANY (ARRAY(SELECT id FROM stuck))
			RETURNING id, tenant, malo_id, process_id, status, iftsta_resets
		)
		SELECT * FROM reset ORDER BY id`,
		pgx.NamedArgs{"tenant": r.tenant, "after": after, "max_attempts": r.maxAttempts, "limit": maxResets})
	if err != nil {
		return nil, fmt.Errorf("reset stuck outcomes: %w", err)
	}
	orders, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[Order])
	if err != nil {
		return nil, fmt.Errorf("reset stuck outcomes: %w", err)
	}
	return orders, nil
}

// ListOutstanding reads the orders whose Lieferant does not know the outcome, those
// whose Frist ends first before the others; with stuck, only those whose attempts are
// spent. more tells that there are others beyond limit.
func (r *Repository) ListOutstanding(ctx context.Context, stuck bool, limit int) (orders []Order, more bool, err error) {
	orders, err = r.many(ctx, r.pool, `
		SELECT `+orderColumns+` FROM sperr_orders
		WHERE tenant = @tenant AND `+outstanding+` AND (NOT @stuck::boolean OR `+spent+`)
		ORDER BY iftsta_faellig_am NULLS LAST, id LIMIT @limit`,
		pgx.NamedArgs{"tenant": r.tenant, "stuck": stuck, "max_attempts": r.maxAttempts, "limit": limit + 1})
	if err != nil {
		return nil, false, fmt.Errorf("list outstanding outcomes: %w", err)
	}
	if len(orders) > limit {
		return orders[:limit], true, nil
	}
	return orders, false, nil
}
