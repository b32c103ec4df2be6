package main

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sperrd/internal/postgres/postgrestest"
)

func TestReady_follows_the_database_and_live_does_not(t *testing.T) {
	t.Parallel()
	database, elsewhere := postgrestest.NewURL(t), postgrestest.NewEmptyURL(t)
	i := start(t, setup{port: freePort(t), database: database, makod: "http://127.0.0.1:1"})
	i.awaitReady(t)
	name := databaseName(t, database)
	endSessions := "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name + "'"

	for state, change := range map[string][2]string{
		"away":      {"ALTER DATABASE " + name + " ALLOW_CONNECTIONS false", "ALTER DATABASE " + name + " ALLOW_CONNECTIONS true"},
		"read-only": {"ALTER DATABASE " + name + " SET default_transaction_read_only = on", "ALTER DATABASE " + name + " RESET default_transaction_read_only"},
	} {
		execSQL(t, elsewhere, change[0], endSessions)
		i.awaitStatus(t, "/health/ready", http.StatusServiceUnavailable)
		if status, _, err := i.get(t, "/health/live"); status != http.StatusOK {
			t.Errorf("database %s: live is %d %v; want 200", state, status, err)
		}
		execSQL(t, elsewhere, change[1], endSessions)
		i.awaitReady(t)
	}
}

func databaseName(t *testing.T, rawURL string) string {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(u.Path, "/")
}

func TestHealth_asks_the_service_on_this_machine(t *testing.T) {
	t.Parallel()
	s := setup{port: freePort(t), database: postgrestest.NewURL(t), makod: "http://127.0.0.1:1"}
	i := start(t, s)
	i.awaitReady(t)
	for _, spelling := range [][]string{{"health"}, {"--check"}, {"serve", "--check"}} {
		if code, stdout, stderr := command(t, s.toml(), spelling...); code != exitOK || stdout != "ready\n" {
			t.Errorf("%v: exit code %d, %q, %q; want 0 and ready", spelling, code, stdout, stderr)
		}
	}

	execSQL(t, postgrestest.NewEmptyURL(t), "ALTER DATABASE "+databaseName(t, s.database)+" ALLOW_CONNECTIONS false",
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '"+databaseName(t, s.database)+"'")
	if code, _, stderr := command(t, s.toml(), "health"); code != exitFailure || !strings.Contains(stderr, "503") {
		t.Errorf("without a database: exit code %d, %q; want 1 and 503", code, stderr)
	}

	i.stop()
	i.awaitExit(t)
	for _, spelling := range []string{"health", "--check"} {
		code, _, stderr := command(t, s.toml(), spelling)
		if code != exitFailure || !strings.Contains(stderr, "not ready") {
			t.Errorf("%s of a stopped service: exit code %d, %q; want 1", spelling, code, stderr)
		}
	}
}

func TestHealth_gives_up_on_a_service_that_does_not_answer(t *testing.T) {
	t.Parallel()
	address, _ := silentServer(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	toml := setup{database: "postgres://127.0.0.1:1/sperrd", makod: "http://127.0.0.1:1"}.toml()
	code, _, stderr := command(t, with(toml, "port", "port = "+port), "health")
	if code != exitFailure || !strings.Contains(stderr, "not ready") {
		t.Errorf("exit code %d, %q; want 1", code, stderr)
	}
}

// Docker reserves 2 in a health check.
func TestHealth_fails_with_1_whatever_is_wrong(t *testing.T) {
	t.Parallel()
	code, _, stderr := command(t, "port = 0", "health")
	if code != exitFailure || !strings.Contains(stderr, "port: ") {
		t.Errorf("exit code %d, %q; want 1 and the key", code, stderr)
	}
}
