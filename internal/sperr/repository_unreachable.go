package sperr

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/werktag"
)

// Unreachable are open orders that hold a day or a moment which nothing that waits for it
// ever meets, most likely a slip of somebody's SQL.
type Unreachable struct {
	Count    int64
	Examples []uuid.UUID // some of them, at most [maxExamples]
}

const maxExamples = 3

// unreachable holds for an order with an odd value, and for a requested day after the last
// one of the calendar, on which no Frist can be counted.
func unreachable() string {
	condition := requested + ` > @last_day::date`
	for _, c := range datedColumns {
		condition += ` OR NOT (` + c.ordinary() + `)`
	}
	return `COALESCE(` + condition + `, false)`
}

// Unreachable finds such orders among those that are pending and those whose Lieferant does
// not know the outcome. What it costs grows with these alone.
func (r *Repository) Unreachable(ctx context.Context, tx pgx.Tx) (u Unreachable, err error) {
	err = tx.QueryRow(ctx, `
		WITH found AS MATERIALIZED (
			SELECT id FROM sperr_orders WHERE tenant = @tenant AND status = 'pending' AND `+unreachable()+`
			UNION ALL
			SELECT id FROM sperr_orders WHERE tenant = @tenant AND `+outstanding+` AND `+unreachable()+`
		)
		SELECT (SELECT count(*) FROM found), ARRAY(SELECT id FROM found ORDER BY id LIMIT @limit)`,
		pgx.NamedArgs{"tenant": r.tenant, "limit": maxExamples, "last_day": werktag.NewDate(werktag.LastYear, 12, 31)}).
		Scan(&u.Count, &u.Examples)
	if err != nil {
		return Unreachable{}, fmt.Errorf("find open orders with days that never come: %w", err)
	}
	return u, nil
}
