package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/golang-migrate/migrate/v4/database"
	migratepgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// acquire takes the migration lock for the session of conn and returns the
// schema whose migrations it guards. The lock_timeout of the connection bounds
// the wait; when it passes, the error names who holds the lock.
func (m *Migrator) acquire(ctx context.Context, conn *pgx.Conn) (schema string, err error) {
	id, schema, err := lockID(ctx, conn)
	if err != nil {
		return "", err
	}
	var free bool
	if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", id).Scan(&free); err != nil {
		return "", fmt.Errorf("take the migration lock: %w", err)
	}
	if free {
		return schema, nil
	}
	m.logger.Info("waiting for the migration lock", "held_by", holder(ctx, conn, id), "at_most", m.LockTimeout)
	start := time.Now()
	_, err = conn.Exec(ctx, "SELECT pg_advisory_lock($1)", id)
	if err == nil {
		m.logger.Info("got the migration lock", "waited", time.Since(start))
		return schema, nil
	}
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && pgErr.Code == "55P03" {
		return "", fmt.Errorf("the migration lock is still held after %s by %s; "+
			"if that session is not migrating, end it with SELECT pg_terminate_backend(pid): %w",
			m.LockTimeout, holder(ctx, conn, id), err)
	}
	return "", fmt.Errorf("take the migration lock: %w", err)
}

// lockID is the key of the advisory lock that golang-migrate derives from the
// names of database, schema and version table.
func lockID(ctx context.Context, conn *pgx.Conn) (id int64, schema string, err error) {
	var name string
	err = conn.QueryRow(ctx, "SELECT current_database(), coalesce(current_schema(), '')").Scan(&name, &schema)
	if err != nil {
		return 0, "", fmt.Errorf("ask for the schema: %w", err)
	}
	if schema == "" {
		return 0, "", errors.New("no schema on the search_path of the database exists")
	}
	text, err := database.GenerateAdvisoryLockId(name, schema, migratepgx.DefaultMigrationsTable)
	if err != nil {
		return 0, "", fmt.Errorf("derive the migration lock: %w", err)
	}
	id, err = strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, "", fmt.Errorf("derive the migration lock: %w", err)
	}
	return id, schema, nil
}

// holder describes the session that holds the lock, as far as the database lets
// this role see it: name and state of other roles' sessions may be hidden.
func holder(ctx context.Context, conn *pgx.Conn, id int64) string {
	const query = `
		SELECT l.pid, coalesce(a.application_name, ''), coalesce(a.state, ''), coalesce(host(a.client_addr), 'local')
		FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
		WHERE l.locktype = 'advisory' AND l.granted
		  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
		  AND l.classid::bigint = $1::bigint >> 32 AND l.objid::bigint = $1::bigint & 4294967295 AND l.objsubid = 1`
	var pid int
	var application, state, address string
	err := conn.QueryRow(ctx, query, id).Scan(&pid, &application, &state, &address)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return "nobody any more"
	case err != nil:
		return "an unknown session (" + err.Error() + ")"
	}
	return fmt.Sprintf("pid %d (application_name %q, state %q, from %s)", pid, application, state, address)
}
