package main

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"sperrd/internal/postgres"
	"sperrd/internal/postgres/postgrestest"
	"sperrd/migrations"
)

func TestCheck_older_schema_leaves_the_queues_out_and_says_so(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	if err := postgres.NewMigrator(url, migrations.FS, nil).Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	e := check(t, healthy(t), url)
	e.want(t, "warn", "schema", "and 1 newer", "migrate up")
	e.want(t, "warn", "queues", "not looked at", "up to date")
	e.wantNone(t, "iftsta")
	if e.code != exitOK {
		t.Errorf("exit code %d; a start migrates, so nothing fails", e.code)
	}
	empty := check(t, healthy(t), postgrestest.NewEmptyURL(t))
	empty.want(t, "warn", "schema", "version 0", "0001_")
	empty.want(t, "ok", "rights", "may do what", "")
	empty.want(t, "warn", "queues", "not looked at", "")
}

func TestCheck_role_without_any_right_gets_every_line(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	name, roleURL := postgrestest.NewRole(t, url)
	e := check(t, healthy(t), roleURL)
	e.want(t, "ok", "database", "PostgreSQL", "")
	e.want(t, "ok", "zone", "the database has the same", "")
	e.want(t, "fail", "rights", "the role "+name+" lacks", "own the tables")
	e.want(t, "fail", "rights", "SELECT, INSERT, UPDATE on sperr_orders", "")
	e.want(t, "warn", "rights", "may create nothing in the schema public", `GRANT CREATE ON SCHEMA "public" TO "`+name+`"`)
	e.want(t, "warn", "rights", "does not own api_transaction_attempts, api_transactions, ", "OWNER TO")
	e.want(t, "fail", "schema", "permission denied", "rights")
	e.want(t, "warn", "queues", "not looked at", "")
	if e.code != exitFailure {
		t.Errorf("exit code %d; want 1", e.code)
	}
	do(t, postgrestest.AdminURL(t, url), "REVOKE USAGE ON SCHEMA public FROM PUBLIC")
	check(t, healthy(t), roleURL).want(t, "fail", "rights", "no schema on the search_path of the role "+name, "GRANT USAGE, CREATE")
}

func TestCheck_role_that_may_work_but_not_migrate_is_warned_of(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	name, roleURL := postgrestest.NewRole(t, url)
	do(t, url, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "+name)
	e := check(t, healthy(t), roleURL)
	e.want(t, "warn", "rights", "may create nothing", "")
	e.want(t, "ok", "snapshot", "as far as the role "+name+" may see", "GRANT pg_read_all_stats")
	e.want(t, "ok", "iftsta", "0 outcomes", "")
	if e.code != exitOK {
		t.Errorf("exit code %d; want 0:\n%s", e.code, e.stdout)
	}
	do(t, url, "REVOKE DELETE ON event_outbox FROM "+name)
	do(t, postgrestest.AdminURL(t, url), "GRANT pg_read_all_stats TO "+name)
	e = check(t, healthy(t), roleURL)
	e.want(t, "fail", "rights", "lacks DELETE on event_outbox", "")
	for _, f := range e.Findings {
		if f.What == "snapshot" && f.Todo != "" {
			t.Errorf("the role sees all sessions: %+v", f)
		}
	}
}

func TestCheck_database_that_takes_no_order_fails(t *testing.T) {
	t.Parallel()
	readOnly := postgrestest.NewURL(t)
	do(t, readOnly, "ALTER DATABASE "+quoted(databaseOf(t, readOnly))+" SET default_transaction_read_only = on")
	check(t, healthy(t), readOnly).want(t, "fail", "database", "read-only for this role", "default_transaction_read_only")

	latin := postgrestest.NewEmptyURL(t)
	name := databaseOf(t, latin)
	admin := postgrestest.AdminURL(t, postgrestest.NewEmptyURL(t))
	do(t, admin, "DROP DATABASE "+quoted(name), "CREATE DATABASE "+quoted(name)+" TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
	check(t, healthy(t), latin).want(t, "fail", "database", "encoding is LATIN1", "ENCODING 'UTF8'")

	narrow := postgrestest.NewURL(t)
	role, roleURL := postgrestest.NewRole(t, narrow)
	do(t, postgrestest.AdminURL(t, narrow), "ALTER ROLE "+role+" CONNECTION LIMIT 5")
	check(t, healthy(t), roleURL).want(t, "warn", "connections", "the database has 5 for this role", "pool_size")
}

func databaseOf(t *testing.T, databaseURL string) string {
	t.Helper()
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	return config.Database
}

func TestCheck_tables_that_are_not_kept_well_are_told(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	do(t, url, "ALTER TABLE event_outbox SET (autovacuum_enabled = off)", "DROP TABLE webhook_rejects",
		`INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type) VALUES ('t', '1', '2', 'sperrung'), ('t', '1', '2', 'sperrung')`)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	// It fails, and leaves its half behind.
	if _, err := conn.Exec(t.Context(), `CREATE UNIQUE INDEX CONCURRENTLY "Doppelt" ON sperr_orders (tenant)`); err == nil {
		t.Fatal("the index was built")
	}
	e := check(t, healthy(t), url)
	e.want(t, "warn", "tables", `the index "Doppelt" of sperr_orders is invalid`, `REINDEX INDEX CONCURRENTLY "Doppelt"`)
	e.want(t, "warn", "tables", "autovacuum is off for event_outbox", "")
	e.want(t, "fail", "tables", "missing: webhook_rejects", "backup")
	e.want(t, "fail", "queues", "webhook_rejects", "")
}

func TestCheck_schema_in_which_others_may_create_is_told(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	name, _ := postgrestest.NewRole(t, url)
	do(t, postgrestest.AdminURL(t, url), "GRANT CREATE ON SCHEMA public TO PUBLIC", "GRANT CREATE ON SCHEMA public TO "+name)
	check(t, healthy(t), url).want(t, "warn", "rights", "PUBLIC, "+name+" may create functions and operators", `REVOKE CREATE ON SCHEMA "public" FROM PUBLIC, `+name)
}

func TestCheck_names_who_holds_the_oldest_snapshot(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	conn, err := pgx.Connect(t.Context(), url+"&application_name=report")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM sperr_orders"); err != nil {
		t.Fatal(err)
	}
	check(t, healthy(t), url).want(t, "ok", "snapshot", "the oldest has stood for", "")
}

func TestCheck_cannot_write(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewEmptyURL(t)
	pool, err := postgres.Open(t.Context(), url, postgres.Options{PoolSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var f findings
	d := &database{findings: &f, pool: pool}
	d.look(t.Context(), "writing", func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "CREATE TABLE t ()")
		return err
	})
	if len(f.list) != 1 || f.list[0].Level != levelFail || !strings.Contains(f.list[0].Text, "read-only transaction") {
		t.Errorf("findings %+v; want that it was refused", f.list)
	}
	check(t, healthy(t), url)
	var relations int
	const made = `SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace`
	if err := pool.QueryRow(t.Context(), made).Scan(&relations); err != nil || relations != 0 {
		t.Errorf("%d relations, %v; want none in a database that was empty", relations, err)
	}
}

// The role is let in once at a time, so that a second connection would fail.
func TestCheck_needs_one_connection(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	name, roleURL := postgrestest.NewRole(t, url)
	do(t, postgrestest.AdminURL(t, url), "ALTER ROLE "+name+" CONNECTION LIMIT 1")
	do(t, url, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "+name)
	e := check(t, healthy(t), roleURL)
	e.want(t, "warn", "connections", "the database has 1 for this role", "limit of the role")
	e.want(t, "ok", "schema", "version", "")
	e.want(t, "ok", "transactions", "", "")
}
