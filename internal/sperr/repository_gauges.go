package sperr

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// TypeCount is how many orders of one type have one status.
type TypeCount struct {
	Status    Status `db:"status"`
	OrderType Type   `db:"order_type"`
	N         int64  `db:"n"`
}

// countByType reads the pending orders from the index that holds nothing else, and the
// closed ones from their totals.
const countByType = `
	SELECT 'pending' AS status, order_type, count(*) AS n
	FROM sperr_orders WHERE tenant = $1 AND status = 'pending' GROUP BY order_type
	UNION ALL
	SELECT status, order_type, sum(n)::bigint FROM sperr_order_totals WHERE tenant = $1 GROUP BY status, order_type`

// CountByType counts the tenant's orders by status and type; what there is none of is left
// out. What it costs grows with the pending orders, not with the closed ones.
func (r *Repository) CountByType(ctx context.Context) ([]TypeCount, error) {
	rows, err := r.pool.Query(ctx, countByType, r.tenant)
	if err != nil {
		return nil, fmt.Errorf("count orders by type: %w", err)
	}
	counts, err := pgx.CollectRows(rows, pgx.RowToStructByName[TypeCount])
	if err != nil {
		return nil, fmt.Errorf("count orders by type: %w", err)
	}
	return counts, nil
}
