package sperr

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// close is the one guarded UPDATE that decides a terminal outcome: of concurrent
// reports exactly one finds the order pending. It is also the first claim of the
// IFTSTA, so that no worker sends beside the request: it counts the attempt, takes
// the lease and marks the outcome of a send as unknown until it is recorded.
func (r *Repository) close(ctx context.Context, tx pgx.Tx, id uuid.UUID, c closing) (Order, bool, error) {
	o, ok, err := r.one(ctx, tx, `
		UPDATE sperr_orders SET
			status = @status, executed_at = @executed_at, execution_note = @execution_note,
			fail_reason = @fail_reason, pruefschritt_code = @pruefschritt_code,
			sperrversuche = COALESCE(@sperrversuche, sperrversuche),
			letzter_versuch_am = COALESCE(@letzter_versuch_am, letzter_versuch_am),
			letzter_versuch_grund = COALESCE(@letzter_versuch_grund, letzter_versuch_grund),
			letzter_versuch_transaktion = CASE WHEN @letzter_versuch_am::timestamptz IS NULL THEN letzter_versuch_transaktion ELSE @transaktion END,
			abschluss_transaktion = @transaktion, abschluss_traceparent = @traceparent,
			iftsta_transaktion = CASE WHEN process_id IS NOT NULL THEN @iftsta_transaktion::uuid END,
			iftsta_faellig_am = CASE WHEN process_id IS NOT NULL THEN @iftsta_faellig_am::date END,
			iftsta_attempts = CASE WHEN process_id IS NOT NULL THEN 1 ELSE 0 END,
			iftsta_unklar = process_id IS NOT NULL, iftsta_in_flight = process_id IS NOT NULL,
			iftsta_next_attempt_at = CASE WHEN process_id IS NOT NULL THEN now() + @lease::interval ELSE iftsta_next_attempt_at END,
			warnungen = warnungen || @warnungen::text[], updated_at = @at
		WHERE tenant = @tenant AND id = @id AND status = 'pending'
		  AND (@seen::int IS NULL OR sperrversuche = @seen)
		RETURNING `+orderColumns, pgx.NamedArgs{
		"status": c.status, "executed_at": c.executedAt, "execution_note": c.executionNote,
		"fail_reason": c.failReason, "pruefschritt_code": c.pruefschrittCode, "sperrversuche": c.sperrversuche,
		"letzter_versuch_am": c.letzterVersuchAm, "letzter_versuch_grund": c.letzterVersuchGrund,
		"iftsta_faellig_am": c.iftstaFaelligAm, "lease": c.lease, "warnungen": nonNil(c.warnungen), "at": c.at,
		"tenant": r.tenant, "id": id, "seen": c.seenSperrversuche,
		"transaktion": c.transaktion, "traceparent": c.traceparent, "iftsta_transaktion": uuid.New(),
	})
	if err != nil {
		return Order{}, false, fmt.Errorf("close order %s: %w", id, err)
	}
	return o, ok, nil
}

// recordVisit writes the first failed visit and leaves the order pending. It holds
// only while no visit is recorded yet.
func (r *Repository) recordVisit(ctx context.Context, tx pgx.Tx, id uuid.UUID, v visit) (Order, bool, error) {
	o, ok, err := r.one(ctx, tx, `
		UPDATE sperr_orders SET
			sperrversuche = sperrversuche + 1, letzter_versuch_am = @visited_at, letzter_versuch_grund = @reason,
			letzter_versuch_transaktion = @transaktion,
			warnungen = warnungen || @warnungen::text[], updated_at = @at
		WHERE tenant = @tenant AND id = @id AND status = 'pending' AND sperrversuche = 0
		RETURNING `+orderColumns, pgx.NamedArgs{
		"visited_at": v.visitedAt, "reason": v.reason, "warnungen": nonNil(v.warnungen), "at": v.at, "transaktion": v.transaktion,
		"tenant": r.tenant, "id": id,
	})
	if err != nil {
		return Order{}, false, fmt.Errorf("record visit on order %s: %w", id, err)
	}
	return o, ok, nil
}

// cancel withdraws a pending order.
func (r *Repository) cancel(ctx context.Context, tx pgx.Tx, id uuid.UUID, at time.Time) (Order, bool, error) {
	o, ok, err := r.one(ctx, tx, `
		UPDATE sperr_orders SET status = 'cancelled', updated_at = $3
		WHERE tenant = $1 AND id = $2 AND status = 'pending'
		RETURNING `+orderColumns, r.tenant, id, at)
	if err != nil {
		return Order{}, false, fmt.Errorf("cancel order %s: %w", id, err)
	}
	return o, ok, nil
}
