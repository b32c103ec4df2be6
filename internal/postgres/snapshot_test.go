package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"sperrd/internal/postgres"
	"sperrd/internal/postgres/postgrestest"
)

func TestOldestSnapshot_names_who_holds_the_cleaning_up(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewEmptyURL(t)
	pool, err := postgres.Open(t.Context(), url, postgres.Options{PoolSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	reader, err := postgres.Open(t.Context(), url, postgres.Options{PoolSize: 1, ApplicationName: "nightly report"})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	tx, err := reader.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT count(*) FROM pg_class"); err != nil {
		t.Fatal(err)
	}
	held, err := postgres.OldestSnapshot(t.Context(), pool)
	if err != nil || held.Age <= 0 || !strings.Contains(held.Holder, "(nightly report)") {
		t.Errorf("held %+v, %v; want the session of the report", held, err)
	}
	if want := fmt.Sprintf("SELECT pg_terminate_backend(%d)", tx.Conn().PgConn().PID()); held.End != want {
		t.Errorf("it is ended by %q; want %q", held.End, want)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if free, err := postgres.OldestSnapshot(t.Context(), pool); err != nil || strings.Contains(free.Holder, "nightly report") {
		t.Errorf("after its end: %+v, %v", free, err)
	}
}
