package sperr

import (
	"fmt"
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
	b.exec(t, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO "+role)
	b.exec(t, "GRANT UPDATE ON sperr_orders TO "+role)
	if conn, err = pgx.Connect(t.Context(), roleURL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return b, role, conn
}

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
		`INSERT INTO sperr_order_totals SELECT tenant, 'executed', order_type, false, 7 FROM sperr_orders`,
		`UPDATE sperr_order_history SET actor = 'x'`, `DELETE FROM sperr_order_history`, `TRUNCATE sperr_order_history`, `DELETE FROM sperr_orders`,
		`ALTER TABLE sperr_orders DISABLE TRIGGER USER`, `SET session_replication_role = replica`, `DROP TRIGGER sperr_orders_history_of_update ON sperr_orders`,
		`ALTER FUNCTION sperr_orders_history_complete() RESET search_path`, `DROP FUNCTION sperrd_claimed_by(OID) CASCADE`,
		`CREATE FUNCTION public.sperrd_claimed_by(TEXT) RETURNS TEXT LANGUAGE sql AS 'SELECT ''nobody'''`,
	} {
		if _, err := conn.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s works", sql)
		}
	}
}
