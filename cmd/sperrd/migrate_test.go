package main

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"sperrd/internal/postgres/postgrestest"
	"sperrd/migrations"
)

func migrationFiles(t *testing.T) []string {
	t.Helper()
	files, err := fs.Glob(migrations.FS, "*.up.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("migrations: %v, %v", files, err)
	}
	return files
}

func TestMigrate_up_down_and_status_print_one_line_a_fact(t *testing.T) {
	t.Parallel()
	toml := setup{port: 8780, database: postgrestest.NewEmptyURL(t), makod: "http://127.0.0.1:1"}.toml()
	files := migrationFiles(t)
	newest := len(files)
	facts := func(version int, pending ...string) string {
		lines := fmt.Sprintf("schema version %d\nnewest known version %d\n", version, newest)
		for _, file := range pending {
			lines += "pending " + file + "\n"
		}
		return lines
	}
	for _, c := range []struct{ what, want string }{
		{"status", facts(0, files...)},
		{"up", facts(newest)},
		{"up", facts(newest)},
		{"down", facts(newest-1, files[newest-1])},
		{"status", facts(newest-1, files[newest-1])},
		{"up", facts(newest)},
		{"status", facts(newest)},
	} {
		code, stdout, stderr := command(t, toml, "migrate", c.what)
		if code != exitOK || stdout != c.want {
			t.Errorf("migrate %s: exit code %d\n%swant:\n%s%s", c.what, code, stdout, c.want, stderr)
		}
	}
}

func TestMigrate_schema_that_needs_a_human_is_explained(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	toml := setup{port: 8780, database: url, makod: "http://127.0.0.1:1"}.toml()

	execSQL(t, url, "UPDATE schema_migrations SET dirty = true")
	if code, stdout, _ := command(t, toml, "migrate", "status"); code != exitOK || !strings.Contains(stdout, "\ndirty: ") {
		t.Errorf("status of a dirty schema: exit code %d, %q; want 0 and a line about it", code, stdout)
	}
	for _, start := range []string{"migrate up", "serve"} {
		code, _, stderr := command(t, toml, strings.Fields(start)...)
		if code != exitFailure || !strings.Contains(stderr, "To repair, run: UPDATE") {
			t.Errorf("%s on a dirty schema: exit code %d, %q; want 1 and the repair", start, code, stderr)
		}
	}

	execSQL(t, url, "UPDATE schema_migrations SET dirty = false, version = 9999")
	if code, stdout, _ := command(t, toml, "migrate", "status"); code != exitOK || !strings.Contains(stdout, "\nnewer: ") {
		t.Errorf("status of a newer schema: exit code %d, %q; want 0 and a line about it", code, stdout)
	}
}

func TestMigrate_without_a_database_fails_without_its_password(t *testing.T) {
	t.Parallel()
	toml := setup{port: 8780, database: "postgres://sperrd:db-Geheimnis@127.0.0.1:1/sperrd", makod: "http://127.0.0.1:1"}.toml()
	for _, what := range []string{"up", "down", "status"} {
		code, stdout, stderr := command(t, toml, "migrate", what)
		if code != exitFailure || stdout != "" || !strings.Contains(stderr, "database.url") || strings.Contains(stderr, "Geheimnis") {
			t.Errorf("migrate %s: exit code %d, %q, %q; want 1 and database.url", what, code, stdout, stderr)
		}
	}
}
