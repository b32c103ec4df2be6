package transaction

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const (
	// maxForgotten bounds what one transaction forgets.
	maxForgotten = 500
	// abandonedAfter is longer than any call takes: a provisional answer of that age is
	// settled by nobody any more.
	abandonedAfter = time.Hour
	// postponedBy is when an operation that may not be forgotten yet is looked at again.
	postponedBy = 24 * time.Hour
)

// Expired is an operation that nobody has repeated for as long as they are kept.
type Expired struct {
	LogicalID string        `db:"logical_id"`
	OrderID   uuid.NullUUID `db:"order_id"`
}

// Expired locks operations that may be forgotten at a moment, the oldest first. It comes
// in groups; more tells that this one was full.
func (s *Store) Expired(ctx context.Context, tx pgx.Tx, at time.Time) (list []Expired, more bool, err error) {
	rows, err := tx.Query(ctx, `
		SELECT logical_id, order_id FROM api_transactions t
		WHERE tenant = @tenant AND state = 'final' AND expires_at <= @at
		  AND NOT EXISTS (SELECT FROM api_transaction_attempts a
			WHERE a.tenant = t.tenant AND a.logical_id = t.logical_id AND a.received_at > @since)
		ORDER BY expires_at LIMIT @limit FOR UPDATE SKIP LOCKED`,
		pgx.NamedArgs{"tenant": s.tenant, "at": at, "since": at.Add(-s.retention - FutureSkew), "limit": maxForgotten})
	if err != nil {
		return nil, false, fmt.Errorf("find expired transactions: %w", err)
	}
	list, err = pgx.CollectRows(rows, pgx.RowToStructByName[Expired])
	if err != nil {
		return nil, false, fmt.Errorf("find expired transactions: %w", err)
	}
	return list, len(list) == maxForgotten, nil
}

// Forget deletes operations with all their ids.
func (s *Store) Forget(ctx context.Context, tx pgx.Tx, logicalIDs []string) error {
	_, err := tx.Exec(ctx, `DELETE FROM api_transactions WHERE tenant = $1 AND logical_id = ANY ($2)`, s.tenant, logicalIDs)
	if err != nil {
		return fmt.Errorf("forget transactions: %w", err)
	}
	return nil
}

// Postpone keeps expired operations for another day.
func (s *Store) Postpone(ctx context.Context, tx pgx.Tx, logicalIDs []string, at time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE api_transactions SET expires_at = $3 WHERE tenant = $1 AND logical_id = ANY ($2)`,
		s.tenant, logicalIDs, at.Add(postponedBy))
	if err != nil {
		return fmt.Errorf("keep expired transactions: %w", err)
	}
	return nil
}

// SettleAbandoned makes the provisional answers of calls final that have died.
func (s *Store) SettleAbandoned(ctx context.Context, tx pgx.Tx, at time.Time) error {
	_, err := tx.Exec(ctx, `
		UPDATE api_transactions SET state = 'final', settled_at = @at
		WHERE tenant = @tenant AND state = 'provisional' AND created_at < @before`,
		pgx.NamedArgs{"tenant": s.tenant, "at": at, "before": at.Add(-abandonedAfter)})
	if err != nil {
		return fmt.Errorf("settle abandoned transactions: %w", err)
	}
	return nil
}
