package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// rowQuerier is a pool or a transaction.
type rowQuerier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Snapshot is what keeps the server from cleaning up after updates: every claim of a queue
// leaves a dead row, and walks over those that nobody may remove yet.
type Snapshot struct {
	Age time.Duration // 0: there is none
	// Holder is what to look for: the process id and application of a session, or a
	// prepared transaction. It names neither a statement nor an address.
	Holder string
	// End is the statement that ends it, for a role that may.
	End string
}

// OldestSnapshot is the oldest snapshot that holds back the clean-up in the database of q,
// a pool or a transaction, of a session or of a prepared transaction. A role without pg_read_all_stats sees
// the sessions of its own roles alone. Replication slots are not looked at: how old what
// they hold is nobody can tell.
func OldestSnapshot(ctx context.Context, q rowQuerier) (Snapshot, error) {
	var s Snapshot
	var seconds float64
	err := q.QueryRow(ctx, `
		SELECT seconds, holder, ending FROM (
			SELECT EXTRACT(epoch FROM clock_timestamp() - COALESCE(xact_start, backend_start)) AS seconds,
				'session ' || pid || ' (' || COALESCE(NULLIF(application_name, ''), 'no application_name') || ')' AS holder,
				'SELECT pg_terminate_backend(' || pid || ')' AS ending
			FROM pg_stat_activity
			WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() AND (datname = current_database() OR datname IS NULL)
				AND COALESCE(xact_start, backend_start) IS NOT NULL
			UNION ALL
			SELECT EXTRACT(epoch FROM clock_timestamp() - prepared), 'prepared transaction ' || quote_literal(gid),
				'ROLLBACK PREPARED ' || quote_literal(gid)
			FROM pg_prepared_xacts WHERE database = current_database()
			UNION ALL
			SELECT 0, '', ''
		) held ORDER BY seconds DESC LIMIT 1`).Scan(&seconds, &s.Holder, &s.End)
	if err != nil {
		return Snapshot{}, fmt.Errorf("find the oldest snapshot: %w", err)
	}
	s.Age = time.Duration(max(seconds, 0) * float64(time.Second))
	return s, nil
}
