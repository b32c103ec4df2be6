package main

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/postgres/postgrestest"
)

// levels returns the level of each finding, as "what level".
func levels(stdout string) []string {
	var found []string
	for line := range strings.Lines(stdout) {
		fields := strings.Fields(line)
		found = append(found, fields[1]+" "+fields[0])
	}
	return found
}

func TestCheck_finds_nothing_where_all_is_well(t *testing.T) {
	t.Parallel()
	e := check(t, healthy(t), postgrestest.NewURL(t), "--strict")
	var got []string
	for _, f := range e.Findings {
		got = append(got, f.What+" "+f.Level)
	}
	want := []string{
		"configuration ok", "secrets ok", "transport ok", "webhook ok", "calendar ok", "zone ok", "idempotency ok",
		"database ok", "connections ok", "clock ok", "zone ok", "rights ok", "schema ok", "tables ok", "snapshot ok",
		"fristen ok", "iftsta ok", "rejects ok", "orders ok", "outbox ok", "transactions ok", "oidc ok", "makod ok", "erp ok",
	}
	if diff := cmp.Diff(want, got); diff != "" || e.code != exitOK || !e.OK {
		t.Errorf("exit code %d, ok %t, findings (-want +got):\n%s\n%s", e.code, e.OK, diff, e.stdout)
	}
	e.want(t, "ok", "database", "PostgreSQL 1", "")
	e.want(t, "ok", "oidc", ": 1 (RS256)", "")
	e.want(t, "ok", "secrets", "4, none of them weak", "")
}

func TestCheck_prints_a_line_for_each_finding_with_what_to_do(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	s := setup{port: 8780, database: postgrestest.NewURL(t), makod: m.url, erp: m.url + "?token=ERP-Geheimnis"}
	code, stdout, stderr := command(t, s.toml(), "check")
	want := []string{
		"configuration ok", "configuration warn", // allow_insecure_no_auth
		"secrets warn", "secrets warn", "secrets warn", // weak ones
		"secrets warn", // in the file
		"transport ok", "webhook ok", "calendar ok", "zone ok", "idempotency ok",
		"database ok", "connections ok", "clock ok", "zone ok", "rights ok", "schema ok", "tables ok", "snapshot ok",
		"fristen ok", "iftsta ok", "rejects ok", "orders ok", "outbox ok", "transactions ok", "makod ok", "erp ok",
	}
	if diff := cmp.Diff(want, levels(stdout)); diff != "" || code != exitOK || stderr != "" {
		t.Errorf("exit code %d, %q, findings (-want +got):\n%s\n%s", code, stderr, diff, stdout)
	}
	if !regexp.MustCompile(`(?m)^ok    database       PostgreSQL \d+`).MatchString(stdout) {
		t.Errorf("no version of the database in:\n%s", stdout)
	}
	if line := `warn  secrets        makod_api_key is INSECURE, shorter than 16 bytes, and contains a word that everybody tries: make another one`; !strings.Contains(stdout, line) {
		t.Errorf("no line %q in:\n%s", line, stdout)
	}
	if code, _, _ := command(t, s.toml(), "check", "--strict"); code != exitFailure {
		t.Errorf("with --strict: exit code %d; want 1 for the warnings", code)
	}
}

func TestCheck_neighbours_that_are_away_fail_and_no_secret_is_told(t *testing.T) {
	t.Parallel()
	s := setup{
		port: 8780, database: "postgres://sperrd:db-Geheimnis@127.0.0.1:1/sperrd", makod: "http://127.0.0.1:1",
		erp: "http://127.0.0.1:1/?token=ERP-Geheimnis",
	}
	code, stdout, stderr := command(t, s.toml(), "check")
	want := []string{
		"configuration ok", "configuration warn", "secrets warn", "secrets warn", "secrets warn", "secrets warn", "transport ok", "webhook ok",
		"calendar ok", "zone ok", "idempotency ok", "database fail", "makod fail", "erp fail",
	}
	if diff := cmp.Diff(want, levels(stdout)); diff != "" || code != exitFailure || stderr != "" {
		t.Errorf("exit code %d, %q, findings (-want +got):\n%s\n%s", code, stderr, diff, stdout)
	}
	if strings.Contains(stdout, "Geheimnis") {
		t.Errorf("a secret in:\n%s", stdout)
	}
}

func TestCheck_every_problem_of_the_configuration_is_a_line(t *testing.T) {
	t.Parallel()
	code, stdout, _ := command(t, "port = 0\ntenant = 1\n", "check")
	if code != exitFailure || strings.Count(stdout, "fail  configuration  ") < 4 {
		t.Errorf("exit code %d; want 1 and a line each for port, tenant, makod_url and database.url:\n%s", code, stdout)
	}
	if code, stdout, _ := commandIn(t, nil, "check", "--config", "/nonexistent"); code != exitFailure || !strings.Contains(stdout, "/nonexistent") {
		t.Errorf("exit code %d, %q; want 1 and the path", code, stdout)
	}
}

func TestCheck_missing_webhook_secret_and_several_of_them_are_told(t *testing.T) {
	t.Parallel()
	good := setup{port: 8780, database: "postgres://127.0.0.1:1/sperrd", makod: "http://127.0.0.1:1"}.toml()
	for line, want := range map[string]string{
		"":                                 "warn  webhook        no secret",
		`inbound_hmac_secret = ["a", "b"]`: "ok    webhook        2 secrets",
	} {
		if _, stdout, _ := command(t, with(good, "inbound_hmac_secret", line), "check"); !strings.Contains(stdout, want) {
			t.Errorf("%q: no %q in:\n%s", line, want, stdout)
		}
	}
}

func TestCheck_clock_that_differs_from_the_database_is_told(t *testing.T) {
	t.Parallel()
	var out buffer
	p := &process{
		args: nil, lookupEnv: lookup(nil), stdout: &out, now: func() time.Time { return time.Now().Add(-time.Hour) },
		configFlag: writeConfig(t, setup{port: 8780, database: postgrestest.NewURL(t), makod: "http://127.0.0.1:1"}.toml()),
	}
	// A machine that is busy adds some hundredths of a second, on either side.
	anHour := regexp.MustCompile(`fail  clock          (1h0m0|59m59)`)
	if err := new(checkCommand).Run(t.Context(), p); err == nil || !anHour.MatchString(out.String()) {
		t.Errorf("%v; want an hour between the clocks in:\n%s", err, out.String())
	}
}

// silent is an address that takes connections and never says a word.
func silent(t *testing.T) (address string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

// The time is over before any of the silent ones has answered, and the others have not
// waited for them.
func TestCheck_neighbours_that_hang_end_with_a_line_and_keep_nobody_from_his(t *testing.T) {
	t.Parallel()
	quiet, m := silent(t), newMarket(t)
	for name, c := range map[string]struct {
		database, makod string
		want            []string
	}{
		"database": {"postgres://sperrd@" + quiet + "/sperrd", m.url, []string{"database fail", "oidc fail", "makod ok", "erp ok"}},
		"makod":    {postgrestest.NewURL(t), "http://" + quiet, []string{"database ok", "transactions ok", "oidc fail", "makod fail", "erp ok"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup{port: 8780, database: c.database, makod: c.makod, erp: m.url}
			var out buffer
			p := &process{lookupEnv: lookup(nil), stdout: &out, now: time.Now, configFlag: writeConfig(t, guardedTOML(s, "http://"+quiet+"/realm"))}
			ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
			defer cancel()
			begun := time.Now()
			err := new(checkCommand).Run(ctx, p)
			got := levels(out.String())
			for _, want := range c.want {
				if !slices.Contains(got, want) {
					t.Errorf("no %s in:\n%s", want, out.String())
				}
			}
			if took := time.Since(begun); err == nil || took > patience/2 {
				t.Errorf("%v after %s; want a failure soon after the end of the time", err, took)
			}
		})
	}
}

func TestCheck_database_that_is_locked_up_ends_each_look_with_a_line(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE sperr_orders, event_outbox, webhook_rejects, api_transactions"); err != nil {
		t.Fatal(err)
	}
	var out buffer
	p := &process{lookupEnv: lookup(nil), stdout: &out, now: time.Now, configFlag: writeConfig(t, setup{port: 8780, database: url, makod: "http://127.0.0.1:1"}.toml())}
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
	defer cancel()
	if err := new(checkCommand).Run(ctx, p); err == nil {
		t.Error("no failure")
	}
	got := levels(out.String())
	for _, want := range []string{"schema ok", "queues fail", "orders fail", "outbox fail", "transactions fail", "makod fail"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in:\n%s", want, out.String())
		}
	}
}

// The document of a configuration that cannot be used is the same everywhere but for the
// path and the version.
func TestCheck_JSON_document(t *testing.T) {
	t.Parallel()
	path := writeConfig(t, "port = 0\n")
	code, stdout, stderr := commandIn(t, nil, "check", "--json", "--config", path)
	if code != exitFailure || stderr != "" {
		t.Errorf("exit code %d, %q; want 1", code, stderr)
	}
	got := strings.NewReplacer(path, "sperrd.toml", strconv.Quote(versionText()), `"v1.2.3"`).Replace(stdout)
	const problem = `{
      "level": "fail",
      "what": "configuration",
      "text": "sperrd.toml: %s",
      "todo": "correct the file, sperrd.toml.example explains every key"
    }`
	var problems []string
	for _, text := range []string{
		"line 1: port: must be a whole number from 1 to 65535", "tenant: is required", "makod_url: is required",
		"makod_api_key: is required", "database.url: is required",
		"oidc: the section with issuer and audience is required: without it whoever reaches the port can read, confirm and cancel disconnections; allow_insecure_no_auth = true serves that way all the same",
		"inbound_hmac_secret: is required: without it whoever reaches the port can queue a disconnection; allow_insecure_no_auth = true serves that way all the same",
	} {
		problems = append(problems, fmt.Sprintf(problem, text))
	}
	want := `{
  "ok": false,
  "version": "v1.2.3",
  "findings": [
    ` + strings.Join(problems, ",\n    ") + `
  ]
}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}
