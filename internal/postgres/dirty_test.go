package postgres_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"sperrd/internal/postgres"
	"sperrd/internal/postgres/postgrestest"

	"github.com/google/go-cmp/cmp"
)

// die ends the session in the middle of a file, as a killed process does.
const die = "CREATE TABLE half (); SELECT pg_terminate_backend(pg_backend_pid());"

// dirty runs Up and returns the explanation it must give.
func dirty(t *testing.T, url string, files fstest.MapFS) *postgres.DirtyError {
	t.Helper()
	err := postgres.NewMigrator(url, files, nil).Up(t.Context())
	var explained *postgres.DirtyError
	if !errors.As(err, &explained) {
		t.Fatalf("Up() = %v, want a DirtyError", err)
	}
	return explained
}

func TestUp_killed_half_way_is_explained_and_repaired_as_told(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file    string
		version int
		repair  string
	}{
		"in the first file": {"0001_step.up.sql", 1, `DELETE FROM "public"."schema_migrations";`},
		"in a later file":   {"0002_step.up.sql", 2, `UPDATE "public"."schema_migrations" SET version = 1, dirty = false;`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := postgrestest.NewEmptyURL(t)
			killed := postgres.NewMigrator(url, with(fixture(3), test.file, die), nil).Up(t.Context())
			if !postgres.IsUnavailable(killed) {
				t.Fatalf("Up() = %v, want a broken connection", killed)
			}
			if got := status(t, url, fixture(3)); !got.Dirty || got.Version != test.version {
				t.Fatalf("status = %+v, want version %d dirty", got, test.version)
			}
			explained := dirty(t, url, fixture(3))
			if explained.Version != test.version || explained.File != test.file || explained.Repair != test.repair {
				t.Errorf("explained %+v, want %+v", explained, test)
			}
			for _, part := range []string{test.file, "one transaction", test.repair} {
				if !strings.Contains(explained.Error(), part) {
					t.Errorf("%q lacks %q", explained, part)
				}
			}

			conn := connect(t, url)
			if ask[bool](t, conn, "SELECT to_regclass('half') IS NOT NULL") {
				t.Error("half of the file is left")
			}
			do(t, conn, explained.Repair)
			up(t, url, fixture(3))
			if got := ask[string](t, conn, "SELECT string_agg(version::text, ' ') FROM applied"); got != "1 2 3" {
				t.Errorf("after the repair %s are applied, want 1 2 3", got)
			}
		})
	}
}

func TestUp_killed_after_the_commit_of_a_file_needs_no_repair(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewEmptyURL(t)
	// golang-migrate empties its table before it writes the mark anew; the
	// trigger ends the session there, when the file has been committed.
	fatal := with(fixture(3), "0002_step.up.sql", `CREATE TABLE t2 (); INSERT INTO applied VALUES (2);
		CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
		CREATE TRIGGER die BEFORE TRUNCATE ON schema_migrations EXECUTE FUNCTION die()`)
	if err := postgres.NewMigrator(url, fatal, nil).Up(t.Context()); !postgres.IsUnavailable(err) {
		t.Fatalf("Up() = %v, want a broken connection", err)
	}
	conn := connect(t, url)
	do(t, conn, "DROP FUNCTION die() CASCADE")
	up(t, url, fatal)
	if got := ask[string](t, conn, "SELECT string_agg(version::text, ' ') FROM applied"); got != "1 2 3" {
		t.Errorf("applied %s, want 1 2 3", got)
	}
}

func TestDown_killed_half_way_is_explained_and_repaired_as_told(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ version int }{"the first": {1}, "a later one": {2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := postgrestest.NewEmptyURL(t)
			file := map[int]string{1: "0001_step.down.sql", 2: "0002_step.down.sql"}[test.version]
			up(t, url, fixture(test.version))
			files := with(fixture(test.version), file, die)
			if err := postgres.NewMigrator(url, files, nil).Down(t.Context()); !postgres.IsUnavailable(err) {
				t.Fatalf("Down() = %v, want a broken connection", err)
			}
			explained := dirty(t, url, files)
			if explained.DownFile != file || !strings.Contains(explained.Error(), explained.RepairDown) {
				t.Errorf("explained %q, want the way out for %s", explained, file)
			}
			do(t, connect(t, url), explained.RepairDown)
			want := postgres.Status{Version: test.version, Newest: test.version}
			if diff := cmp.Diff(want, status(t, url, files)); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if err := postgres.NewMigrator(url, fixture(test.version), nil).Down(t.Context()); err != nil {
				t.Errorf("Down after the repair: %v", err)
			}
		})
	}
}

func TestUp_leaves_a_newer_dirty_schema_to_the_newer_version(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewEmptyURL(t)
	_ = postgres.NewMigrator(url, with(fixture(3), "0003_step.up.sql", die), nil).Up(t.Context())
	explained := dirty(t, url, fixture(2))
	if explained.Repair != "" || !strings.Contains(explained.Error(), "start the newer one") {
		t.Errorf("explained %q, want a pointer to the newer version", explained)
	}
}
