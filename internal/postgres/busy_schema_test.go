package postgres_test

import (
	"context"
	"testing"
	"time"

	"sperrd/internal/postgres"
	"sperrd/internal/postgres/postgrestest"
	"sperrd/migrations"
)

// A table that somebody reads for long must not close the orders while a migration waits.
func TestMigration_that_waits_for_the_rejects_leaves_the_orders_to_the_others(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	for status(t, url, migrations.FS).Version >= 9 {
		if err := postgres.NewMigrator(url, migrations.FS, nil).Down(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	reader, other := connect(t, url), connect(t, url)
	for _, sql := range []string{`BEGIN`, `SELECT count(*) FROM webhook_rejects`} {
		if _, err := reader.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	migrated := make(chan error, 1)
	go func() { migrated <- postgres.NewMigrator(url, migrations.FS, nil).Up(t.Context()) }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for waiting := false; !waiting; {
		err := other.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'webhook_rejects'::regclass AND NOT granted)`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := other.Exec(ctx, `SET lock_timeout = '10s'; SELECT count(*) FROM sperr_orders`); err != nil {
		t.Errorf("the orders are closed while the migration waits: %v", err)
	}
	if _, err := reader.Exec(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	if err := <-migrated; err != nil {
		t.Errorf("the migration, once nobody reads: %v", err)
	}
}
