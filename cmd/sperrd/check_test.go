package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/config"
	"sperrd/internal/postgres"
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

func TestCheck_neighbours_that_are_there_are_ok(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	s := setup{port: 8780, database: postgrestest.NewURL(t), makod: m.url, erp: m.url + "?token=ERP-Geheimnis"}
	code, stdout, stderr := command(t, s.toml(), "check")
	want := []string{
		"configuration ok", "configuration warn", // allow_insecure_no_auth
		"webhook ok", "calendar ok", "idempotency ok", "database ok", "clock ok", "schema ok", "outbox ok", "makod ok", "erp ok",
	}
	if diff := cmp.Diff(want, levels(stdout)); diff != "" || code != exitOK || stderr != "" {
		t.Errorf("exit code %d, %q, findings (-want +got):\n%s\n%s", code, stderr, diff, stdout)
	}
	if !regexp.MustCompile(`ok    database       PostgreSQL \d+`).MatchString(stdout) {
		t.Errorf("no version of the database in:\n%s", stdout)
	}
	if strings.Contains(stdout, "Geheimnis") {
		t.Errorf("a secret in:\n%s", stdout)
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
		"configuration ok", "configuration warn", "webhook ok", "calendar ok", "idempotency ok", "database fail", "makod fail", "erp fail",
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

func TestCheck_judges_clock_calendar_and_schema(t *testing.T) {
	t.Parallel()
	skew := func(d time.Duration) func(*findings) { return func(f *findings) { f.skew(d) } }
	year := func(y int) func(*findings) {
		return func(f *findings) { f.calendar(&config.Config{}, time.Date(y, time.June, 1, 0, 0, 0, 0, time.UTC)) }
	}
	schema := func(s postgres.Status) func(*findings) { return func(f *findings) { f.schema(s) } }
	for _, c := range []struct {
		want  string
		judge func(*findings)
	}{
		{"clock ok", skew(2 * time.Second)},
		{"clock warn", skew(2*time.Second + 1)},
		{"clock warn", skew(-30 * time.Second)},
		{"clock fail", skew(-30*time.Second - 1)},
		{"calendar ok", year(2033)},
		{"calendar warn", year(2034)},
		{"calendar warn", year(2035)},
		{"calendar fail", year(2036)},
		{"schema ok", schema(postgres.Status{Version: 4, Newest: 4})},
		{"schema warn", schema(postgres.Status{Version: 3, Newest: 4, Pending: []string{"0004_x.up.sql"}})},
		{"schema warn", schema(postgres.Status{Version: 5, Newest: 4})},
		{"schema fail", schema(postgres.Status{Version: 4, Newest: 4, Dirty: true})},
	} {
		var out buffer
		f := &findings{out: &out}
		c.judge(f)
		if diff := cmp.Diff([]string{c.want}, levels(out.String())); diff != "" || f.failed != strings.HasSuffix(c.want, "fail") {
			t.Errorf("failed %t, finding (-want +got):\n%s", f.failed, diff)
		}
	}
}
