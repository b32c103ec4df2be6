package sperr

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"sperrd/internal/werktag"
)

// Stats are the counters of the queue. The LF's date and the regulatory windows
// are different questions and are counted apart.
type Stats struct {
	Total                int64 `db:"total" json:"total"`
	Pending              int64 `db:"pending" json:"pending"`
	Executed             int64 `db:"executed" json:"executed"`
	Failed               int64 `db:"failed" json:"failed"`
	Cancelled            int64 `db:"cancelled" json:"cancelled"`
	OverduePending       int64 `db:"overdue_pending" json:"overdue_pending"`           // pending, the LF's date has passed
	FixterminVerpasst    int64 `db:"fixtermin_verpasst" json:"fixtermin_verpasst"`     // of those, a DTM+203: a broken commitment
	FristUeberschritten  int64 `db:"frist_ueberschritten" json:"frist_ueberschritten"` // pending past its 6-WT window
	IFTSTAOutstanding    int64 `db:"iftsta_outstanding" json:"iftsta_outstanding"`     // closed, the LF not informed yet
	IFTSTAUeberfaellig   int64 `db:"iftsta_ueberfaellig" json:"iftsta_ueberfaellig"`   // of those, past the 1-WT window
	IFTSTAStuck          int64 `db:"iftsta_stuck" json:"iftsta_stuck"`                 // of those, past the retry budget
	VorlauffristVerletzt int64 `db:"vorlauffrist_verletzt" json:"vorlauffrist_verletzt"`
	WebhookRejectsOffen  int64 `db:"webhook_rejects_offen" json:"webhook_rejects_offen"`
}

// Stats counts the tenant's orders as of the Berlin day today.
func (r *Repository) Stats(ctx context.Context, today werktag.Date) (Stats, error) {
	rows, err := r.pool.Query(ctx, `
		WITH orders AS (
			SELECT *,
				status = 'pending' AS open,
				status IN ('executed', 'failed') AND process_id IS NOT NULL AND iftsta_dispatched_at IS NULL AS outstanding
			FROM sperr_orders WHERE tenant = @tenant
		)
		SELECT
			count(*) AS total,
			count(*) FILTER (WHERE open) AS pending,
			count(*) FILTER (WHERE status = 'executed') AS executed,
			count(*) FILTER (WHERE status = 'failed') AS failed,
			count(*) FILTER (WHERE status = 'cancelled') AS cancelled,
			count(*) FILTER (WHERE open AND COALESCE(ausfuehrung_am, fruehestens_am) < @today::date) AS overdue_pending,
			count(*) FILTER (WHERE open AND ausfuehrung_am < @today::date) AS fixtermin_verpasst,
			count(*) FILTER (WHERE open AND ausfuehrung_faellig_am < @today::date) AS frist_ueberschritten,
			count(*) FILTER (WHERE outstanding) AS iftsta_outstanding,
			count(*) FILTER (WHERE outstanding AND iftsta_faellig_am < @today::date) AS iftsta_ueberfaellig,
			count(*) FILTER (WHERE outstanding AND iftsta_attempts >= @max_attempts) AS iftsta_stuck,
			count(*) FILTER (WHERE vorlauffrist_eingehalten = false) AS vorlauffrist_verletzt,
			(SELECT count(*) FROM webhook_rejects WHERE tenant = @tenant) AS webhook_rejects_offen
		FROM orders`, pgx.NamedArgs{"tenant": r.tenant, "today": today, "max_attempts": r.maxAttempts})
	if err != nil {
		return Stats{}, fmt.Errorf("count orders: %w", err)
	}
	stats, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Stats])
	if err != nil {
		return Stats{}, fmt.Errorf("count orders: %w", err)
	}
	return stats, nil
}
