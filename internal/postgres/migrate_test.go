package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"sperrd/internal/postgres"
	"sperrd/internal/postgres/postgrestest"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/errgroup"
)

// fixture is n migrations; each makes a table of its own and leaves a line in
// the first, so that running twice shows up.
func fixture(n int) fstest.MapFS {
	files := fstest.MapFS{}
	for v := 1; v <= n; v++ {
		up := fmt.Sprintf("CREATE TABLE t%d (); INSERT INTO applied VALUES (%d)", v, v)
		if v == 1 {
			up = "CREATE TABLE applied (version int); " + up
		}
		down := fmt.Sprintf("DROP TABLE t%d; DELETE FROM applied WHERE version = %d;", v, v)
		if v == 1 {
			down += "DROP TABLE applied;"
		}
		files[fmt.Sprintf("%04d_step.up.sql", v)] = &fstest.MapFile{Data: []byte(up)}
		files[fmt.Sprintf("%04d_step.down.sql", v)] = &fstest.MapFile{Data: []byte(down)}
	}
	return files
}

// with replaces one file of a fixture.
func with(files fstest.MapFS, name, sql string) fstest.MapFS {
	files[name] = &fstest.MapFile{Data: []byte(sql)}
	return files
}

func up(t *testing.T, url string, files fs.FS) {
	t.Helper()
	if err := postgres.NewMigrator(url, files, nil).Up(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func status(t *testing.T, url string, files fs.FS) postgres.Status {
	t.Helper()
	got, err := postgres.NewMigrator(url, files, nil).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// advisoryLocks counts the advisory locks held or waited for in a database.
const advisoryLocks = `SELECT count(*) FROM pg_locks
	WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

func TestUp_by_four_replicas_at_once_applies_each_version_once(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewEmptyURL(t)
	var replicas errgroup.Group
	start := make(chan struct{})
	for range 4 {
		replicas.Go(func() error {
			<-start
			return postgres.NewMigrator(url, fixture(5), nil).Up(t.Context())
		})
	}
	close(start)
	if err := replicas.Wait(); err != nil {
		t.Fatal(err)
	}
	conn := connect(t, url)
	if got := ask[string](t, conn, "SELECT string_agg(version::text, ' ') FROM applied"); got != "1 2 3 4 5" {
		t.Errorf("applied %s, want each version once and in order", got)
	}
	if n := ask[int](t, conn, advisoryLocks); n != 0 {
		t.Errorf("%d advisory locks are left", n)
	}
}

func TestUp_twice_changes_nothing(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewEmptyURL(t)
	up(t, url, fixture(2))
	up(t, url, fixture(2))
	up(t, url, fixture(3))
	if got := ask[int](t, connect(t, url), "SELECT count(*) FROM applied"); got != 3 {
		t.Errorf("%d migrations ran, want 3", got)
	}
}

func TestUp_undoes_a_file_that_fails_and_tries_it_again_next_time(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewEmptyURL(t)
	broken := with(fixture(3), "0002_step.up.sql", "CREATE TABLE half ();\nSELECT 1/0;\n")
	err := postgres.NewMigrator(url, broken, nil).Up(t.Context())
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != "22012" || !strings.Contains(err.Error(), "0002_step.up.sql") {
		t.Fatalf("Up() = %v, want the database's error and the name of the file", err)
	}
	conn := connect(t, url)
	if ask[bool](t, conn, "SELECT to_regclass('half') IS NOT NULL") {
		t.Error("half of the file is left")
	}
	if n := ask[int](t, conn, advisoryLocks); n != 0 {
		t.Errorf("%d advisory locks are left", n)
	}
	up(t, url, fixture(3))
	want := postgres.Status{Version: 3, Newest: 3}
	if diff := cmp.Diff(want, status(t, url, fixture(3))); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestUp_names_the_line_of_a_mistake(t *testing.T) {
	t.Parallel()
	broken := with(fixture(1), "0001_step.up.sql", "SELECT 1;\n\nCREATE TABEL x ();\n")
	err := postgres.NewMigrator(postgrestest.NewEmptyURL(t), broken, nil).Up(t.Context())
	if err == nil || !strings.Contains(err.Error(), "line 3") || strings.Contains(err.Error(), "SELECT 1") {
		t.Errorf("Up() = %v, want line 3 and not the whole file", err)
	}
}

func TestUp_serves_a_newer_schema_with_a_warning(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewEmptyURL(t)
	up(t, url, fixture(3))
	var log recorder
	if err := postgres.NewMigrator(url, fixture(2), log.logger()).Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.text(), "WARN the schema is newer") {
		t.Errorf("log = %q, want a warning", log.text())
	}
	want := postgres.Status{Version: 3, Newest: 2}
	if diff := cmp.Diff(want, status(t, url, fixture(2))); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if err := postgres.NewMigrator(url, fixture(2), nil).Down(t.Context()); err == nil {
		t.Error("Down took back a migration it does not know")
	}
}

func TestUp_cancelled_stops_between_two_files(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewEmptyURL(t)
	ctx, cancel := context.WithCancel(t.Context())
	log := recorder{on: func(message string) {
		if message == "migration applied" {
			cancel()
		}
	}}
	err := postgres.NewMigrator(url, fixture(3), log.logger()).Up(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Up() = %v, want context.Canceled", err)
	}
	want := postgres.Status{Version: 1, Newest: 3, Pending: []string{"0002_step.up.sql", "0003_step.up.sql"}}
	if diff := cmp.Diff(want, status(t, url, fixture(3))); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if n := ask[int](t, connect(t, url), advisoryLocks); n != 0 {
		t.Errorf("%d advisory locks are left", n)
	}
}

func TestDown_takes_back_one_step(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewEmptyURL(t)
	up(t, url, fixture(2))
	migrator := postgres.NewMigrator(url, fixture(2), nil)
	for _, want := range []int{1, 0, 0} { // with nothing applied it does nothing
		if err := migrator.Down(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := status(t, url, fixture(2)).Version; got != want {
			t.Errorf("version = %d, want %d", got, want)
		}
	}
}

func TestDown_refuses_a_migration_without_a_way_back(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewEmptyURL(t)
	files := fixture(2)
	delete(files, "0002_step.down.sql")
	up(t, url, files)
	if err := postgres.NewMigrator(url, files, nil).Down(t.Context()); err == nil {
		t.Error("no error")
	}
	if got := status(t, url, files).Version; got != 2 {
		t.Errorf("version = %d, want 2", got)
	}
}

func TestStatus_of_an_empty_database_leaves_it_empty(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewEmptyURL(t)
	want := postgres.Status{Newest: 2, Pending: []string{"0001_step.up.sql", "0002_step.up.sql"}}
	if diff := cmp.Diff(want, status(t, url, fixture(2))); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if n := ask[int](t, connect(t, url), "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"); n != 0 {
		t.Errorf("%d tables, want none", n)
	}
}

func TestMigrator_has_a_session_of_its_own_kind(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewEmptyURL(t)
	up(t, url, with(fixture(1), "0001_step.up.sql", "CREATE TABLE seen AS "+settings+" AS settings"))
	got := ask[map[string]string](t, connect(t, url), "SELECT settings FROM seen")
	want := map[string]string{
		"application_name": "sperrd migrate", "statement_timeout": "0", "lock_timeout": "1min",
		"idle_in_transaction_session_timeout": "0", "default_transaction_isolation": "read committed", "TimeZone": "UTC",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}
