package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sperrd/internal/postgres"
	"sperrd/internal/postgres/postgrestest"
	"sperrd/migrations"
)

// busy is a database before migration 0009, where somebody reads a table that the migration
// locks, until release.
func busy(t *testing.T) (url string, other *pgx.Conn, release func()) {
	t.Helper()
	url = postgrestest.NewURL(t)
	for status(t, url, migrations.FS).Version >= 9 {
		if err := postgres.NewMigrator(url, migrations.FS, nil).Down(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	reader := connect(t, url)
	do(t, reader, `BEGIN`)
	do(t, reader, `SELECT count(*) FROM webhook_rejects`)
	return url, connect(t, url), func() { do(t, reader, `COMMIT`) }
}

// migrating begins to migrate, and returns when that waits for the reader.
func migrating(t *testing.T, other *pgx.Conn, migrate func() error) (ended <-chan error) {
	t.Helper()
	migrated := make(chan error, 1)
	go func() { migrated <- migrate() }()
	bounded, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for waiting := false; !waiting; {
		err := other.QueryRow(bounded, `SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'webhook_rejects'::regclass AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
	return migrated
}

// A table that somebody reads for long must not close the orders while a migration waits.
func TestMigration_that_waits_for_the_rejects_leaves_the_orders_to_the_others(t *testing.T) {
	t.Parallel()
	url, other, release := busy(t)
	migrated := migrating(t, other, func() error { return postgres.NewMigrator(url, migrations.FS, nil).Up(t.Context()) })
	if _, err := other.Exec(t.Context(), `SET lock_timeout = '10s'; SELECT count(*) FROM sperr_orders`); err != nil {
		t.Errorf("the orders are closed while the migration waits: %v", err)
	}
	release()
	if err := <-migrated; err != nil {
		t.Errorf("the migration, once nobody reads: %v", err)
	}
}

// Whoever stops a process that waits kills it when it does not stop, and leaves a mark.
func TestMigration_that_waits_ends_when_it_is_stopped_and_leaves_no_mark(t *testing.T) {
	t.Parallel()
	url, other, release := busy(t)
	defer release()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	migrated := migrating(t, other, func() error { return postgres.NewMigrator(url, migrations.FS, nil).Up(ctx) })
	stop()
	select {
	case err := <-migrated:
		if err == nil {
			t.Error("it says that it has migrated")
		}
	case <-time.After(15 * time.Second):
		t.Fatal("it goes on waiting")
	}
	if s := status(t, url, migrations.FS); s.Version != 8 || s.Dirty {
		t.Errorf("schema %+v, want version 8 without a mark", s)
	}
}

// The way down locks the same tables.
func TestMigration_back_leaves_the_orders_to_the_others(t *testing.T) {
	t.Parallel()
	url, other, release := busy(t)
	release()
	up(t, url, migrations.FS)
	for status(t, url, migrations.FS).Version > 10 { // the last one that locks what the reader holds
		if err := postgres.NewMigrator(url, migrations.FS, nil).Down(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	reader := connect(t, url)
	do(t, reader, `BEGIN`)
	do(t, reader, `SELECT count(*) FROM webhook_rejects`)
	taken := migrating(t, other, func() error { return postgres.NewMigrator(url, migrations.FS, nil).Down(t.Context()) })
	if _, err := other.Exec(t.Context(), `SET lock_timeout = '10s'; SELECT count(*) FROM sperr_orders`); err != nil {
		t.Errorf("the orders are closed while the migration waits: %v", err)
	}
	do(t, reader, `COMMIT`)
	if err := <-taken; err != nil {
		t.Errorf("the way back, once nobody reads: %v", err)
	}
}
