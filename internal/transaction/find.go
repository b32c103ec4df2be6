package transaction

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Find looks up the operation of a call and notes the call with it, so that a later one
// may name it. found is false where nobody has done the operation yet. An operation that
// is not the caller's is a *ConflictError, and it is ErrInProgress where another call
// uses an id of this one at the moment. It waits for nobody.
func (s *Store) Find(ctx context.Context, a Attempt, at time.Time) (r Record, found bool, err error) {
	const rounds = 3 // a call that notes the same ids, or a purge, may come between
	for range rounds {
		known, err := s.known(ctx, a)
		if err != nil {
			return Record{}, false, err
		}
		row, missing, err := resolve(a, known)
		if err != nil || row == nil {
			return Record{}, false, err
		}
		if err := row.compare(a); err != nil {
			return Record{}, false, err
		}
		if own := known[a.ID]; missing == nil && at.Sub(*own.ReceivedAt) > notedFor {
			missing = []string{a.ID}
		}
		if missing == nil {
			return row.record(), true, nil
		}
		noted, err := s.note(ctx, a, row.LogicalID, missing, at)
		if err != nil {
			return Record{}, false, err
		}
		if noted {
			return row.record(), true, nil
		}
	}
	return Record{}, false, ErrInProgress
}

// known are the operations that the ids of a belong to, by these ids.
func (s *Store) known(ctx context.Context, a Attempt) (map[string]row, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT a.transaction_id, a.received_at, `+recordColumns+`
		FROM api_transaction_attempts a JOIN api_transactions t USING (tenant, logical_id)
		WHERE a.tenant = $1 AND a.transaction_id = ANY ($2)`, s.tenant, a.ids())
	if err != nil {
		return nil, fmt.Errorf("find a transaction: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
	if err != nil {
		return nil, fmt.Errorf("find a transaction: %w", err)
	}
	known := make(map[string]row, len(list))
	for _, r := range list {
		known[r.TransactionID] = r
	}
	return known, nil
}

// note binds ids of a to an operation. It is false where another call has bound one of
// them meanwhile or is about to, or where the operation is being forgotten: it must not go
// while its ids come.
func (s *Store) note(ctx context.Context, a Attempt, logicalID string, ids []string, at time.Time) (bool, error) {
	created, received := a.times(ids, at)
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, lockedIDs+`
			INSERT INTO api_transaction_attempts AS known (tenant, transaction_id, logical_id, creation_datetime, received_at, replayed)
			SELECT t.tenant, i.id, t.logical_id, i.created, i.received, i.received IS NOT NULL
			FROM (SELECT * FROM api_transactions WHERE tenant = @tenant AND logical_id = @logical_id FOR KEY SHARE SKIP LOCKED) AS t,
				free, unnest(@ids::text[], @created::timestamptz[], @received::timestamptz[]) AS i (id, created, received)
			WHERE free.all_of_them ORDER BY i.id
			ON CONFLICT (tenant, transaction_id) DO UPDATE SET
				creation_datetime = COALESCE(known.creation_datetime, EXCLUDED.creation_datetime),
				received_at = GREATEST(known.received_at, EXCLUDED.received_at), replayed = known.replayed OR EXCLUDED.replayed
			WHERE known.logical_id = EXCLUDED.logical_id`, pgx.NamedArgs{
			"tenant": s.tenant, "logical_id": logicalID, "ids": ids, "created": created, "received": received,
		})
		if err == nil && tag.RowsAffected() != int64(len(ids)) {
			return errNotNoted // none of them, so that no id is bound by a call that is refused
		}
		return err
	})
	switch {
	case errors.Is(err, errNotNoted):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("note a transaction: %w", err)
	}
	return true, nil
}

var errNotNoted = errors.New("an id is bound by another call")
