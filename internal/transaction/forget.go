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
	LogicalID string
	OrderID   uuid.UUID // zero: it concerned no order
}

// Expired locks operations that may be forgotten at a moment, the oldest first. It comes
// in groups; more tells that this one was full. An operation that was repeated meanwhile
// is kept from its last call on.
func (s *Store) Expired(ctx context.Context, tx pgx.Tx, at time.Time) (list []Expired, more bool, err error) {
	rows, err := tx.Query(ctx, `
		SELECT logical_id, order_id, COALESCE((SELECT max(a.received_at) FROM api_transaction_attempts a
			WHERE a.tenant = t.tenant AND a.logical_id = t.logical_id), created_at) AS last_call
		FROM api_transactions t
		WHERE tenant = @tenant AND state = 'final' AND expires_at <= @at
		ORDER BY expires_at LIMIT @limit FOR UPDATE SKIP LOCKED`,
		pgx.NamedArgs{"tenant": s.tenant, "at": at, "limit": maxForgotten})
	if err != nil {
		return nil, false, fmt.Errorf("find expired transactions: %w", err)
	}
	var repeated []string
	var until []time.Time
	found := 0
	var logicalID string
	var orderID uuid.NullUUID
	var lastCall time.Time
	_, err = pgx.ForEachRow(rows, []any{&logicalID, &orderID, &lastCall}, func() error {
		found++
		if end := s.expiry(lastCall); end.After(at) {
			repeated, until = append(repeated, logicalID), append(until, end)
		} else {
			list = append(list, Expired{LogicalID: logicalID, OrderID: orderID.UUID})
		}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("find expired transactions: %w", err)
	}
	return list, found == maxForgotten, s.keepUntil(ctx, tx, repeated, until)
}

// expiry is when an operation whose last call came at a moment may be forgotten. A call
// that is older than retention is refused; one sent again until then is recognised.
func (s *Store) expiry(lastCall time.Time) time.Time { return lastCall.Add(s.retention + FutureSkew) }

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
	until := make([]time.Time, len(logicalIDs))
	for i := range until {
		until[i] = at.Add(postponedBy)
	}
	return s.keepUntil(ctx, tx, logicalIDs, until)
}

func (s *Store) keepUntil(ctx context.Context, tx pgx.Tx, logicalIDs []string, until []time.Time) error {
	if len(logicalIDs) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `
		UPDATE api_transactions t SET expires_at = k.until
		FROM unnest($2::text[], $3::timestamptz[]) AS k (logical_id, until)
		WHERE t.tenant = $1 AND t.logical_id = k.logical_id`, s.tenant, logicalIDs, until)
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
