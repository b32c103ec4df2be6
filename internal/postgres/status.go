package postgres

import (
	"context"
	"errors"
	"fmt"

	migratepgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/jackc/pgx/v5"
)

// Status is what Migrator.Status found.
type Status struct {
	Version int      // applied version of the schema; 0: none
	Newest  int      // newest version there is a file for
	Dirty   bool     // a migration is running at this moment, or one was killed half-way
	Pending []string // names of the files that Up would run, in this order
}

// Status compares the schema with the files. It takes no lock and changes
// nothing, and so may look at the database while another replica migrates it.
func (m *Migrator) Status(ctx context.Context) (Status, error) {
	config, err := m.connConfig()
	if err != nil {
		return Status{}, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return Status{}, fmt.Errorf("connect to read the schema version: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return m.StatusOn(ctx, conn)
}

// StatusOn is Status over a connection to the same database that there is already.
func (m *Migrator) StatusOn(ctx context.Context, conn *pgx.Conn) (Status, error) {
	known, err := readFiles(m.fsys)
	if err != nil {
		return Status{}, err
	}
	version, dirty, err := readVersion(ctx, conn)
	if err != nil {
		return Status{}, fmt.Errorf("read the schema version: %w", err)
	}
	status := Status{Version: version, Newest: known.newest(), Dirty: dirty}
	for _, file := range known.after(version) {
		status.Pending = append(status.Pending, file.up)
	}
	return status, nil
}

// readVersion reads golang-migrate's table, which an empty database lacks.
func readVersion(ctx context.Context, conn *pgx.Conn) (version int, dirty bool, err error) {
	_, schema, err := lockID(ctx, conn)
	if err != nil {
		return 0, false, err
	}
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", versionTable(schema)).Scan(&exists); err != nil || !exists {
		return 0, false, err
	}
	err = conn.QueryRow(ctx, "SELECT version, dirty FROM "+versionTable(schema)).Scan(&version, &dirty)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	return max(version, 0), dirty, err
}

// versionTable is the quoted name of the table in which golang-migrate keeps
// the version.
func versionTable(schema string) string {
	return pgx.Identifier{schema, migratepgx.DefaultMigrationsTable}.Sanitize()
}
