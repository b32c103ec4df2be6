package sperr

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// tryTurn takes the turn of a Marktlokation, until tx ends; false: somebody else has it.
//
// Advisory locks share one space of keys in a database. A key here is the hash of a text
// that begins with the name of the table, as that of the ids of calls does; the lock of the
// migrations is a number of its own. Two texts with one hash wait for each other, no more.
// Like the ids it is only ever tried: who waits for nobody is part of no deadlock.
func (r *Repository) tryTurn(ctx context.Context, tx pgx.Tx, maloID string) (taken bool, err error) {
	err = tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock(hashtextextended('sperr_orders/malo_id/' || $1 || '/' || $2, 0))`,
		r.tenant, maloID).Scan(&taken)
	if err != nil {
		return false, fmt.Errorf("take turns at a Marktlokation: %w", err)
	}
	return taken, nil
}

// pendingOrders are the pending orders of a type at a Marktlokation.
type pendingOrders struct {
	Type Type        `db:"order_type"`
	N    int         `db:"n"`
	IDs  []uuid.UUID `db:"ids"` // the newest, maxNamed at most
}

// pendingBeside are the pending orders at the Marktlokation of o, without o itself.
func (r *Repository) pendingBeside(ctx context.Context, tx pgx.Tx, o Order) ([]pendingOrders, error) {
	rows, err := tx.Query(ctx, `
		SELECT order_type, count(*)::int AS n, (array_agg(id ORDER BY created_at DESC, id))[:$4] AS ids FROM sperr_orders
		WHERE tenant = $1 AND malo_id = $2 AND status = 'pending' AND id <> $3
		GROUP BY order_type ORDER BY order_type`, r.tenant, o.MaloID, o.ID, maxNamed)
	if err != nil {
		return nil, fmt.Errorf("find pending orders: %w", err)
	}
	pending, err := pgx.CollectRows(rows, pgx.RowToStructByName[pendingOrders])
	if err != nil {
		return nil, fmt.Errorf("find pending orders: %w", err)
	}
	return pending, nil
}

// warnPending puts a warning about o on the pending orders of type t at its Marktlokation
// and returns those. An order that names maxNamed of o's type already gets a last warning
// that names none, and then no other. A locked order is passed over. At most maxWarned.
func (r *Repository) warnPending(ctx context.Context, tx pgx.Tx, t Type, o Order) ([]uuid.UUID, error) {
	before, after := pendingWarning(t, o.OrderType)
	rows, err := tx.Query(ctx, `
		WITH beside AS (
			SELECT id FROM sperr_orders
			WHERE tenant = @tenant AND malo_id = @malo_id AND status = 'pending' AND id <> @id AND order_type = @type
			  AND NOT warnungen @> ARRAY[@last::text]
			ORDER BY created_at DESC, id LIMIT @limit
			FOR NO KEY UPDATE SKIP LOCKED
		)
		UPDATE sperr_orders SET updated_at = @at, warnungen = warnungen || CASE
			WHEN (SELECT count(*) FROM unnest(warnungen) AS w WHERE starts_with(w, @before)) < @named
			THEN @before || @id::text || @after ELSE @last END
		WHERE tenant = @tenant AND id = ANY (ARRAY(SELECT id FROM beside))
		RETURNING id`, pgx.NamedArgs{
		"tenant": r.tenant, "malo_id": o.MaloID, "id": o.ID, "type": t, "limit": maxWarned, "named": maxNamed, "at": o.CreatedAt,
		"before": before, "after": after, "last": fmt.Sprintf("still more of type %s are pending for this Marktlokation", o.OrderType),
	})
	if err != nil {
		return nil, fmt.Errorf("warn of order %s: %w", o.ID, err)
	}
	warned, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, fmt.Errorf("warn of order %s: %w", o.ID, err)
	}
	return warned, nil
}

// setWarnungen writes the warnings of o as they stand in it.
func (r *Repository) setWarnungen(ctx context.Context, tx pgx.Tx, o Order) error {
	_, err := tx.Exec(ctx, `UPDATE sperr_orders SET warnungen = $3 WHERE tenant = $1 AND id = $2`, r.tenant, o.ID, o.Warnungen)
	if err != nil {
		return fmt.Errorf("warn on order %s: %w", o.ID, err)
	}
	return nil
}
