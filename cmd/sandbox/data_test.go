package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"sperrd/internal/postgres/postgrestest"
)

// A second run on the same data finds the orders of the first one, makod has the
// processes again that wait, and an outcome that it was never told is sent.
func TestData_keeps_the_orders_between_runs(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.Chmod(filepath.Dir(folder), 0o755); err != nil { // PostgreSQL may run as another user
		t.Fatal(err)
	}
	first := start(t, "--skip-story", "--sperrd", sperrdBinary, "--data", folder)
	first.handedOver()
	if status, body := send(t, "POST", first.find(`admin endpoints on (\S+)`)+"/makod/fault?kind=down", ""); status != 200 {
		t.Fatalf("POST /makod/fault answered with %d %s", status, body)
	}
	if status, body := sendAs(t, first.token(), "PUT", first.find(`PUT '(\S+/execute)'`), ""); status != 202 {
		t.Fatalf("execute with makod down answered with %d %s", status, body)
	}
	first.cancel()
	if code := first.exitCode(); code != 0 {
		t.Fatalf("first run: exit code %d", code)
	}
	second := start(t, "--once", "--sperrd", sperrdBinary, "--data", folder)
	if code := second.exitCode(); code != 0 {
		t.Fatalf("second run: exit code %d", code)
	}
	for _, want := range []string{"total 13", "the 4 open processes of earlier runs", "iftsta_outstanding 0"} {
		if !strings.Contains(strings.Join(strings.Fields(second.output()), " "), want) {
			t.Errorf("second run: it lacks %q", want)
		}
	}
}

func TestDatabaseURL_uses_a_server_and_leaves_it_as_it_was(t *testing.T) {
	t.Parallel()
	server, err := postgrestest.StartServer(t.Context(), postgrestest.Options{Fast: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	if code := start(t, "--once", "--sperrd", sperrdBinary, "--database-url", server.AdminURL(), "--makod-fault", "drop").exitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	conn, err := pgx.Connect(t.Context(), server.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var databases int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_database WHERE datname NOT IN ('postgres', 'sperrd') AND NOT datistemplate").Scan(&databases); err != nil {
		t.Fatal(err)
	}
	if databases != 0 {
		t.Errorf("%d databases are left", databases)
	}
}
