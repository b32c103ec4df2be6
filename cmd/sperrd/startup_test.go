package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/postgres/postgrestest"
)

func TestServe_refuses_a_bad_configuration_and_names_the_key(t *testing.T) {
	t.Parallel()
	// Nobody listens here: a start that went on would fail with another code.
	good := setup{port: 8780, database: "postgres://sperrd:db-Geheimnis@127.0.0.1:1/sperrd", makod: "http://127.0.0.1:1"}.toml()
	env := map[string]string{"EMPTY": "", "BLANK": "  ", "NESTED": "env:EMPTY"}
	const hmac = "inbound_hmac_secret"
	for _, c := range []struct{ name, key, line, want string }{
		{"no authentication", "allow_insecure_no_auth", "", "oidc: the section with issuer and audience is required"},
		{"no authentication, by name", "allow_insecure_no_auth", "allow_insecure_no_auth = false", "oidc: the section with issuer and audience is required"},
		{"empty secret", hmac, hmac + ` = ""`, hmac},
		{"blank secret", hmac, hmac + ` = "   "`, hmac},
		{"unset variable", hmac, hmac + ` = "env:UNSET"`, "UNSET"},
		{"empty variable", hmac, hmac + ` = "env:EMPTY"`, "EMPTY"},
		{"blank variable", hmac, hmac + ` = "env:BLANK"`, "BLANK"},
		{"nested reference", hmac, hmac + ` = "env:NESTED"`, "NESTED"},
		{"whsec_ without a key", hmac, hmac + ` = "whsec_"`, hmac},
		{"whsec_ that is no base64", hmac, hmac + ` = "whsec_Geheimnis!"`, hmac},
		{"empty list of secrets", hmac, hmac + ` = []`, hmac},
		{"unknown key", "port", "prot = 8780", "prot"},
		{"port 0", "port", "port = 0", "port"},
		{"no tenant", "tenant", "", "tenant"},
		{"tenant of 12 digits", "tenant", `tenant = "990035700000"`, "tenant"},
		{"password in makod_url", "makod_url", `makod_url = "http://u:url-Geheimnis@makod"`, "makod_url"},
		{"blank in makod_api_key", "makod_api_key", `makod_api_key = "makod Geheimnis"`, "makod_api_key"},
		{"no database", "url", "", "database.url"},
		{"unescaped password", "url", `url = "postgres://sperrd:db-Geheimnis%zz@db/sperrd"`, "database.url"},
		{"another kind of database", "url", `url = "mysql://sperrd:db-Geheimnis@db:port/sperrd"`, "database.url"},
		{"no duration", "shutdown_grace", "shutdown_grace = 20", "shutdown_grace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := commandIn(t, env, "serve", "--config", writeConfig(t, with(good, c.key, c.line)))
			if code != exitUsage {
				t.Errorf("exit code %d; want 2", code)
			}
			if !strings.Contains(stderr, c.want) {
				t.Errorf("%q does not name %s", stderr, c.want)
			}
			if strings.Contains(stdout+stderr, "Geheimnis") {
				t.Errorf("%q tells a secret", stdout+stderr)
			}
		})
	}
}

func TestServe_says_every_problem_on_a_line_of_its_own(t *testing.T) {
	t.Parallel()
	_, _, stderr := command(t, "port = 0\ntenant = 1\n", "serve")
	for _, line := range []string{"  line 1: port: ", "  line 2: tenant: ", "  makod_url: ", "  database.url: "} {
		if !strings.Contains(stderr, "\n"+line) {
			t.Errorf("no line begins with %q in:\n%s", line, stderr)
		}
	}
}

func TestServe_takes_the_configuration_from_the_variable(t *testing.T) {
	t.Parallel()
	path := writeConfig(t, "prot = 1")
	code, _, stderr := commandIn(t, map[string]string{"SPERRD_CONFIG": path})
	if code != exitUsage || !strings.Contains(stderr, path) {
		t.Errorf("exit code %d, %q; want 2 and the path of the file", code, stderr)
	}
}

func TestServe_without_a_database_fails_and_says_where_to_look(t *testing.T) {
	t.Parallel()
	// Port 1 is reserved and nobody listens there.
	s := setup{port: freePort(t), database: "postgres://sperrd:db-Geheimnis@127.0.0.1:1/sperrd", makod: "http://127.0.0.1:1"}
	code, _, stderr := command(t, s.toml(), "serve")
	if code != exitFailure {
		t.Errorf("exit code %d; want 1", code)
	}
	for _, want := range []string{"database.url", "127.0.0.1:1", "refused"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q does not say %q", stderr, want)
		}
	}
	if strings.Contains(stderr, "Geheimnis") {
		t.Errorf("%q tells a secret", stderr)
	}
}

func TestServe_on_a_port_in_use_fails_and_names_it(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", fmt.Sprintf(":%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	s := setup{port: port, database: postgrestest.NewURL(t), makod: "http://127.0.0.1:1"}
	code, _, stderr := command(t, s.toml(), "serve")
	if code != exitFailure || !strings.Contains(stderr, fmt.Sprint("port: listen tcp :", port)) {
		t.Errorf("exit code %d, %s; want 1 and the port", code, stderr)
	}
}

func TestServe_four_replicas_at_once_on_an_empty_database_apply_each_migration_once(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewEmptyURL(t)
	var replicas []*instance
	for range 4 {
		replicas = append(replicas, start(t, setup{port: freePort(t), database: url, makod: "http://127.0.0.1:1"}))
	}
	applied := map[string]int{}
	for _, i := range replicas {
		i.awaitReady(t)
		for _, file := range migrationFiles(t) {
			applied[file] += strings.Count(i.log.String(), `"msg":"migration applied","file":"`+file+`"`)
		}
	}
	want := map[string]int{}
	for _, file := range migrationFiles(t) {
		want[file] = 1
	}
	if diff := cmp.Diff(want, applied); diff != "" {
		t.Errorf("applied (-want +got):\n%s", diff)
	}
}

func TestServe_schema_newer_than_the_binary_is_logged_and_served(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	execSQL(t, url, "UPDATE schema_migrations SET version = 9999")
	i := start(t, setup{port: freePort(t), database: url, makod: "http://127.0.0.1:1"})
	i.awaitReady(t)
	if log := i.log.String(); !strings.Contains(log, "newer than this version") {
		t.Errorf("the log does not say so:\n%s", log)
	}
}

func TestServe_open_service_warns_loudly_and_believes_unsigned_events_only_then(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	for name, c := range map[string]struct {
		line     string
		warning  bool
		accepted int
	}{
		"secret":    {`inbound_hmac_secret = "` + hmacSecret + `"`, false, http.StatusUnauthorized},
		"no secret": {"", true, http.StatusCreated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup{port: freePort(t), database: postgrestest.NewURL(t), makod: m.url}
			i := startTOML(t, s.port, with(s.toml(), "inbound_hmac_secret", c.line))
			i.awaitReady(t)
			log := i.log.String()
			if !strings.Contains(log, `"level":"WARN","msg":"configuration","warning":"INSECURE: allow_insecure_no_auth`) {
				t.Errorf("no warning about allow_insecure_no_auth:\n%s", log)
			}
			if got := strings.Contains(log, `"level":"WARN","msg":"configuration","warning":"INSECURE: inbound_hmac_secret`); got != c.warning {
				t.Errorf("warning about inbound_hmac_secret: %t; want %t\n%s", got, c.warning, log)
			}
			event := m.sperrauftrag(t, maloID(len(name)), map[string]any{})
			if status, body := m.deliver(t, i, event, ""); status != c.accepted {
				t.Errorf("unsigned event: %d %s; want %d", status, body, c.accepted)
			}
		})
	}
}

func TestServe_warns_once_about_the_check_digit_of_the_tenant(t *testing.T) {
	t.Parallel()
	s := setup{port: freePort(t), database: postgrestest.NewURL(t), makod: "http://127.0.0.1:1"}
	i := startTOML(t, s.port, with(s.toml(), "tenant", `tenant = "9900357000004"`))
	i.awaitReady(t)
	if got := strings.Count(i.log.String(), "check digit"); got != 1 {
		t.Errorf("%d lines about the check digit; want 1:\n%s", got, i.log.String())
	}
}

func execSQL(t *testing.T, url string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// silentServer accepts connections and says nothing.
func silentServer(t *testing.T) (address string, connected <-chan struct{}) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted, ended := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			select {
			case accepted <- struct{}{}:
			default:
			}
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-ended
	})
	return listener.Addr().String(), accepted
}
