package sperr

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// recordDispatched writes that makod took the outcome. It ends the claim that holds
// lease; ok is false, and nothing written, where another claim holds the order by
// now or the outcome is already dispatched.
func (r *Repository) recordDispatched(ctx context.Context, tx pgx.Tx, id uuid.UUID, lease time.Time, d dispatched) (Order, bool, error) {
	o, ok, err := one(ctx, tx, `
		UPDATE sperr_orders SET
			iftsta_ref = @ref, iftsta_dispatched_at = @at, iftsta_unklar = false,
			iftsta_last_error = NULL, iftsta_last_code = NULL,
			warnungen = warnungen || @warnungen::text[], updated_at = @at
		WHERE tenant = @tenant AND id = @id
		  AND iftsta_dispatched_at IS NULL AND iftsta_next_attempt_at = @lease
		RETURNING `+orderColumns, pgx.NamedArgs{
		"ref": d.ref, "warnungen": nonNil(d.warnungen), "at": d.at,
		"tenant": r.tenant, "id": id, "lease": lease,
	})
	if err != nil {
		return Order{}, false, fmt.Errorf("record the dispatch of order %s: %w", id, err)
	}
	return o, ok, nil
}

// recordNotDispatched writes why an attempt did not get through and when the next
// one is due. It ends the claim that holds lease, as recordDispatched does.
func (r *Repository) recordNotDispatched(ctx context.Context, tx pgx.Tx, id uuid.UUID, lease time.Time, n notDispatched) error {
	giveBack := 0
	if n.giveBack {
		giveBack = 1
	}
	_, err := tx.Exec(ctx, `
		UPDATE sperr_orders SET
			iftsta_last_error = @error, iftsta_last_code = @code, iftsta_unklar = @unklar,
			iftsta_attempts = iftsta_attempts - @give_back::int,
			iftsta_next_attempt_at = now() + @wait::interval, updated_at = @at
		WHERE tenant = @tenant AND id = @id
		  AND iftsta_dispatched_at IS NULL AND iftsta_next_attempt_at = @lease`, pgx.NamedArgs{
		"error": n.text, "code": n.code, "unklar": n.unklar, "give_back": giveBack, "wait": n.wait, "at": n.at,
		"tenant": r.tenant, "id": id, "lease": lease,
	})
	if err != nil {
		return fmt.Errorf("record the failed dispatch of order %s: %w", id, err)
	}
	return nil
}
