package postgres_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/postgres"
	"sperrd/internal/postgres/postgrestest"
	"sperrd/migrations"
)

// catalogue is what migrations have made, a line each: columns, constraints, indexes,
// functions with their rights, and triggers.
const catalogue = `SELECT string_agg(line, E'\n' ORDER BY line) FROM (
	SELECT format('column %s.%s %s %s %s', attrelid::regclass, attname, format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid)) AS line
		FROM pg_attribute JOIN pg_class c ON c.oid = attrelid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND attnum > 0 AND NOT attisdropped
	UNION ALL SELECT format('constraint %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
	UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
	UNION ALL SELECT format('%s for everybody: %s', pg_get_functiondef(oid), has_function_privilege('public', oid, 'EXECUTE')) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
	UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal) AS all_of_it`

// Each way down leaves what the version before has made, to the rights of its functions, and
// rows that are there do not hinder it.
func TestMigrations_of_the_service_leave_on_the_way_down_what_was_there(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewEmptyURL(t)
	conn := connect(t, url)
	names, err := fs.Glob(migrations.FS, "*.up.sql")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for n, name := range names {
		var before string
		if n > 0 {
			before = ask[string](t, conn, catalogue)
		}
		for _, file := range []string{name, strings.Replace(name, ".up.", ".down.", 1)} {
			text, err := fs.ReadFile(migrations.FS, file)
			if err != nil {
				t.Fatal(err)
			}
			with(files, file, string(text))
		}
		up(t, url, files)
		if n == 0 {
			continue
		}
		if n == 1 {
			ordersInUse(t, conn)
		}
		if err := postgres.NewMigrator(url, files, nil).Down(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		after := ask[string](t, conn, catalogue)
		if diff := cmp.Diff(strings.Split(before, "\n"), strings.Split(after, "\n")); diff != "" {
			t.Errorf("%s, up and down (-before +after):\n%s", name, diff)
		}
		up(t, url, files)
	}
}
