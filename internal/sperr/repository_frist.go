package sperr

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sperrd/internal/werktag"
)

// maxAnnounced bounds what one transaction announces.
const maxAnnounced = 500

// announcedColumns are what both announcements are made of. They are few, and a day is
// read only where it is one: an odd row must not keep the others from being announced.
const announcedColumns = `id, tenant, malo_id, lf_mp_id, status, process_id, iftsta_attempts, iftsta_last_error, iftsta_resets,
	event_id, erstellt_transaktion, abschluss_transaktion, traceparent, abschluss_traceparent`

// stampUeberfaellig marks pending orders whose execution window is over on day today, and
// returns them: each once, whoever else looks. An order that is being closed is passed
// over. At most maxAnnounced.
func (r *Repository) stampUeberfaellig(ctx context.Context, tx pgx.Tx, today werktag.Date, at time.Time) ([]Order, error) {
	return r.stamp(ctx, tx, `
		WITH due AS (
			SELECT id FROM sperr_orders
			WHERE tenant = @tenant AND status = 'pending' AND ausfuehrung_eskaliert_at IS NULL
			  AND ausfuehrung_faellig_am < @today::date AND `+aDay("ausfuehrung_faellig_am")+`
			ORDER BY ausfuehrung_faellig_am LIMIT @limit
			FOR NO KEY UPDATE SKIP LOCKED
		)
		UPDATE sperr_orders SET ausfuehrung_eskaliert_at = @at, updated_at = @at
		WHERE tenant = @tenant AND id = ANY (ARRAY(SELECT id FROM due))
		RETURNING ausfuehrung_faellig_am, `+announcedColumns, pgx.NamedArgs{"tenant": r.tenant, "today": today, "at": at, "limit": maxAnnounced})
}

// stampAusstehend marks orders whose Lieferant is still uninformed although the attempts
// are spent, or although the Frist has passed on day today, and returns them: each once
// in a cycle of attempts, whoever else looks. A cycle that begins past the Frist has its
// attempts first, and what is on its way may be just in time. At most maxAnnounced.
func (r *Repository) stampAusstehend(ctx context.Context, tx pgx.Tx, today werktag.Date, at time.Time) ([]Order, error) {
	return r.stamp(ctx, tx, `
		WITH due AS (
			SELECT id FROM sperr_orders
			WHERE tenant = @tenant AND `+outstanding+` AND iftsta_escalated_at IS NULL
			  AND NOT `+onItsWay+` AND (`+spent+` OR NOT iftsta_frist_gemeldet AND iftsta_faellig_am < @today::date)
			LIMIT @limit
			FOR NO KEY UPDATE SKIP LOCKED
		)
		UPDATE sperr_orders SET
			iftsta_escalated_at = @at, updated_at = @at,
			iftsta_in_flight = false, -- its sender has died
			iftsta_frist_gemeldet = iftsta_frist_gemeldet OR COALESCE(iftsta_faellig_am < @today::date, false)
		WHERE tenant = @tenant AND id = ANY (ARRAY(SELECT id FROM due))
		RETURNING CASE WHEN `+aDay("iftsta_faellig_am")+` THEN iftsta_faellig_am END AS iftsta_faellig_am, `+announcedColumns,
		pgx.NamedArgs{"tenant": r.tenant, "today": today, "at": at, "max_attempts": r.maxAttempts, "limit": maxAnnounced})
}

func (r *Repository) stamp(ctx context.Context, tx pgx.Tx, sql string, args pgx.NamedArgs) ([]Order, error) {
	rows, err := tx.Query(ctx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("find what is overdue: %w", err)
	}
	orders, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[Order])
	if err != nil {
		return nil, fmt.Errorf("find what is overdue: %w", err)
	}
	return orders, nil
}
