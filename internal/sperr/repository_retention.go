package sperr

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Redacted stands where an address or a free text stood.
const Redacted = "[gelöscht]"

// maxRedacted bounds what one transaction replaces.
const maxRedacted = 500

// keptLongEnough are closed orders whose texts may go. What is created after the cutoff
// cannot have been left alone for long enough, which lets the index decide. An outcome that
// a Lieferant still waits for is made of these texts.
const keptLongEnough = `tenant = @tenant AND status <> 'pending' AND redacted_at IS NULL
	AND created_at < @before AND updated_at < @before AND NOT (` + outstanding + `)`

// settledLongEnough are refused deliveries whose content may go. One that became an order
// keeps it for as long as that does.
const settledLongEnough = `tenant = @tenant AND settlement IS NOT NULL AND redacted_at IS NULL AND settled_at < @before
	AND (order_id IS NULL OR EXISTS (SELECT FROM sperr_orders o WHERE o.id = webhook_rejects.order_id AND o.redacted_at IS NOT NULL))`

// place is where a walk over the orders stands.
type place struct {
	createdAt time.Time
	id        uuid.UUID
}

// redactOrders replaces the texts of at most maxRedacted orders after a place in the order
// of their arrival, and returns them with the place of the last one.
func (r *Repository) redactOrders(ctx context.Context, tx pgx.Tx, before time.Time, after place, at time.Time) (orders []Order, last place, err error) {
	rows, err := tx.Query(ctx, `
		WITH due AS MATERIALIZED (
			SELECT id, created_at FROM sperr_orders
			WHERE `+keptLongEnough+` AND (created_at, id) > (@after_at, @after_id)
			ORDER BY created_at, id LIMIT @limit FOR UPDATE SKIP LOCKED
		)
		UPDATE sperr_orders SET
			treffpunkt_hinweis = `+redacted("treffpunkt_hinweis")+`, treffpunkt_strasse = `+redacted("treffpunkt_strasse")+`,
			treffpunkt_plz = `+redacted("treffpunkt_plz")+`, treffpunkt_ort = `+redacted("treffpunkt_ort")+`, treffpunkt_land = NULL,
			hinweis = `+redacted("hinweis")+`, execution_note = `+redacted("execution_note")+`, fail_reason = `+redacted("fail_reason")+`,
			letzter_versuch_grund = `+redacted("letzter_versuch_grund")+`, iftsta_last_error = `+redacted("iftsta_last_error")+`,
			-- What makod gave is an id; anything else was written by hand.
			iftsta_ref = CASE WHEN iftsta_ref ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN iftsta_ref ELSE `+redacted("iftsta_ref")+` END,
			-- A later delivery is compared with what is left: an absent field never contradicts.
			marktdaten = (SELECT jsonb_object_agg(key, value) FROM jsonb_each(marktdaten) WHERE key <> 'hinweis' AND key NOT LIKE 'treffpunkt.%'),
			-- A warning that quotes has a quotation mark.
			warnungen = ARRAY(SELECT CASE WHEN w LIKE '%"%' THEN @text ELSE w END FROM unnest(warnungen) WITH ORDINALITY AS u (w, n) ORDER BY n),
			redacted_at = @at, updated_at = @at
		WHERE tenant = @tenant AND id = ANY (ARRAY(SELECT id FROM due))
		RETURNING id, tenant, status, created_at`, pgx.NamedArgs{
		"tenant": r.tenant, "before": before, "after_at": after.createdAt, "after_id": after.id,
		"limit": maxRedacted, "text": Redacted, "at": at,
	})
	if err != nil {
		return nil, place{}, fmt.Errorf("replace the texts of orders: %w", err)
	}
	orders, err = pgx.CollectRows(rows, pgx.RowToStructByNameLax[Order])
	if err != nil {
		return nil, place{}, fmt.Errorf("replace the texts of orders: %w", err)
	}
	last = after
	for _, o := range orders {
		if o.CreatedAt.After(last.createdAt) || o.CreatedAt.Equal(last.createdAt) && o.ID.String() > last.id.String() {
			last = place{o.CreatedAt, o.ID}
		}
	}
	return orders, last, nil
}

// redacted is a text column with the fixed text in place of any other.
func redacted(column string) string {
	return `CASE WHEN ` + column + ` IS NOT NULL THEN @text END`
}

// redactRejects replaces the content of at most maxRedacted settled deliveries.
func (r *Repository) redactRejects(ctx context.Context, tx pgx.Tx, before, at time.Time) (n int, err error) {
	tag, err := tx.Exec(ctx, `
		UPDATE webhook_rejects SET headers = '{}', body = convert_to(@text, 'UTF8'), reason = @text, redacted_at = @at
		WHERE tenant = @tenant AND id = ANY (ARRAY(
			SELECT id FROM webhook_rejects WHERE `+settledLongEnough+` ORDER BY settled_at LIMIT @limit FOR UPDATE SKIP LOCKED))`,
		pgx.NamedArgs{"tenant": r.tenant, "before": before, "limit": maxRedacted, "text": Redacted, "at": at})
	if err != nil {
		return 0, fmt.Errorf("replace refused deliveries: %w", err)
	}
	return int(tag.RowsAffected()), nil
}

// countRedactable counts what redactOrders and redactRejects would replace.
func (r *Repository) countRedactable(ctx context.Context, tx pgx.Tx, before time.Time) (c RedactionPreview, err error) {
	err = tx.QueryRow(ctx, `
		WITH due AS MATERIALIZED (SELECT id, created_at FROM sperr_orders WHERE `+keptLongEnough+`)
		SELECT (SELECT count(*) FROM due), (SELECT min(created_at) FROM due),
			(SELECT count(*) FROM event_outbox WHERE order_id IN (SELECT id FROM due)),
			(SELECT count(*) FROM api_transactions t WHERE tenant = @tenant AND redacted_at IS NULL AND response_body <> ''
				AND (order_id IN (SELECT id FROM due) OR created_at < @before AND (order_id IS NULL
					OR EXISTS (SELECT FROM sperr_orders o WHERE o.id = t.order_id AND o.redacted_at IS NOT NULL)))),
			(SELECT count(*) FROM webhook_rejects WHERE `+settledLongEnough+` OR tenant = @tenant AND settlement IS NOT NULL
				AND redacted_at IS NULL AND settled_at < @before AND order_id IN (SELECT id FROM due))`,
		pgx.NamedArgs{"tenant": r.tenant, "before": before}).Scan(&c.Orders, &c.Oldest, &c.Events, &c.Answers, &c.Rejects)
	if err != nil {
		return RedactionPreview{}, fmt.Errorf("count what is kept for long enough: %w", err)
	}
	return c, nil
}
