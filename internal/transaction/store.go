package transaction

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// FutureSkew is how far in the future a creationDateTime may lie.
const FutureSkew = 5 * time.Minute

// notedFor is how long a call that comes again under the same id is not noted once more.
const notedFor = time.Hour

// Store is both tables as one tenant sees them. It is safe for concurrent use, also by
// several processes on one database. Times are the caller's clock.
type Store struct {
	pool      *pgxpool.Pool
	tenant    string
	retention time.Duration
}

// NewStore keeps the operations of tenant for retention after their last call.
func NewStore(pool *pgxpool.Pool, tenant string, retention time.Duration) *Store {
	return &Store{pool: pool, tenant: tenant, retention: retention}
}

// lockedIDs keeps an INSERT of ids from waiting for a call under way that uses one of
// them. Which of two calls has an id, its key decides.
const lockedIDs = `
	WITH free AS MATERIALIZED (
		SELECT bool_and(pg_try_advisory_xact_lock(hashtextextended('api_transactions/' || @tenant || '/' || id, 0))) AS all_of_them
		FROM unnest(@ids::text[]) AS id
	)`

// Claim gives the operation of a to tx, which then does the work and calls Keep. It is
// false where another call has it, done or under way; tx must be rolled back then. It
// waits for no other call: a connection that waits is missing to whom it waits for.
func (s *Store) Claim(ctx context.Context, tx pgx.Tx, a Attempt, at time.Time) (bool, error) {
	ids := a.ids()
	created, received := a.times(ids, at)
	tag, err := tx.Exec(ctx, lockedIDs+`
		INSERT INTO api_transaction_attempts (tenant, transaction_id, logical_id, creation_datetime, received_at, replayed)
		SELECT @tenant, i.id, @logical_id, i.created, i.received, false
		FROM free, unnest(@ids::text[], @created::timestamptz[], @received::timestamptz[]) AS i (id, created, received)
		WHERE free.all_of_them ORDER BY i.id
		ON CONFLICT (tenant, transaction_id) DO NOTHING`, pgx.NamedArgs{
		"tenant": s.tenant, "logical_id": a.Initial, "ids": ids, "created": created, "received": received,
	})
	if err != nil {
		return false, fmt.Errorf("claim a transaction: %w", err)
	}
	return tag.RowsAffected() == int64(len(ids)), nil
}

// Entry is what Keep writes.
type Entry struct {
	OrderID uuid.UUID // zero: none
	Answer  Answer
	// Provisional: the answer stands unless the caller settles another one.
	Provisional bool
	At          time.Time
}

// Keep writes the operation that tx has claimed and done.
func (s *Store) Keep(ctx context.Context, tx pgx.Tx, a Attempt, e Entry) error {
	state, settledAt := stateFinal, &e.At
	if e.Provisional {
		state, settledAt = stateProvisional, nil
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO api_transactions (tenant, logical_id, principal, operation, order_id, fingerprint, fingerprint_version,
			reference_id, executed_by, state, status_code, response_headers, response_body, created_at, settled_at, expires_at)
		VALUES (@tenant, @logical_id, @principal, @operation, @order_id, @fingerprint, @fingerprint_version,
			NULLIF(@reference_id, ''), @executed_by, @state, @status_code, @response_headers, @response_body, @at, @settled_at, @expires_at)`,
		pgx.NamedArgs{
			"tenant": s.tenant, "logical_id": a.Initial, "principal": a.Principal, "operation": a.Operation,
			"order_id": uuid.NullUUID{UUID: e.OrderID, Valid: e.OrderID != uuid.Nil}, "fingerprint": a.Fingerprint[:],
			"fingerprint_version": FingerprintVersion, "reference_id": a.Reference, "executed_by": a.ID,
			"state": state, "status_code": e.Answer.Status, "response_headers": nonNil(e.Answer.Header), "response_body": bytesOf(e.Answer.Body),
			"at": e.At, "settled_at": settledAt, "expires_at": e.At.Add(s.kept()),
		})
	if err != nil {
		return fmt.Errorf("keep transaction %s: %w", Shown(a.Initial), err)
	}
	return nil
}

// Settle makes a provisional answer final, with another text or, for nil, as it stands,
// and returns the one that holds: of several that settle, the first one decides.
func (s *Store) Settle(ctx context.Context, logicalID string, answer *Answer, at time.Time) (Answer, error) {
	set, args := "", pgx.NamedArgs{"tenant": s.tenant, "logical_id": logicalID, "at": at}
	if answer != nil {
		set = `, status_code = @status_code, response_headers = @response_headers, response_body = @response_body, redacted_at = NULL`
		args["status_code"], args["response_headers"], args["response_body"] = answer.Status, nonNil(answer.Header), bytesOf(answer.Body)
	}
	settled, err := s.answer(ctx, `
		UPDATE api_transactions SET state = 'final', settled_at = @at`+set+`
		WHERE tenant = @tenant AND logical_id = @logical_id AND state = 'provisional'
		RETURNING status_code, response_headers, response_body`, args)
	if errors.Is(err, pgx.ErrNoRows) { // somebody else has; a new statement sees it
		settled, err = s.answer(ctx, `
			SELECT status_code, response_headers, response_body FROM api_transactions
			WHERE tenant = @tenant AND logical_id = @logical_id`, args)
	}
	if err != nil {
		return Answer{}, fmt.Errorf("settle transaction %s: %w", Shown(logicalID), err)
	}
	return settled, nil
}

func (s *Store) answer(ctx context.Context, sql string, args pgx.NamedArgs) (a Answer, err error) {
	err = s.pool.QueryRow(ctx, sql, args).Scan(&a.Status, &a.Header, &a.Body)
	return a, err
}

func nonNil(header map[string]string) map[string]string {
	if header == nil {
		return map[string]string{}
	}
	return header
}

func bytesOf(body []byte) []byte {
	if body == nil {
		return []byte{}
	}
	return body
}
