package postgres

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	migratepgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// session is a connection that holds the migration lock.
type session struct {
	migrate *migrate.Migrate
	driver  database.Driver
	version int // applied at the time the lock was taken; 0: none
	pid     uint32
}

// locked runs work under the migration lock, on a schema that is not dirty, and
// gives the lock back before it returns.
func (m *Migrator) locked(ctx context.Context, files files, work func(*session) error) error {
	config, err := m.connConfig()
	if err != nil {
		return err
	}
	// The lock belongs to one connection, which is all this pool ever has. Taken
	// here first, it is taken once more by golang-migrate, which on the same
	// connection succeeds at once: its own way to wait heeds neither a context
	// nor a bound.
	var conn *pgx.Conn
	db := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(_ context.Context, c *pgx.Conn) error {
		conn = c
		return nil
	}))
	db.SetMaxOpenConns(1)
	defer func() { release(ctx, conn, db) }()
	if err := db.PingContext(ctx); err != nil {
		return fmt.Errorf("connect to migrate: %w", err)
	}
	schema, err := m.acquire(ctx, conn)
	if err != nil {
		return err
	}
	driver, err := migratepgx.WithInstance(db, &migratepgx.Config{SchemaName: schema})
	if err != nil {
		return fmt.Errorf("prepare the migration: %w", cause(err))
	}
	version, dirty, err := driver.Version()
	if err != nil {
		return fmt.Errorf("read the schema version: %w", cause(err))
	}
	if dirty {
		return newDirtyError(files, version, schema)
	}
	source, err := newMarkingSource(m.fsys, schema)
	if err != nil {
		return err
	}
	steps, err := migrate.NewWithInstance("files", source, "pgx5", driver)
	if err != nil {
		return fmt.Errorf("prepare the migration: %w", err)
	}
	return work(&session{migrate: steps, driver: driver, version: max(version, 0), pid: conn.PgConn().PID()})
}

// connConfig is a connection of its own kind: a migration may take its time,
// but must not queue for ever behind somebody's lock.
func (m *Migrator) connConfig() (*pgx.ConnConfig, error) {
	if err := checkSplit(m.url); err != nil {
		return nil, err
	}
	config, err := pgx.ParseConfig(m.url)
	if err != nil {
		return nil, parseError(m.url, err)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	config.RuntimeParams["application_name"] = "sperrd migrate"
	config.RuntimeParams["statement_timeout"] = "0"
	config.RuntimeParams["lock_timeout"] = fmt.Sprint(max(m.LockTimeout.Milliseconds(), 1))
	config.RuntimeParams["timezone"] = "UTC"
	return config, nil
}

// release gives up every lock of the session and closes it. Waiting for the
// server's answer makes the lock free at the moment the caller goes on.
func release(ctx context.Context, conn *pgx.Conn, db *sql.DB) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	if conn != nil {
		_, _ = conn.Exec(ctx, "SELECT pg_advisory_unlock_all()")
		_ = conn.Close(ctx)
	}
	_ = db.Close()
}
