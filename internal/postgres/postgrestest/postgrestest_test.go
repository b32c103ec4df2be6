package postgrestest

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(helperMode); mode != "" {
		os.Exit(helper(mode))
	}
	os.Exit(Run(m))
}

// connect opens one connection that ends with the test.
func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// ask returns the one value of a query.
func ask[T any](t *testing.T, conn *pgx.Conn, query string, args ...any) T {
	t.Helper()
	var value T
	if err := conn.QueryRow(t.Context(), query, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

// isGone reports whether connecting fails because the database does not exist.
func isGone(t *testing.T, url string) bool {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err == nil {
		_ = conn.Close(context.Background())
		return false
	}
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == "3D000"
}

func TestNew_gives_each_test_a_migrated_database_of_its_own(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"one", "other"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := New(t)
			for _, statement := range []string{
				"INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type) VALUES ('9900357000004', '10001234567', '9900000000001', 'sperrung')",
				"CREATE TABLE mine ()",
			} {
				if _, err := pool.Exec(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			var orders int
			if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM sperr_orders").Scan(&orders); err != nil {
				t.Fatal(err)
			}
			if orders != 1 {
				t.Errorf("%d orders, want only my own", orders)
			}
		})
	}
}

func TestNewURL_is_dropped_at_the_end_of_the_test_even_when_in_use(t *testing.T) {
	t.Parallel()
	var url string
	t.Run("user", func(t *testing.T) {
		url = NewURL(t)
		if _, err := pgx.Connect(t.Context(), url); err != nil { // left open
			t.Fatal(err)
		}
	})
	if !isGone(t, url) {
		t.Error("the database is still there")
	}
}

func TestNewEmptyURL_has_no_tables(t *testing.T) {
	t.Parallel()
	conn := connect(t, NewEmptyURL(t))
	if n := ask[int](t, conn, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"); n != 0 {
		t.Errorf("%d tables", n)
	}
}

func TestNew_connects_as_an_owner_who_is_no_superuser(t *testing.T) {
	t.Parallel()
	conn := connect(t, NewURL(t))
	// On a server that was named for the tests, the role was named too.
	if shared.server.halt != nil && ask[bool](t, conn, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") {
		t.Error("superuser")
	}
	if !ask[bool](t, conn, "SELECT pg_get_userbyid(datdba) = current_user FROM pg_database WHERE datname = current_database()") {
		t.Error("not the owner")
	}
}
