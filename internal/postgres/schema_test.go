package postgres_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"sperrd/internal/postgres"
	"sperrd/internal/postgres/postgrestest"
	"sperrd/migrations"
)

func TestMigrations_of_the_service_go_all_the_way_up_down_and_up(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	migrator := postgres.NewMigrator(url, migrations.FS, nil)
	for range status(t, url, migrations.FS).Version {
		if err := migrator.Down(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	left := ask[string](t, connect(t, url), `SELECT coalesce(string_agg(relname, ' '), '') FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relname NOT LIKE 'schema_migrations%'`)
	if left != "" {
		t.Errorf("the way down leaves %s", left)
	}
	up(t, url, migrations.FS)
}

func TestMigrations_of_the_service_leave_the_transaction_to_the_migrator(t *testing.T) {
	t.Parallel()
	own := regexp.MustCompile(`(?im)^\s*(begin|commit|rollback|start\s+transaction|end)\s*;|concurrently`)
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil || len(names) == 0 {
		t.Fatal("no migrations: ", err)
	}
	for _, name := range names {
		sql, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		// plpgsql ends its blocks with END; too, inside a quoted body.
		outside := regexp.MustCompile(`(?s)\$(\w*)\$.*?\$\w*\$`).ReplaceAllString(string(sql), "")
		if found := own.FindString(outside); found != "" {
			t.Errorf("%s contains %q", name, strings.TrimSpace(found))
		}
	}
}
