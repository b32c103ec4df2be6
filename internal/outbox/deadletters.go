package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// MaxMoved is how many events one call of [Requeue] or [Hurry] moves, at most.
const MaxMoved = 1000

// Depth is how much of a tenant's outbox the ERP does not have.
type Depth struct {
	Pending       int64      // neither delivered nor given up
	DeadLetters   int64      // given up
	OldestPending *time.Time // when the oldest pending event was enqueued; nil without any
}

// rowQuerier is a pool or a transaction.
type rowQuerier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// ReadDepth counts what is not delivered. It reads none of the delivered rows.
func ReadDepth(ctx context.Context, q rowQuerier, tenant string) (Depth, error) {
	var d Depth
	err := q.QueryRow(ctx, `
		SELECT p.pending, d.dead, p.oldest
		FROM (SELECT count(*) AS pending, min(created_at) AS oldest FROM event_outbox
			WHERE tenant = $1 AND delivered_at IS NULL AND dead_lettered_at IS NULL) p,
		     (SELECT count(*) AS dead FROM event_outbox
			WHERE tenant = $1 AND dead_lettered_at IS NOT NULL) d`, tenant).
		Scan(&d.Pending, &d.DeadLetters, &d.OldestPending)
	if err != nil {
		return Depth{}, fmt.Errorf("count the events of the outbox: %w", err)
	}
	return d, nil
}

// ListOptions say what [List] lists.
type ListOptions struct {
	Tenant      string
	DeadLetters bool // dead letters; otherwise what is pending
	Limit       int  // most rows; at least 1
	Chosen
}

// Row is an event that the ERP does not have, without its content.
type Row struct {
	EventID        string
	Type           string
	OrderID        uuid.UUID
	Attempts       int
	CreatedAt      time.Time
	FirstAttemptAt *time.Time // nil before the first attempt
	NextAttemptAt  time.Time  // of no meaning for a dead letter
	DeadLetteredAt *time.Time // nil while pending
	LastError      *string    // of the last attempt that failed
}

// List returns the events that are not delivered, oldest first: dead letters by the
// moment they became that, pending ones as they were enqueued. more tells that there
// are others.
func List(ctx context.Context, pool *pgxpool.Pool, o ListOptions) (list []Row, more bool, err error) {
	where := `delivered_at IS NULL AND dead_lettered_at IS NULL` + chosen + ` ORDER BY seq`
	if o.DeadLetters {
		where = `dead_lettered_at IS NOT NULL` + chosen + ` ORDER BY dead_lettered_at, seq`
	}
	rows, err := pool.Query(ctx, `
		SELECT event_id, ce_type AS "type", order_id, attempts, created_at,
			first_attempt_at, next_attempt_at, dead_lettered_at, last_error
		FROM event_outbox WHERE tenant = @tenant AND `+where+` LIMIT @limit`, pgx.NamedArgs{
		"tenant": o.Tenant, "limit": o.Limit + 1, "type": o.Type, "order_id": o.OrderID, "before": o.Before,
	})
	if err != nil {
		return nil, false, fmt.Errorf("list the events of the outbox: %w", err)
	}
	list, err = pgx.CollectRows(rows, pgx.RowToStructByName[Row])
	if err != nil {
		return nil, false, fmt.Errorf("list the events of the outbox: %w", err)
	}
	if len(list) > o.Limit {
		return list[:o.Limit], true, nil
	}
	return list, false, nil
}

// Selection says which events a repair moves.
type Selection struct {
	Tenant   string
	EventIDs []string // none: all
	After    int64    // only those enqueued after this Seq
	Chosen
}

// Chosen chooses events; empty members choose nothing away.
type Chosen struct {
	Type    string        // such as de.sperr.ausgefuehrt
	OrderID uuid.NullUUID // of one order
	Before  *time.Time    // enqueued before
}

const chosen = ` AND (@type = '' OR ce_type = @type) AND (@order_id::uuid IS NULL OR order_id = @order_id)
	AND (@before::timestamptz IS NULL OR created_at < @before)`

// Moved is an event that is due once more.
type Moved struct {
	EventID string
	Type    string
	OrderID uuid.UUID
	Seq     int64 // its place in the outbox
}

// Requeue makes dead letters pending again, due at once and with all of their time before
// them, and returns them in the order of the outbox, at most [MaxMoved]. Ids that are no
// dead letters of the tenant are passed over. What went wrong stays readable as the last
// error until the next attempt.
//
// Later events of the order may have been delivered while this one was dead, and one
// may just be under way. The ERP gets the requeued event after them, with its old time.
func Requeue(ctx context.Context, tx pgx.Tx, s Selection) ([]Moved, error) {
	return move(ctx, tx, `
		WITH dead AS (
			SELECT id FROM event_outbox
			WHERE tenant = @tenant AND seq > @after AND dead_lettered_at IS NOT NULL
			  AND (@all::bool OR event_id = ANY (@event_ids::text[]))`+chosen+`
			ORDER BY seq LIMIT @limit FOR UPDATE),
		moved AS (
			UPDATE event_outbox o SET
				dead_lettered_at = NULL, attempts = 0, first_attempt_at = NULL, next_attempt_at = now()
			WHERE o.tenant = @tenant AND o.id = ANY (ARRAY(SELECT id FROM dead))
			RETURNING o.event_id, o.ce_type AS "type", o.order_id, o.seq)
		SELECT * FROM moved ORDER BY seq`, pgx.NamedArgs{
		"tenant": s.Tenant, "after": s.After, "all": len(s.EventIDs) == 0, "event_ids": s.EventIDs, "limit": MaxMoved,
		"type": s.Type, "order_id": s.OrderID, "before": s.Before,
	})
}

// Hurry makes pending events due that wait for longer than lease, so that nobody has them
// in hand: the ERP is back, and their wait is not over. It returns them in the order of the
// outbox, at most [MaxMoved]. EventIDs of the selection are not looked at.
func Hurry(ctx context.Context, tx pgx.Tx, s Selection, lease time.Duration) ([]Moved, error) {
	return move(ctx, tx, `
		WITH waiting AS (
			SELECT id FROM event_outbox
			WHERE tenant = @tenant AND seq > @after AND delivered_at IS NULL AND dead_lettered_at IS NULL
			  AND next_attempt_at > clock_timestamp() + @lease::interval -- now() is before claims that this one sees
			 `+chosen+`
			ORDER BY seq LIMIT @limit FOR UPDATE),
		moved AS (
			UPDATE event_outbox o SET next_attempt_at = now()
			WHERE o.tenant = @tenant AND o.id = ANY (ARRAY(SELECT id FROM waiting))
			RETURNING o.event_id, o.ce_type AS "type", o.order_id, o.seq)
		SELECT * FROM moved ORDER BY seq`, pgx.NamedArgs{
		"tenant": s.Tenant, "after": s.After, "lease": lease, "limit": MaxMoved, "type": s.Type, "order_id": s.OrderID, "before": s.Before,
	})
}

func move(ctx context.Context, tx pgx.Tx, sql string, args pgx.NamedArgs) ([]Moved, error) {
	rows, err := tx.Query(ctx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("make events due once more: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[Moved])
	if err != nil {
		return nil, fmt.Errorf("make events due once more: %w", err)
	}
	return list, nil
}
