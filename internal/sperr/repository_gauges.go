package sperr

import (
	"context"
	"fmt"
)

// countOpenRejects reads the index that holds nothing but open rows.
const countOpenRejects = `SELECT count(*) FROM webhook_rejects WHERE tenant = $1 AND ` + unsettled

// OpenRejects counts the tenant's refused deliveries that nobody has settled. What it
// costs grows with those alone.
func (r *Repository) OpenRejects(ctx context.Context) (int64, error) {
	var n int64
	if err := r.pool.QueryRow(ctx, countOpenRejects, r.tenant).Scan(&n); err != nil {
		return 0, fmt.Errorf("count open refused deliveries: %w", err)
	}
	return n, nil
}
