package sperr

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// lockTurn locks the turn of a Marktlokation.
//
// Advisory locks share one space of keys in a database. A key here is the hash of a text
// that begins with the name of the table, as that of the ids of calls does; the lock of the
// migrations is a number of its own. Two texts with one hash wait for each other, no more.
const lockTurn = `advisory_xact_lock(hashtextextended('sperr_orders/malo_id/' || $1 || '/' || $2, 0))`

// takeTurn takes the turn of a Marktlokation, until tx ends, in the order in which they
// came; false: it was not free within wait. Who has it waits for no lock that another one
// can hold who waits for it, and wait is shorter than PostgreSQL's look for deadlocks.
func (r *Repository) takeTurn(ctx context.Context, tx pgx.Tx, maloID string, wait time.Duration) (taken bool, err error) {
	err = tx.QueryRow(ctx, `SELECT pg_try_`+lockTurn, r.tenant, maloID).Scan(&taken)
	if err == nil && !taken {
		taken, err = r.awaitTurn(ctx, tx, maloID, wait)
	}
	if err != nil {
		return false, fmt.Errorf("take turns at a Marktlokation: %w", err)
	}
	return taken, nil
}

// awaitTurn keeps tx usable where the wait is over, by a savepoint, and leaves its
// lock_timeout as the connection has it.
func (r *Repository) awaitTurn(ctx context.Context, tx pgx.Tx, maloID string, wait time.Duration) (taken bool, err error) {
	err = pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `SELECT set_config('lock_timeout', $1, true)`, strconv.FormatInt(wait.Milliseconds(), 10))
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `SELECT pg_`+lockTurn, r.tenant, maloID); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `SET LOCAL lock_timeout TO DEFAULT`)
		return err
	})
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && pgErr.Code == "55P03" { // lock_not_available
		return false, nil
	}
	return err == nil, err
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

// warnPending makes the pending orders of type own at the Marktlokation of o, a new order,
// name it and those of its type, which are about, and returns them: maxWarned at most. What
// an order said of that type before is replaced, so that it names none that is closed by
// now, and its list stays short however many orders come and go. A locked one is passed over.
func (r *Repository) warnPending(ctx context.Context, tx pgx.Tx, own Type, o Order, about pendingOrders) ([]uuid.UUID, error) {
	if own == about.Type {
		about.N-- // without the one that is warned
	}
	before, after := pendingWarning(own, about.Type)
	rows, err := tx.Query(ctx, `
		WITH beside AS (
			SELECT id FROM sperr_orders
			WHERE tenant = @tenant AND malo_id = @malo_id AND status = 'pending' AND id <> @id AND order_type = @own
			ORDER BY created_at DESC, id LIMIT @limit
			FOR NO KEY UPDATE SKIP LOCKED
		)
		UPDATE sperr_orders AS s SET updated_at = GREATEST(updated_at, @at), warnungen =
			ARRAY(SELECT w FROM unnest(warnungen) WITH ORDINALITY AS old (w, place)
				WHERE NOT starts_with(w, @before) AND w NOT LIKE @any_more ORDER BY place)
			|| ARRAY(SELECT @before::text || other || @after::text FROM unnest(@about::uuid[]) WITH ORDINALITY AS named (other, place)
				WHERE other <> s.id ORDER BY place LIMIT @named)
			|| @more::text[]
		WHERE tenant = @tenant AND id = ANY (ARRAY(SELECT id FROM beside))
		RETURNING id`, pgx.NamedArgs{
		"tenant": r.tenant, "malo_id": o.MaloID, "id": o.ID, "own": own, "limit": maxWarned, "named": maxNamed, "at": o.CreatedAt,
		"before": before, "after": after, "about": about.IDs, "more": about.more(), "any_more": moreWarning("%", about.Type),
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

// appendWarnungen puts warnings on an order that has none of them.
func (r *Repository) appendWarnungen(ctx context.Context, tx pgx.Tx, id uuid.UUID, warnings []string) error {
	_, err := tx.Exec(ctx, `UPDATE sperr_orders SET warnungen = warnungen || $3::text[] WHERE tenant = $1 AND id = $2`, r.tenant, id, warnings)
	if err != nil {
		return fmt.Errorf("warn on order %s: %w", id, err)
	}
	return nil
}
