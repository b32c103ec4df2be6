package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"sperrd/internal/postgres/postgrestest"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

func TestCheck_triggers_that_do_not_fire_are_told(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	check(t, healthy(t), url).want(t, "ok", "tables", "all there", "")
	for _, c := range []struct{ sql, trigger string }{
		{"ALTER TABLE sperr_order_history DISABLE TRIGGER sperr_order_history_append_only", "sperr_order_history_append_only of sperr_order_history"},
		{"ALTER TABLE sperr_orders ENABLE REPLICA TRIGGER sperr_orders_count_insert", "sperr_orders_count_insert of sperr_orders"},
		{"DROP TRIGGER sperr_orders_history_of_update ON sperr_orders", "sperr_orders_history_of_update of sperr_orders"},
		{"ALTER FUNCTION sperr_order_totals_keep_types() RESET search_path", "sperr_order_totals_keep_types of sperr_order_totals"},
		{"GRANT EXECUTE ON FUNCTION sperr_orders_iftsta_reset() TO PUBLIC", "sperr_orders_iftsta_reset of sperr_orders"},
		{"ALTER FUNCTION sperr_orders_count() SECURITY INVOKER", "sperr_orders_count_update of sperr_orders"},
	} {
		do(t, url, c.sql)
		check(t, healthy(t), url).want(t, "fail", "tables", c.trigger, "ENABLE TRIGGER")
	}
}

// What the runbook says to run gives the functions back what they need.
func TestCheck_triggers_are_mended_by_the_runbook(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	do(t, url, `DO $$ DECLARE called REGPROCEDURE; BEGIN
		FOR called IN SELECT DISTINCT tgfoid FROM pg_trigger WHERE NOT tgisinternal LOOP
			EXECUTE format('ALTER FUNCTION %s SECURITY INVOKER RESET search_path', called);
			EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO PUBLIC', called);
		END LOOP;
	END $$`)
	e := check(t, healthy(t), url)
	for table, names := range triggers {
		for _, name := range names {
			e.want(t, "fail", "tables", name+" of "+table, "Mend the triggers")
		}
	}
	document, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(document), "\n## Mend the triggers\n")
	_, block, _ := strings.Cut(section, "```sql\n")
	statements, _, found := strings.Cut(block, "```")
	if !found {
		t.Fatal("the runbook has no statements")
	}
	do(t, url, statements)
	check(t, healthy(t), url).want(t, "ok", "tables", "all there", "")
}

func TestCheck_triggers_of_a_schema_that_was_renamed_are_told(t *testing.T) {
	t.Parallel()
	renamed := postgrestest.NewURL(t)
	do(t, postgrestest.AdminURL(t, renamed), `ALTER SCHEMA public RENAME TO "Netz"`, "ALTER DATABASE "+quoted(databaseOf(t, renamed))+` SET search_path = "Netz"`)
	check(t, healthy(t), renamed).want(t, "fail", "tables", "sperr_orders_history_of_insert of sperr_orders", "Mend the triggers")
}

// What the doctor looks for is what the migrations have made.
func TestCheck_knows_every_trigger(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), postgrestest.NewURL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	rows, err := conn.Query(t.Context(), `SELECT tgrelid::regclass::text, tgname::text FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2`)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string][]string{}
	var table, trigger string
	if _, err := pgx.ForEachRow(rows, []any{&table, &trigger}, func() error { made[table] = append(made[table], trigger); return nil }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(made, triggers); diff != "" {
		t.Errorf("triggers (-made +looked for):\n%s", diff)
	}
}
