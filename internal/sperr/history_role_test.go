package sperr

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/postgres"
	"sperrd/internal/postgres/postgrestest"
	"sperrd/internal/werktag"
)

// roleBench is a bench with somebody who works in psql under a role of his own, which has
// the rights that operations.md gives.
func roleBench(t *testing.T) (b *bench, role string, conn *pgx.Conn) {
	t.Helper()
	url := postgrestest.NewURL(t)
	pool, err := postgres.Open(t.Context(), url, postgres.Options{PoolSize: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	b = newBenchOn(t, pool, testTenant)
	role, roleURL := postgrestest.NewRole(t, url)
	documents, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	grants := grantsOfAnna.FindAllString(string(documents), -1)
	if len(grants) != 2 {
		t.Fatalf("grants %q", grants)
	}
	for _, grant := range grants {
		b.exec(t, strings.ReplaceAll(grant, "TO anna", "TO "+role))
	}
	if conn, err = pgx.Connect(t.Context(), roleURL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return b, role, conn
}

var grantsOfAnna = regexp.MustCompile(`(?s)GRANT [^;]* TO anna`)

func (b *bench) lastLine(t *testing.T, id uuid.UUID) (line, detail string) {
	t.Helper()
	err := b.pool.QueryRow(t.Context(), `SELECT concat_ws(' ', actor, action, from_status, to_status), detail FROM sperr_order_history
		WHERE order_id = $1 ORDER BY id DESC LIMIT 1`, id).Scan(&line, &detail)
	if err != nil {
		t.Fatal(err)
	}
	return line, detail
}

// A temporary table of the name that a trigger writes to would take the line, and be gone
// with the session.
func TestTriggersWriteToTheTablesOfTheirSchemaWhateverASessionHas(t *testing.T) {
	t.Parallel()
	b, role, conn := roleBench(t)
	b.exec(t, `GRANT UPDATE (iftsta_attempts) ON sperr_orders TO `+role)
	changed, reset := b.receive(t, pidSperrauftrag, testMalo).ID, b.receive(t, pidSperrauftrag, otherMalo).ID
	b.exec(t, `UPDATE sperr_orders SET status = 'executed', executed_at = now(), iftsta_attempts = 3 WHERE id = $1`, reset)
	for _, sql := range []string{
		`CREATE TEMP TABLE sperr_order_history (LIKE public.sperr_order_history INCLUDING ALL)`,
		`CREATE TEMP TABLE sperr_order_totals (LIKE public.sperr_order_totals)`,
		`CREATE FUNCTION pg_temp.sperrd_claimed_by(OID) RETURNS TEXT LANGUAGE sql AS 'SELECT ''nobody'''`,
		`SET search_path = pg_temp, public`,
		fmt.Sprintf(`UPDATE sperr_orders SET status = 'executed', executed_at = now() WHERE id = '%s'`, changed),
		`SET sperrd.actor = 'makod'`,
		fmt.Sprintf(`UPDATE sperr_orders SET iftsta_attempts = 0 WHERE id = '%s'`, reset),
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	line, detail := b.lastLine(t, changed)
	if want := "sql:" + role + " changed_by_sql pending executed"; line != want || detail != `{"columns": ["status", "executed_at"]}` {
		t.Errorf("line %s %s, want %s", line, detail, want)
	}
	line, detail = b.lastLine(t, reset)
	if line != "makod iftsta_reset executed executed" || detail != `{"role": "`+role+`", "reset": 1, "attempts": 3}` {
		t.Errorf("line %s %s", line, detail)
	}
	stats, err := b.repo.Stats(t.Context(), werktag.BerlinDay(testNow))
	if err != nil || stats.Executed != 2 {
		t.Errorf("%d executed, %v; want 2", stats.Executed, err)
	}
}

// Whoever names another actor stands behind it; the service is the owner of the tables, and
// its actors are what they say.
func TestHistoryKeepsTheRoleThatNamesAnotherActor(t *testing.T) {
	t.Parallel()
	b, role, conn := roleBench(t)
	id := b.receive(t, pidSperrauftrag, testMalo).ID
	sql := func(actor, hinweis string) string {
		return fmt.Sprintf(`SET sperrd.actor = '%s'; UPDATE sperr_orders SET hinweis = '%s' WHERE id = '%s'`, actor, hinweis, id)
	}
	got := map[string]string{}
	for hinweis, actor := range map[string]string{"a": "makod", "b": ""} {
		if _, err := conn.Exec(t.Context(), sql(actor, hinweis)); err != nil {
			t.Fatal(err)
		}
		line, detail := b.lastLine(t, id)
		got[line] = detail
	}
	b.exec(t, `UPDATE sperr_orders SET hinweis = 'c' WHERE id = $1`, id)
	line, detail := b.lastLine(t, id)
	got[line] = detail
	if diff := cmp.Diff(map[string]string{
		"makod changed_by_sql pending pending":            `{"role": "` + role + `", "columns": ["hinweis"]}`,
		"sql:" + role + " changed_by_sql pending pending": `{"columns": ["hinweis"]}`,
		"sql:sperrd changed_by_sql pending pending":       `{"columns": ["hinweis"]}`,
	}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// None of it is to be undone with the rights of such a role.
func TestRoleThatWorksOnOrdersCannotWeakenTheHistory(t *testing.T) {
	t.Parallel()
	b, _, conn := roleBench(t)
	b.receive(t, pidSperrauftrag, testMalo)
	for _, sql := range []string{
		`INSERT INTO sperr_order_history (tenant, order_id, actor, action, to_status) SELECT tenant, id, 'makod', 'cancelled', status FROM sperr_orders`,
		`CREATE TEMP TABLE o (LIKE sperr_orders); CREATE CONSTRAINT TRIGGER lie AFTER INSERT ON o FOR EACH ROW EXECUTE FUNCTION sperr_orders_history_complete()`,
		`INSERT INTO sperr_order_totals SELECT tenant, 'executed', order_type, false, 7 FROM sperr_orders`, `SELECT sperr_orders_count()`,
		`UPDATE sperr_order_history SET actor = 'x'`, `DELETE FROM sperr_order_history`, `TRUNCATE sperr_order_history`, `DELETE FROM sperr_orders`,
		`ALTER TABLE sperr_orders DISABLE TRIGGER USER`, `SET session_replication_role = replica`, `DROP TRIGGER sperr_orders_history_of_update ON sperr_orders`,
		`ALTER FUNCTION sperr_orders_history_complete() RESET search_path`, `DROP FUNCTION sperrd_claimed_by(OID) CASCADE`,
		`UPDATE sperr_orders SET iftsta_next_attempt_at = 'infinity'`, `UPDATE sperr_orders SET redacted_at = now()`,
	} {
		if _, err := conn.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s works", sql)
		}
	}
}

// Each column that the role may change leaves a line that names the column and the role.
func TestRoleThatWorksOnOrdersLeavesALineForEachColumn(t *testing.T) {
	t.Parallel()
	b, role, conn := roleBench(t)
	id := b.receive(t, pidEntsperrauftrag, testMalo).ID
	values := map[string]string{
		"status": `'cancelled'`, "sperrversuche": `1`, "arbeitszeit": `'auch_ausserhalb'`, "treffpunkt_land": `'CH'`, "executed_at": `now()`,
		"ausfuehrung_am": `'2030-01-02'`, "fruehestens_am": `'2030-01-02'`, "ausfuehrung_zeitpunkt": `'2030-01-02T10:00:00Z'`,
	}
	columns := column[string](t, b.pool, `SELECT column_name::text FROM information_schema.column_privileges
		WHERE grantee = '`+role+`' AND table_name = 'sperr_orders' AND privilege_type = 'UPDATE' ORDER BY 1`)
	if len(columns) < 15 {
		t.Fatalf("columns %v", columns)
	}
	for _, name := range columns {
		value, given := values[name]
		if !given {
			value = `'x'`
		}
		err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), `UPDATE sperr_orders SET `+name+` = `+value+` WHERE id = $1`, id)
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		line, detail := b.lastLine(t, id)
		if !strings.HasPrefix(line, "sql:"+role+" changed_by_sql") || detail != `{"columns": ["`+name+`"]}` {
			t.Errorf("%s: line %s %s", name, line, detail)
		}
		b.exec(t, `UPDATE sperr_orders SET `+name+` = NULL WHERE id = $1 AND '`+name+`' IN ('ausfuehrung_am', 'fruehestens_am', 'ausfuehrung_zeitpunkt')`, id)
	}
}

// Whoever may make functions in the schema has them called by nobody but himself.
func TestTriggersCallNothingThatSomebodyHasMade(t *testing.T) {
	t.Parallel()
	b, role, conn := roleBench(t)
	b.exec(t, `CREATE TABLE called (by_whom TEXT)`)
	b.exec(t, `GRANT INSERT ON called TO PUBLIC`)
	if _, err := b.pool.Exec(t.Context(), `GRANT CREATE ON SCHEMA public TO `+role); err != nil {
		t.Fatal(err)
	}
	id := b.receive(t, pidSperrauftrag, testMalo).ID
	for _, sql := range []string{
		`CREATE FUNCTION public.lie(name, name) RETURNS TEXT LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.called VALUES (current_user); RETURN ''somebody else''; END'`,
		`CREATE OPERATOR public.|| (FUNCTION = public.lie, LEFTARG = name, RIGHTARG = name)`,
		`CREATE FUNCTION public.lie(text, name) RETURNS TEXT LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.called VALUES (current_user); RETURN ''somebody else''; END'`,
		`CREATE OPERATOR public.|| (FUNCTION = public.lie, LEFTARG = text, RIGHTARG = name)`,
		`CREATE FUNCTION public.jsonb_build_object(text, jsonb, text, text, text, text) RETURNS JSONB LANGUAGE plpgsql AS
			'BEGIN INSERT INTO public.called VALUES (current_user); RETURN ''{}''; END'`,
		fmt.Sprintf(`UPDATE sperr_orders SET hinweis = 'x' WHERE id = '%s'`, id),
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	line, detail := b.lastLine(t, id)
	if line != "sql:"+role+" changed_by_sql pending pending" || detail != `{"columns": ["hinweis"]}` {
		t.Errorf("line %s %s", line, detail)
	}
	if calls := column[string](t, b.pool, `SELECT by_whom FROM called`); len(calls) != 0 {
		t.Errorf("called as %v", calls)
	}
}
