package sperr

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/transaction"
)

// MaxResets is how many outcomes one transaction resets, at most.
const MaxResets = 500

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

// resetSome does the same for those that a filter chooses, at most limit of those with an
// id above after, in its order. What it returns has no more than the columns named.
func (r *Repository) resetSome(ctx context.Context, tx pgx.Tx, f IFTSTAFilter, after uuid.UUID, limit int) ([]Order, error) {
	where, args := f.where(r.maxAttempts)
	args["tenant"], args["after"], args["limit"] = r.tenant, after, limit
	rows, err := tx.Query(ctx, `
		WITH chosen AS (
			SELECT id FROM sperr_orders
			WHERE tenant = @tenant AND id > @after AND `+where+`
			ORDER BY id LIMIT @limit
			FOR NO KEY UPDATE -- waits: the scanner locks the spent ones while it announces them
		), reset AS (
			UPDATE sperr_orders SET iftsta_attempts = 0 WHERE tenant = @tenant AND id = ANY (ARRAY(SELECT id FROM chosen))
			RETURNING id, tenant, malo_id, process_id, status, iftsta_resets
		)
		SELECT * FROM reset ORDER BY id`, args)
	if err != nil {
		return nil, fmt.Errorf("reset outcomes: %w", err)
	}
	orders, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[Order])
	if err != nil {
		return nil, fmt.Errorf("reset outcomes: %w", err)
	}
	return orders, nil
}

// Resettable reads what resetSome would reset, in its order, with the same columns.
func (r *Repository) Resettable(ctx context.Context, f IFTSTAFilter, after uuid.UUID, limit int) ([]Order, error) {
	where, args := f.where(r.maxAttempts)
	args["tenant"], args["after"], args["limit"] = r.tenant, after, limit
	rows, err := r.pool.Query(ctx, `
		SELECT id, tenant, malo_id, process_id, status, iftsta_resets FROM sperr_orders
		WHERE tenant = @tenant AND id > @after AND `+where+` ORDER BY id LIMIT @limit`, args)
	if err != nil {
		return nil, fmt.Errorf("find outcomes to reset: %w", err)
	}
	orders, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[Order])
	if err != nil {
		return nil, fmt.Errorf("find outcomes to reset: %w", err)
	}
	return orders, nil
}

// ListOutstanding reads the orders whose Lieferant does not know the outcome and that f
// chooses, those whose Frist ends first before the others. more tells that there are others
// beyond limit.
func (r *Repository) ListOutstanding(ctx context.Context, f IFTSTAFilter, limit int) (orders []Order, more bool, err error) {
	where, args := f.where(r.maxAttempts)
	args["tenant"], args["limit"] = r.tenant, limit+1
	orders, err = r.many(ctx, r.pool, `
		SELECT `+orderColumns+` FROM sperr_orders
		WHERE tenant = @tenant AND `+where+`
		ORDER BY iftsta_faellig_am NULLS LAST, id LIMIT @limit`, args)
	if err != nil {
		return nil, false, fmt.Errorf("list outstanding outcomes: %w", err)
	}
	if len(orders) > limit {
		return orders[:limit], true, nil
	}
	return orders, false, nil
}
