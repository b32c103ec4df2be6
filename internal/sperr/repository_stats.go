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
	OverduePending       int64 `db:"overdue_pending" json:"overdue_pending"`             // pending, the LF's date has passed
	FixterminVerpasst    int64 `db:"fixtermin_verpasst" json:"fixtermin_verpasst"`       // of those, a DTM+203: a broken commitment
	FristUeberschritten  int64 `db:"frist_ueberschritten" json:"frist_ueberschritten"`   // pending past its 6-WT window
	IFTSTAOutstanding    int64 `db:"iftsta_outstanding" json:"iftsta_outstanding"`       // closed, the LF not informed yet
	IFTSTAUeberfaellig   int64 `db:"iftsta_ueberfaellig" json:"iftsta_ueberfaellig"`     // of those, past the 1-WT window
	IFTSTAStuck          int64 `db:"iftsta_stuck" json:"iftsta_stuck"`                   // of those, past the retry budget
	VorlauffristVerletzt int64 `db:"vorlauffrist_verletzt" json:"vorlauffrist_verletzt"` // pending and closed
	WebhookRejectsOffen  int64 `db:"webhook_rejects_offen" json:"webhook_rejects_offen"` // that nobody has settled
}

// countOrders is one statement, so that everything in it is seen at one moment: an
// order that is being closed counts as pending or as closed, never as both. Open work
// is counted over the partial indexes that hold nothing else; their conditions must
// stand here as they do there. Closed orders come from the totals that triggers keep.
var countOrders = `
	SELECT
		pending + executed + failed + cancelled AS total,
		pending, executed, failed, cancelled, overdue_pending, fixtermin_verpasst, frist_ueberschritten,
		iftsta_outstanding, iftsta_ueberfaellig, iftsta_stuck,
		open.verletzt + closed.verletzt AS vorlauffrist_verletzt,
		(SELECT count(*) FROM webhook_rejects WHERE tenant = @tenant AND ` + unsettled + `) AS webhook_rejects_offen
	FROM (
		SELECT
			count(*) AS pending,
			count(*) FILTER (WHERE COALESCE(ausfuehrung_am, fruehestens_am) < @today::date AND ` + aDay(requested) + `) AS overdue_pending,
			count(*) FILTER (WHERE ausfuehrung_am < @today::date AND ` + aDay("ausfuehrung_am") + `) AS fixtermin_verpasst,
			count(*) FILTER (WHERE ausfuehrung_faellig_am < @today::date AND ` + aDay("ausfuehrung_faellig_am") + `) AS frist_ueberschritten,
			count(*) FILTER (WHERE vorlauffrist_eingehalten = false) AS verletzt
		FROM sperr_orders
		WHERE tenant = @tenant AND status = 'pending'
	) AS open, (
		SELECT
			count(*) AS iftsta_outstanding,
			count(*) FILTER (WHERE iftsta_faellig_am < @today::date) AS iftsta_ueberfaellig,
			count(*) FILTER (WHERE ` + spent + `) AS iftsta_stuck
		FROM sperr_orders
		WHERE tenant = @tenant AND ` + outstanding + `
	) AS owed, (
		SELECT
			COALESCE(sum(n) FILTER (WHERE status = 'executed'), 0)::bigint AS executed,
			COALESCE(sum(n) FILTER (WHERE status = 'failed'), 0)::bigint AS failed,
			COALESCE(sum(n) FILTER (WHERE status = 'cancelled'), 0)::bigint AS cancelled,
			COALESCE(sum(n) FILTER (WHERE vorlauffrist_verletzt), 0)::bigint AS verletzt
		FROM sperr_order_totals
		WHERE tenant = @tenant
	) AS closed`

// Stats counts the tenant's orders as of the Berlin day today. What it costs grows
// with the open work, not with the closed orders.
func (r *Repository) Stats(ctx context.Context, today werktag.Date) (Stats, error) {
	return r.stats(ctx, r.pool, today)
}

// StatsIn is Stats as a transaction sees the orders.
func (r *Repository) StatsIn(ctx context.Context, tx pgx.Tx, today werktag.Date) (Stats, error) {
	return r.stats(ctx, tx, today)
}

func (r *Repository) stats(ctx context.Context, q querier, today werktag.Date) (Stats, error) {
	rows, err := q.Query(ctx, countOrders, r.countArgs(today))
	if err != nil {
		return Stats{}, fmt.Errorf("count orders: %w", err)
	}
	stats, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Stats])
	if err != nil {
		return Stats{}, fmt.Errorf("count orders: %w", err)
	}
	return stats, nil
}

func (r *Repository) countArgs(today werktag.Date) pgx.NamedArgs {
	return pgx.NamedArgs{"tenant": r.tenant, "today": today, "max_attempts": r.maxAttempts}
}

// foldLimit bounds the rows that one fold reads, and so how long it takes.
const foldLimit = 50_000

// foldTotals merges the rows that closings have appended to the tenant's totals, so
// that the next sum over them is short. The sum itself stays as it is: the same
// statement takes rows away and writes what they came to. Rows that another fold
// works on are left to it, and a row that stands alone already is left in place.
func (r *Repository) foldTotals(ctx context.Context, tx pgx.Tx) error {
	// The trigger on the table passes over every other merge.
	if _, err := tx.Exec(ctx, `SELECT set_config('sperrd.fold', 'by type', true)`); err != nil {
		return fmt.Errorf("fold the totals of closed orders: %w", err)
	}
	_, err := tx.Exec(ctx, `
		WITH mine AS MATERIALIZED (
			SELECT ctid AS place, status, order_type, vorlauffrist_verletzt FROM sperr_order_totals
			WHERE tenant = $1 ORDER BY id LIMIT $2
			FOR UPDATE SKIP LOCKED
		), shared AS (
			SELECT place, count(*) OVER (PARTITION BY status, order_type, vorlauffrist_verletzt) AS rows FROM mine
		), taken AS (
			-- By their place, which a locked row keeps: how many there are differs too much
			-- from the planner's statistics to let it choose a join.
			DELETE FROM sperr_order_totals
			WHERE ctid = ANY (ARRAY(SELECT place FROM shared WHERE rows > 1))
			RETURNING status, order_type, vorlauffrist_verletzt, n
		)
		INSERT INTO sperr_order_totals (tenant, status, order_type, vorlauffrist_verletzt, n)
		SELECT $1, status, order_type, vorlauffrist_verletzt, sum(n) FROM taken
		GROUP BY status, order_type, vorlauffrist_verletzt HAVING sum(n) <> 0`, r.tenant, foldLimit)
	if err != nil {
		return fmt.Errorf("fold the totals of closed orders: %w", err)
	}
	return nil
}
