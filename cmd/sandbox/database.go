package main

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/makod/makodtest"
)

// rememberProcesses gives makod back the processes whose outcome it has not been
// told yet: the simulated one forgets with each run, sperrd's database may not.
func (n *neighbourhood) rememberProcesses(ctx context.Context) error {
	rows, err := n.database.Query(ctx, `
		SELECT process_id, malo_id, pruefidentifikator FROM sperr_orders
		WHERE tenant = $1 AND process_id IS NOT NULL AND pruefidentifikator IS NOT NULL
		  AND status <> 'cancelled' AND iftsta_dispatched_at IS NULL
		ORDER BY created_at`, tenant)
	if err != nil {
		return fmt.Errorf("read the open processes: %w", err)
	}
	open, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p makodtest.Process, err error) {
		err = row.Scan(&p.ID, &p.MaloID, &p.PID)
		return p, err
	})
	if err != nil {
		return fmt.Errorf("read the open processes: %w", err)
	}
	for _, p := range open {
		if _, err := n.market.makod.SpawnBeside(p); err != nil {
			return fmt.Errorf("bring back an open process: %w", err)
		}
	}
	if len(open) > 0 {
		n.say("makod has the %d open processes of earlier runs again", len(open))
	}
	return nil
}

// eventCount is how many events of one type wait for the ERP.
type eventCount struct {
	Type  string
	Count int
}

// waitingEvents counts the undelivered events of these orders by type.
func (n *neighbourhood) waitingEvents(ctx context.Context, orders []uuid.UUID) ([]eventCount, error) {
	rows, err := n.database.Query(ctx, `
		SELECT ce_type, count(*) FROM event_outbox
		WHERE tenant = $1 AND order_id = ANY($2) AND delivered_at IS NULL
		GROUP BY ce_type ORDER BY ce_type`, tenant, orders)
	if err != nil {
		return nil, fmt.Errorf("read the outbox: %w", err)
	}
	counts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[eventCount])
	if err != nil {
		return nil, fmt.Errorf("read the outbox: %w", err)
	}
	return counts, nil
}
