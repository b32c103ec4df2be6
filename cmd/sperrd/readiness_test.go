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
	for _, c := range []struct{ breaks, mends, reason string }{
		{"ALLOW_CONNECTIONS false", "ALLOW_CONNECTIONS true", "the database does not answer"},
		{"SET default_transaction_read_only = on", "RESET default_transaction_read_only", "the database is read-only"},
	} {
		execSQL(t, elsewhere, "ALTER DATABASE "+name+" "+c.breaks, endSessions(name))
		await(t, func() (bool, string) {
			i.awaitStatus(t, "/health/ready", http.StatusServiceUnavailable)
			return strings.Contains(i.log.String(), c.reason), "not logged: " + c.reason
		})
		if status, _, err := i.get(t, "/health/live"); status != http.StatusOK {
			t.Errorf("%s: live is %d %v; want 200", c.reason, status, err)
		}
		execSQL(t, elsewhere, "ALTER DATABASE "+name+" "+c.mends, endSessions(name))
		i.awaitReady(t)
	}
}

// endSessions ends what our role has open in a database, and nothing of the server's own.
func endSessions(name string) string {
	return "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = current_user AND datname = '" + name + "'"
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

	name := databaseName(t, s.database)
	execSQL(t, postgrestest.NewEmptyURL(t), "ALTER DATABASE "+name+" ALLOW_CONNECTIONS false", endSessions(name))
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
