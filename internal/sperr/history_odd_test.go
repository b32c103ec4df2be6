package sperr

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sperrd/internal/postgres"
	"sperrd/internal/postgres/postgrestest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A dump keeps the transaction that wrote a line, and the cluster into which it is restored
// counts anew: such a line is none of the transaction that has its number by chance.
func TestRestoredLineStandsForNoChangeOfAnotherTransaction(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.receive(t, pidSperrauftrag, testMalo).ID
	b.exec(t, `INSERT INTO sperr_order_history (tenant, order_id, actor, action, from_status, to_status, xact)
		SELECT $1, $2, 'makod', 'stornierung_received', 'pending', 'pending', (pg_current_xact_id()::text::bigint + n)::text::xid8
		FROM generate_series(1, 1000) AS n`, testTenant, id)
	b.exec(t, `UPDATE sperr_orders SET hinweis = 'x' WHERE id = $1`, id)
	var met bool
	if err := b.pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM sperr_order_history h JOIN sperr_orders o ON o.id = h.order_id
		WHERE h.action = 'stornierung_received' AND h.xact::text::bigint % 4294967296 = o.xmin::text::bigint)`).Scan(&met); err != nil || !met {
		t.Fatalf("the change did not meet a line: %v", err)
	}
	if line, detail := b.lastLine(t, id); line != "sql:sperrd changed_by_sql pending pending" {
		t.Errorf("line %s %s", line, detail)
	}
}

func TestLineOfASavepointStandsForItsChange(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.receive(t, pidSperrauftrag, testMalo).ID
	err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), `UPDATE sperr_orders SET hinweis = 'x' WHERE id = $1`, id); err != nil {
			return err
		}
		return pgx.BeginFunc(t.Context(), tx, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), `INSERT INTO sperr_order_history (tenant, order_id, actor, action, from_status, to_status)
				VALUES ($1, $2, 'a', 'in_a_savepoint', 'pending', 'pending')`, testTenant, id)
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if line, detail := b.lastLine(t, id); line != "a in_a_savepoint pending pending" {
		t.Errorf("line %s %s", line, detail)
	}
}

// PostgreSQL takes the options of a connection as they come. A line that is no text would
// stand for ever, and no backup with it could be restored.
func TestLineThatIsNoTextIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.receive(t, pidSperrauftrag, testMalo).ID
	for _, name := range []string{"actor", "reason"} {
		config := b.pool.Config().ConnConfig.Copy()
		config.RuntimeParams["options"] = "-c sperrd." + name + "=m\xff\xfek"
		conn, err := pgx.ConnectConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		_, err = conn.Exec(t.Context(), fmt.Sprintf(`UPDATE sperr_orders SET hinweis = 'x' WHERE id = '%s'`, id))
		if pgErr, ok := errors.AsType[*pgconn.PgError](err); !ok || !strings.Contains(pgErr.Message, "invalid byte sequence") {
			t.Errorf("%s: %v", name, err)
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if line, _ := b.lastLine(t, id); line != "makod created pending" {
		t.Errorf("line %s", line)
	}
}

// An order that nobody can read would take the whole list with it.
func TestMarktdatenAreTexts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.receive(t, pidSperrauftrag, testMalo).ID
	for _, odd := range []string{`{"x":1}`, `[]`, `"x"`, `null`, `{"x":null}`, `{"x":["a"]}`} {
		if _, err := b.pool.Exec(t.Context(), `UPDATE sperr_orders SET marktdaten = $2::text::jsonb WHERE id = $1`, id, odd); err == nil {
			t.Errorf("%s is taken", odd)
		}
	}
	b.exec(t, `UPDATE sperr_orders SET marktdaten = '{"x": "y"}' WHERE id = $1`, id)
}

// Where a group owns what an earlier migration has made, and one of its members migrates.
func TestHistoryIsWrittenWhereAGroupOwnsTheTables(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	pool, err := postgres.Open(t.Context(), url, postgres.Options{PoolSize: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	b := newBenchOn(t, pool, testTenant)
	group, _ := postgrestest.NewRole(t, url)
	give := func(to, besides string) {
		ctx := context.Background() // also when the test has ended
		conn, err := pgx.Connect(ctx, postgrestest.AdminURL(t, url))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		if _, err := conn.Exec(ctx, `DO $$ DECLARE object TEXT; BEGIN
			FOR object IN
				SELECT format('TABLE %s', oid::regclass) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
				UNION ALL SELECT format('FUNCTION %s', oid::regprocedure) FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proname <> ALL ('`+besides+`')
			LOOP EXECUTE format('ALTER %s OWNER TO `+to+`', object); END LOOP;
		END $$; GRANT `+group+` TO sperrd`); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { give("sperrd", "{}") })
	give(group, "{sperrd_setting,sperrd_claimed_by}")
	id := b.receive(t, pidSperrauftrag, testMalo).ID
	b.exec(t, `UPDATE sperr_orders SET status = 'executed', executed_at = now(), iftsta_attempts = 3 WHERE id = $1`, id)
	if _, err := b.service.ResetIFTSTA(t.Context(), Call{Actor: "team"}, id, "why"); err != nil {
		t.Fatal(err)
	}
	if line, _ := b.lastLine(t, id); line != "team iftsta_reset executed executed" {
		t.Errorf("line %s", line)
	}
}
