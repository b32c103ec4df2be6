package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"sperrd/internal/postgres"
	"sperrd/internal/postgres/postgrestest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func TestIsUnavailable_by_SQLSTATE(t *testing.T) {
	t.Parallel()
	conn := connect(t, postgrestest.NewEmptyURL(t))
	for code, want := range map[string]bool{
		"08000": true, "08006": true, // connection
		"53100": true, "53200": true, "53300": true, // disk, memory, connections
		"58030": true, // disk
		"57014": true, "57P01": true, "57P02": true, "57P03": true, "57P05": true,
		"55P03": true, "40001": true, "40P01": true, "25P03": true, "25006": true,
		"23505": false, "23503": false, "23514": false, "23502": false, // constraints
		"22001": false, "22021": false, "22P02": false, "22008": false, // data
		"42P01": false, "42703": false, "P0001": false, "XX000": false, "25P02": false,
	} {
		_, err := conn.Exec(t.Context(), fmt.Sprintf("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '%s'; END $$", code))
		var pgErr *pgconn.PgError
		if !errors.As(err, &pgErr) || pgErr.Code != code {
			t.Fatalf("the database did not raise %s: %v", code, err)
		}
		if got := postgres.IsUnavailable(fmt.Errorf("claim the order: %w", err)); got != want {
			t.Errorf("IsUnavailable(%s) = %t, want %t", code, got, want)
		}
	}
}

func TestIsUnavailable_when_a_timeout_ends_a_statement(t *testing.T) {
	t.Parallel()
	conn := connect(t, postgrestest.NewEmptyURL(t)+"&statement_timeout=20ms")
	_, err := conn.Exec(t.Context(), "SELECT pg_sleep(60)")
	if !postgres.IsUnavailable(err) {
		t.Errorf("IsUnavailable(%v) = false", err)
	}
}

func TestIsUnavailable_when_a_deadline_ends_a_query(t *testing.T) {
	t.Parallel()
	conn := connect(t, postgrestest.NewEmptyURL(t))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := conn.Exec(ctx, "SELECT pg_sleep(60)")
	if !postgres.IsUnavailable(err) {
		t.Errorf("IsUnavailable(%v) = false", err)
	}
	_, err = conn.Exec(t.Context(), "SELECT 1")
	if !postgres.IsUnavailable(err) {
		t.Errorf("on the connection that is closed since: IsUnavailable(%v) = false", err)
	}
}

func TestIsUnavailable_not_when_the_caller_cancels(t *testing.T) {
	t.Parallel()
	conn := connect(t, postgrestest.NewEmptyURL(t))
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, running := conn.Exec(ctx, "SELECT pg_sleep(60)")
	_, before := connect(t, postgrestest.NewEmptyURL(t)).Exec(ctx, "SELECT 1")
	for _, err := range []error{running, before, context.Canceled, nil, errors.New("other")} {
		if postgres.IsUnavailable(err) {
			t.Errorf("IsUnavailable(%v) = true", err)
		}
	}
}

func TestIsUnavailable_when_the_server_ends_the_session(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewEmptyURL(t)
	victim, other := connect(t, url), connect(t, url)
	do(t, other, "SELECT pg_terminate_backend($1, 5000)", int32(victim.PgConn().PID()))
	for range 2 { // first the server's farewell, then the closed connection
		_, err := victim.Exec(t.Context(), "SELECT 1")
		if !postgres.IsUnavailable(err) {
			t.Errorf("IsUnavailable(%v) = false", err)
		}
	}
}

func TestIsUnavailable_when_the_socket_breaks(t *testing.T) {
	t.Parallel()
	conn := connect(t, postgrestest.NewEmptyURL(t))
	if err := conn.PgConn().Conn().Close(); err != nil {
		t.Fatal(err)
	}
	_, err := conn.Exec(t.Context(), "SELECT 1")
	for _, err := range []error{err, fmt.Errorf("read: %w", io.ErrUnexpectedEOF), fmt.Errorf("read: %w", io.EOF)} {
		if !postgres.IsUnavailable(err) {
			t.Errorf("IsUnavailable(%v) = false", err)
		}
	}
}

func TestIsUnavailable_when_no_session_is_to_be_had(t *testing.T) {
	t.Parallel()
	_, err := pgx.Connect(t.Context(), postgrestest.NewEmptyURL(t)+"&dbname=missing")
	if !postgres.IsUnavailable(err) {
		t.Errorf("IsUnavailable(%v) = false", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = pgx.Connect(cancelled, "postgres://127.0.0.1:1/db")
	if !errors.Is(err, context.Canceled) || !postgres.IsUnavailable(err) {
		t.Errorf("IsUnavailable(%v) = false", err)
	}
}

func TestIsUnavailable_when_the_pool_is_full_or_closed(t *testing.T) {
	t.Parallel()
	pool, err := postgres.Open(t.Context(), postgrestest.NewEmptyURL(t), postgres.Options{PoolSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	held, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, full := pool.Exec(ctx, "SELECT 1")
	held.Release()
	pool.Close()
	_, closed := pool.Exec(t.Context(), "SELECT 1")
	for _, err := range []error{full, closed} {
		if !postgres.IsUnavailable(err) {
			t.Errorf("IsUnavailable(%v) = false", err)
		}
	}
}

func TestIsUnavailable_when_transactions_block_each_other(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewEmptyURL(t)
	first, second := connect(t, url), connect(t, url+"&lock_timeout=20ms")
	do(t, first, "CREATE TABLE counter AS SELECT 1 AS n")
	do(t, second, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	do(t, second, "SELECT n FROM counter")
	do(t, first, "BEGIN")
	do(t, first, "UPDATE counter SET n = 2")
	do(t, second, "SAVEPOINT before")
	_, locked := second.Exec(t.Context(), "UPDATE counter SET n = 3")
	do(t, second, "ROLLBACK TO before")
	do(t, first, "COMMIT")
	_, conflict := second.Exec(t.Context(), "UPDATE counter SET n = 3")
	for _, err := range []error{locked, conflict} {
		if !postgres.IsUnavailable(err) {
			t.Errorf("IsUnavailable(%v) = false", err)
		}
	}
}
