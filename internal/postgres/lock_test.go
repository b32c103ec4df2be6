package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sperrd/internal/postgres"
	"sperrd/internal/postgres/postgrestest"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/jackc/pgx/v5"
)

// holdLock takes golang-migrate's lock in a session called psql.
func holdLock(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn := connect(t, url+"&application_name=psql")
	id, err := database.GenerateAdvisoryLockId(ask[string](t, conn, "SELECT current_database()"), "public", "schema_migrations")
	if err != nil {
		t.Fatal(err)
	}
	do(t, conn, "SELECT pg_advisory_lock("+id+")")
	return conn
}

func TestUp_waits_for_a_held_lock_with_a_bound_and_names_the_holder(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewEmptyURL(t)
	holding := holdLock(t, url)
	var log recorder
	migrator := postgres.NewMigrator(url, fixture(1), log.logger())
	migrator.LockTimeout = 100 * time.Millisecond
	start := time.Now()
	err := migrator.Up(t.Context())
	waited := time.Since(start)

	holder := fmt.Sprintf(`pid %d (application_name "psql", state "idle"`, holding.PgConn().PID())
	if err == nil || !strings.Contains(err.Error(), holder) {
		t.Errorf("Up() = %v, want an error with %s", err, holder)
	}
	if !postgres.IsUnavailable(err) {
		t.Error("a held lock passes, but IsUnavailable is false")
	}
	if waited < migrator.LockTimeout || waited > 10*time.Second {
		t.Errorf("waited %s, want about %s", waited, migrator.LockTimeout)
	}
	if want := "waiting for the migration lock held_by=" + holder; !strings.Contains(log.text(), want) {
		t.Errorf("log = %q, want %q", log.text(), want)
	}
	if n := ask[int](t, holding, advisoryLocks); n != 1 {
		t.Errorf("%d advisory locks, want only the holder's", n)
	}
}

func TestUp_goes_on_when_the_lock_is_given_back(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewEmptyURL(t)
	holding := holdLock(t, url)
	log := recorder{on: func(message string) {
		if message == "waiting for the migration lock" {
			do(t, holding, "SELECT pg_advisory_unlock_all()")
		}
	}}
	if err := postgres.NewMigrator(url, fixture(1), log.logger()).Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.text(), "got the migration lock") {
		t.Errorf("log = %q, want the end of the wait", log.text())
	}
	if n := ask[int](t, holding, advisoryLocks); n != 0 {
		t.Errorf("%d advisory locks are left", n)
	}
}

func TestUp_cancelled_ends_the_wait_for_the_lock(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewEmptyURL(t)
	holding := holdLock(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	log := recorder{on: func(string) { cancel() }}
	err := postgres.NewMigrator(url, fixture(1), log.logger()).Up(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Up() = %v, want context.Canceled", err)
	}
	do(t, holding, "SELECT pg_advisory_unlock_all()")
	up(t, url, fixture(1)) // the session that gave up does not get the lock later and keep it
}
