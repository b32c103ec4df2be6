package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"sperrd/internal/postgres"
	"sperrd/internal/postgres/postgrestest"
	"sperrd/migrations"
)

// beforeTransactions is the newest schema without the tables of transactions.
const beforeTransactions = 7

// down takes migrations of the service back until the schema is at version.
func down(t *testing.T, url string, version int) {
	t.Helper()
	for at := status(t, url, migrations.FS).Version; at > version; at-- {
		if err := postgres.NewMigrator(url, migrations.FS, nil).Down(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// ordersInUse puts in an order of each kind with a history: pending, executed and its
// Lieferant uninformed, of an operator.
func ordersInUse(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	do(t, conn, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, process_id, status, executed_at, iftsta_attempts) VALUES
		('T', '1', 'L', 'sperrung', 'p-1', 'pending', NULL, 0), ('T', '2', 'L', 'sperrung', 'p-2', 'executed', now(), 3),
		('T', '3', 'L', 'entsperrung', NULL, 'pending', NULL, 0)`)
	do(t, conn, `INSERT INTO sperr_order_history (tenant, order_id, actor, action, to_status) SELECT tenant, id, 'a', 'created', status FROM sperr_orders`)
}

// rows are the columns of orders and history that every version has.
const rows = `SELECT (SELECT json_agg(json_build_array(id, malo_id, process_id, status, iftsta_attempts, created_at, updated_at) ORDER BY malo_id) FROM sperr_orders)::text
	|| (SELECT json_agg(json_build_array(id, order_id, at, actor, action, detail) ORDER BY id) FROM sperr_order_history)::text`

// resetLine begins a new cycle of attempts by SQL, and is what the trigger has noted of it.
func resetLine(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	do(t, conn, `UPDATE sperr_orders SET iftsta_attempts = 3 WHERE malo_id = '2'`)
	do(t, conn, `UPDATE sperr_orders SET iftsta_attempts = 0 WHERE malo_id = '2'`)
	return ask[string](t, conn, `SELECT action || ' ' || (detail->>'attempts') FROM sperr_order_history ORDER BY id DESC LIMIT 1`)
}

func TestMigration_of_transactions_goes_up_and_down_with_orders_in_use(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	down(t, url, beforeTransactions)
	conn := connect(t, url)
	ordersInUse(t, conn)
	before := ask[string](t, conn, rows)

	up(t, url, migrations.FS)
	if diff := cmp.Diff(before, ask[string](t, conn, rows)); diff != "" {
		t.Errorf("the way up changes rows:\n%s", diff)
	}
	if n := ask[int](t, conn, `SELECT count(*) FROM sperr_orders WHERE num_nonnulls(webhook_id, event_id, erstellt_transaktion,
			letzter_versuch_transaktion, abschluss_transaktion, iftsta_transaktion) > 0`); n != 0 {
		t.Errorf("%d orders from before have ids that nobody has given", n)
	}
	if got := resetLine(t, conn); got != "iftsta_reset 3" {
		t.Errorf("after the way up a reset leaves %q", got)
	}
	transactionsInUse(t, conn)
	before = ask[string](t, conn, rows)

	down(t, url, beforeTransactions)
	if diff := cmp.Diff(before, ask[string](t, conn, rows)); diff != "" {
		t.Errorf("the way down changes rows:\n%s", diff)
	}
	if got := resetLine(t, conn); got != "iftsta_reset 3" {
		t.Errorf("after the way down a reset leaves %q", got)
	}
	up(t, url, migrations.FS)
	if n := ask[int](t, conn, `SELECT count(*) FROM api_transactions`); n != 0 {
		t.Errorf("%d transactions have come back", n)
	}
}

// transactionsInUse puts in an operation of an order with two ids, and all that an order
// keeps of it.
func transactionsInUse(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	do(t, conn, `INSERT INTO api_transactions (tenant, logical_id, principal, operation, order_id, fingerprint, fingerprint_version, executed_by,
			state, status_code, response_headers, response_body, created_at, expires_at)
		SELECT tenant, 'A', 'p', 'o', id, '\x00', 1, 'A', 'final', 204, '{}', '', now(), now() FROM sperr_orders WHERE malo_id = '2'`)
	do(t, conn, `INSERT INTO api_transaction_attempts (tenant, transaction_id, logical_id, replayed) VALUES ('T', 'A', 'A', false), ('T', 'B', 'A', true)`)
	do(t, conn, `UPDATE sperr_orders SET webhook_id = 'w', event_id = 'e', erstellt_transaktion = malo_id, letzter_versuch_transaktion = 'A',
		abschluss_transaktion = 'A', iftsta_transaktion = gen_random_uuid()`)
	do(t, conn, `INSERT INTO sperr_order_history (tenant, order_id, actor, action, to_status, transaction_id)
		SELECT tenant, id, 'a', 'executed', status, 'A' FROM sperr_orders`)
}

func TestSchema_of_transactions_keeps_what_does_not_fit_together_out(t *testing.T) {
	t.Parallel()
	conn := connect(t, postgrestest.NewURL(t))
	ordersInUse(t, conn)
	transactionsInUse(t, conn)
	for constraint, statement := range map[string]string{
		"api_transactions_pkey": `INSERT INTO api_transactions SELECT * FROM api_transactions`,
		"api_transaction_attempts_pkey": `INSERT INTO api_transaction_attempts (tenant, transaction_id, logical_id, replayed)
			VALUES ('T', 'B', 'B', false)`,
		"api_transaction_attempts_tenant_logical_id_fkey": `INSERT INTO api_transaction_attempts (tenant, transaction_id, logical_id, replayed)
			VALUES ('U', 'C', 'A', false)`,
		"api_transactions_state_check":      `UPDATE api_transactions SET state = 'open'`,
		"api_transactions_order_id_fkey":    `UPDATE api_transactions SET order_id = gen_random_uuid()`,
		"sperr_orders_erstellt_transaktion": `UPDATE sperr_orders SET erstellt_transaktion = '1' WHERE malo_id = '2'`,
	} {
		_, err := conn.Exec(t.Context(), statement)
		if pgErr, ok := errors.AsType[*pgconn.PgError](err); !ok || pgErr.ConstraintName != constraint {
			t.Errorf("%s: %v", constraint, err)
		}
	}
	do(t, conn, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, erstellt_transaktion) VALUES ('U', '1', 'L', 'sperrung', '1')`)
	do(t, conn, `DELETE FROM api_transactions`)
	if n := ask[int](t, conn, `SELECT count(*) FROM api_transaction_attempts`); n != 0 {
		t.Errorf("%d ids of an operation that is gone", n)
	}
}

// With statistics of an emptier day a tenant looks selective. What is found by its id must
// have no other way to be found.
func TestSchema_of_transactions_has_no_index_by_tenant_alone(t *testing.T) {
	t.Parallel()
	conn := connect(t, postgrestest.NewURL(t))
	for _, table := range []string{"api_transactions", "api_transaction_attempts"} {
		indexes := ask[[]string](t, conn, `
			SELECT array_agg(c.relname || ' ' || a.attname) FROM pg_index i
			JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
			WHERE i.indrelid = $1::text::regclass`, table)
		if len(indexes) < 2 {
			t.Errorf("%s has the indexes %v", table, indexes)
		}
		for _, index := range indexes {
			if strings.HasSuffix(index, " tenant") {
				t.Errorf("%s begins with the tenant", index)
			}
		}
	}
}
