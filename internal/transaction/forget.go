package transaction

import (
	"context"
	"fmt"
	"slices"
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
		SELECT logical_id, order_id FROM api_transactions
		WHERE tenant = @tenant AND state = 'final' AND expires_at <= @at
		ORDER BY expires_at LIMIT @limit FOR UPDATE SKIP LOCKED`,
		pgx.NamedArgs{"tenant": s.tenant, "at": at, "limit": maxForgotten})
	if err != nil {
		return nil, false, fmt.Errorf("find expired transactions: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e Expired, err error) {
		var orderID uuid.NullUUID
		err = row.Scan(&e.LogicalID, &orderID)
		e.OrderID = orderID.UUID
		return e, err
	})
	if err != nil {
		return nil, false, fmt.Errorf("find expired transactions: %w", err)
	}
	repeated, err := s.keepRepeated(ctx, tx, found, at)
	if err != nil {
		return nil, false, err
	}
	list = slices.DeleteFunc(found, func(e Expired) bool { return repeated[e.LogicalID] })
	return list, len(found) == maxForgotten, nil
}

// keepRepeated keeps those of locked operations that have a late call. While they are
// locked nobody notes another one, so that a statement after the lock sees all of them.
func (s *Store) keepRepeated(ctx context.Context, tx pgx.Tx, locked []Expired, at time.Time) (map[string]bool, error) {
	ids := make([]string, len(locked))
	for i, e := range locked {
		ids[i] = e.LogicalID
	}
	rows, err := tx.Query(ctx, `
		SELECT logical_id, max(received_at) FROM api_transaction_attempts
		WHERE tenant = @tenant AND logical_id = ANY (@ids) GROUP BY logical_id HAVING max(received_at) > @since`,
		pgx.NamedArgs{"tenant": s.tenant, "ids": ids, "since": at.Add(-s.kept())})
	if err != nil {
		return nil, fmt.Errorf("find repeated transactions: %w", err)
	}
	repeated := make(map[string]bool)
	var logicalIDs []string
	var until []time.Time
	var id string
	var lastCall time.Time
	_, err = pgx.ForEachRow(rows, []any{&id, &lastCall}, func() error {
		repeated[id], logicalIDs, until = true, append(logicalIDs, id), append(until, lastCall.Add(s.kept()))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find repeated transactions: %w", err)
	}
	return repeated, s.keepUntil(ctx, tx, logicalIDs, until)
}

// kept is how long an operation is kept after its last call that was noted. A call older
// than retention is refused; one that is sent again until then is recognised.
func (s *Store) kept() time.Duration { return s.retention + FutureSkew + notedFor }

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

// Abandoned counts the provisional answers that SettleAbandoned should have settled for
// as long again: nobody does.
func (s *Store) Abandoned(ctx context.Context, tx pgx.Tx, at time.Time) (n int64, err error) {
	err = tx.QueryRow(ctx, `
		SELECT count(*) FROM api_transactions
		WHERE tenant = $1 AND state = 'provisional' AND created_at < $2`, s.tenant, at.Add(-2*abandonedAfter)).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count abandoned transactions: %w", err)
	}
	return n, nil
}
