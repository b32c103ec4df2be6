package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoad_every_problem_at_once_with_line_key_and_variable(t *testing.T) {
	t.Parallel()
	got := problems(t, `port = 0
prot = 8780
tenant = "990035700000"
makod_url = "env:MAKOD_URL"
makod_api_key = "env:SPERRD_MAKOD_API_KEY"
shutdown_grace = 20
[database]
pool_size = 1001
urll = "postgres://db/sperrd"
[metrics]
enabled = true
port = 9090
[log]
level = "verbose"
`, env("MAKOD_URL", "ftp://makod"))
	want := []string{
		`line 1: port: must be a whole number from 1 to 65535`,
		`line 2: prot: unknown key`,
		`line 3: tenant: must be an MP-ID: 13 digits and nothing else`,
		`line 4: makod_url (environment variable MAKOD_URL): must be a URL that begins with http:// or https:// and names a host`,
		`line 5: makod_api_key (environment variable SPERRD_MAKOD_API_KEY): is not set`,
		`line 6: shutdown_grace: must be a duration with its unit, such as "30s" or "2h" (90 days are "2160h")`,
		`line 8: database.pool_size: must be a whole number from 1 to 1000`,
		`line 9: database.urll: unknown key`,
		`line 10: metrics: unknown section`,
		`line 14: log.level: must be one of debug, info, warn, error`,
		`database.url: is required`,
		`oidc: the section with issuer and audience is required: without it whoever reaches the port can read, confirm ` +
			`and cancel disconnections; allow_insecure_no_auth = true serves that way all the same`,
		`inbound_hmac_secret: is required: without it whoever reaches the port can queue a disconnection; ` +
			`allow_insecure_no_auth = true serves that way all the same`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestError_has_the_path_and_one_line_a_problem(t *testing.T) {
	t.Parallel()
	path := write(t, with(`port = 0`)+"x = 1")
	_, err := Load(path, env())
	want := "configuration file " + path + " cannot be used:\n" +
		"  line 1: port: must be a whole number from 1 to 65535\n" +
		"  line 10: database.x: unknown key"
	if err == nil || err.Error() != want {
		t.Errorf("error:\n%v\nwant:\n%s", err, want)
	}
}

// What a later part of the service adds is unknown until that part is there: a
// key that is read and then ignored is a promise that is not kept.
func TestLoad_unknown_keys_and_sections_are_refused(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`Port = 8780`:                 "line 1: Port: unknown key",
		`TENANT = "9900357000003"`:    "line 1: TENANT: unknown key",
		`backup.path = "/var/backup"`: "line 1: backup: unknown section",
		`oidc = { issuer = "https://keycloak", audience = "sperrd", jwks = "x" }`: "line 1: oidc.jwks: unknown key",
		`"log.level" = "info"`: "line 1: log.level: unknown key",
		`oidc = 1`:             "line 1: oidc: must be one section, [oidc]",
		`mcp = "key"`:          "line 1: mcp: must be one section, [mcp]",
		`metrics = 1`:          "line 1: metrics: unknown key",
		`idempotency = 1`:      "line 1: idempotency: must be one section, [idempotency]",
		`mcp = { named_keys = [] , api_key = "k" }`: "line 1: mcp.named_keys: unknown key",
		`iftsta.attempts = 8`:                       "line 1: iftsta.attempts: unknown key",
		`frist.holidays = []`:                       "line 1: frist.holidays: unknown key",
		`outbox = { max_per_second = 80 }`:          "line 1: outbox.max_per_second: unknown key",
		`iftsta = { Lease = "60s" }`:                "line 1: iftsta.Lease: unknown key",
		`idempotency = { Required = true }`:         "line 1: idempotency.Required: unknown key",
		`log = "json"`:                              "line 1: log: must be one section, [log]",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff([]string{want}, problems(t, with(line), env())); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
	for section, want := range map[string]string{
		"[metrics]\nenabled = true":         "line 9: metrics: unknown section",
		"[idempotency]\ntolerance = \"5m\"": "line 10: idempotency.tolerance: unknown key",
		"[mcp]":                             "mcp.api_key: is required",
		"[[oidc]]\nissuer = \"https://k\"":  "line 9: oidc: must be one section, [oidc]",
		"[oidc]\nissuer = \"https://k\"":    "oidc.audience: is required",
		"[oidc]\naudience = \"sperrd\"":     "oidc.issuer: is required",
		"[iftsta]\nport = 1":                "line 10: iftsta.port: unknown key",
		"[Log]\nlevel = \"info\"":           "line 9: Log: unknown section",
		"[[log]]\nlevel = \"info\"":         "line 9: log: must be one section, [log]",
	} {
		t.Run(section, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff([]string{want}, problems(t, minimal+section, env())); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoad_lines_of_inline_tables_and_dotted_keys(t *testing.T) {
	t.Parallel()
	got := problems(t, "iftsta = { lease = \"60s\", port = 1 }\nport = 0\n"+
		"trace.issuer = 1\ntrace.audience = 2\ntrace.a = 3\ntrace.b = 4\ntrace.c = 5\ntrace.d = 6\n"+minimal, env())
	want := []string{
		"line 1: iftsta.port: unknown key",
		"line 2: port: must be a whole number from 1 to 65535",
		"line 3: trace: unknown section",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestLoad_one_wrong_value_is_one_problem(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`port = 65536`:             "must be a whole number from 1 to 65535",
		`port = "8780"`:            "must be a whole number from 1 to 65535",
		`port = 8780.0`:            "must be a whole number from 1 to 65535",
		`tenant = "99003570000O4"`: "13 digits",
		`tenant = "９９００３５７００００03"`:              "13 digits",
		`tenant = " 9900357000003"`:             "13 digits",
		`tenant = 9900357000003`:                "must be a string in quotes",
		`tenant = ""`:                           "is blank",
		`makod_url = "makod:8080"`:              "must be a URL",
		`makod_url = "http://"`:                 "must be a URL",
		`makod_url = "http://:8080"`:            "must be a URL",
		`makod_url = "http://makod:port"`:       "must be a URL",
		`makod_url = "http://u:p@makod"`:        "must not hold a user or a password",
		`makod_url = "http://makod/?a=1"`:       "must not hold a query",
		`makod_url = "http://makod/?"`:          "must not hold a query",
		`makod_url = "http://makod/#"`:          "must not hold a query or a fragment",
		`makod_api_key = "a\n"`:                 "line break",
		`makod_api_key = "a\u007f"`:             "another control character",
		`makod_api_key = 5`:                     "must be a string in quotes",
		`allow_insecure_no_auth = "true"`:       "must be true or false",
		`pruefschritt_check = "ignore"`:         "must be one of refuse, warn",
		`shutdown_grace = "0s"`:                 "must be longer than zero",
		`shutdown_grace = "10m1s"`:              "must be 10m0s at most",
		`shutdown_grace = "20"`:                 "must be a duration with its unit",
		`log.format = "xml"`:                    "must be one of json, text",
		`iftsta.first_backoff = "-1s"`:          "must be longer than zero",
		`iftsta.first_backoff = "3h"`:           "must not be longer than iftsta.max_backoff",
		`iftsta.max_backoff = "29s"`:            "iftsta.first_backoff: must not be longer",
		`iftsta.max_backoff = "0s"`:             "must be longer than zero",
		`iftsta.request_timeout = "0s"`:         "must be longer than zero",
		`iftsta.request_timeout = "56s"`:        "iftsta.lease: must be at least 1m1.4s: iftsta.request_timeout + iftsta.parallelism / iftsta.max_per_second + 5s",
		`iftsta.request_timeout = "10m1s"`:      "must be 10m0s at most",
		`iftsta.lease = "15.399s"`:              "must be at least 15.4s: ",
		`iftsta.lease = "1h1ms"`:                "must be 1h0m0s at most",
		`iftsta.max_per_second = 0.5`:           "must be a whole number from 0 to 10000",
		`iftsta.max_per_second = 10001`:         "must be a whole number from 0 to 10000",
		`iftsta.parallelism = 0`:                "must be a whole number from 1 to 1000",
		`iftsta.parallelism = 1001`:             "must be a whole number from 1 to 1000",
		`iftsta.max_attempts = 0`:               "must be a whole number from 1 to 1000",
		`iftsta.max_attempts = 1001`:            "must be a whole number from 1 to 1000",
		`iftsta.poll_interval = "10m1s"`:        "must be 10m0s at most",
		`iftsta.poll_interval = "9ms"`:          "must be 10ms at least",
		`frist.scan_interval = "1h"`:            "must be 10m0s at most",
		`frist.scan_interval = 60`:              "must be a duration with its unit",
		`outbox.give_up_after = "8761h"`:        "must be 8760h0m0s at most",
		`outbox.request_timeout = "56s"`:        "outbox.lease: must be at least 5s longer than outbox.request_timeout",
		`outbox.request_timeout = "11m"`:        "must be 10m0s at most",
		`outbox.lease = "14.999s"`:              "must be at least 5s longer than outbox.request_timeout",
		`outbox.lease = "61m"`:                  "must be 1h0m0s at most",
		`outbox.poll_interval = "0s"`:           "must be longer than zero",
		`outbox.parallelism = 0`:                "must be a whole number from 1 to 1000",
		`outbox.retention = "-1h"`:              "must be longer than zero",
		`idempotency.retention = "167h59m59s"`:  "must be 168h0m0s at least",
		`idempotency.retention = "0s"`:          "must be longer than zero",
		`idempotency.retention = "-168h"`:       "must be longer than zero",
		`idempotency.retention = "87600h0m1s"`:  "must be 87600h0m0s at most",
		`idempotency.retention = "90d"`:         "must be a duration with its unit",
		`idempotency.retention = 2160`:          "must be a duration with its unit",
		`idempotency.required = "true"`:         "must be true or false",
		`idempotency.required = 1`:              "must be true or false",
		`iftsta.lease = "0s"`:                   "must be longer than zero",
		`inbound_hmac_secret = []`:              "is an empty list",
		`inbound_hmac_secret = { a = "b" }`:     "must be a string in quotes",
		`inbound_hmac_secret = ["good", 1]`:     "inbound_hmac_secret[1]: must be a string in quotes",
		`inbound_hmac_secret = ["good", "  "]`:  "line 5: inbound_hmac_secret[1]: is blank",
		`inbound_hmac_secret = ["env:N", "ok"]`: "inbound_hmac_secret[0] (environment variable N): is not set",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			key, _, _ := strings.Cut(line, " =")
			got := problems(t, with(line), env())
			if key == "allow_insecure_no_auth" {
				got = got[:1] // what is not true is refused on top
			}
			section, _, _ := strings.Cut(key, ".")
			if len(got) != 1 || !strings.Contains(got[0], section) || !strings.Contains(got[0], want) {
				t.Errorf("problems = %q; want one that names %s and says %q", got, key, want)
			}
		})
	}
}

func TestLoad_limits_themselves_are_accepted(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`port = 1`, `shutdown_grace = "10m"`, `iftsta.lease = "15.4s"`, `iftsta.request_timeout = "54.6s"`,
		`iftsta = { lease = "15s", max_per_second = 0 }`, `iftsta = { lease = "1h", request_timeout = "10m" }`,
		`outbox.lease = "15s"`, `outbox.request_timeout = "55s"`, `outbox = { lease = "1h", request_timeout = "10m" }`,
		`iftsta.first_backoff = "2h"`, `iftsta.max_backoff = "30s"`,
		`idempotency.retention = "168h"`, `idempotency.retention = "87600h"`, `idempotency.required = false`,
	} {
		mustLoad(t, with(line), env())
	}
}

func TestLoad_what_is_not_TOML_has_its_line(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"port = 1\nport = 2":      "line 2: ",
		"port = 1\ntenant 5":      "line 2: ",
		"port = 1\n\ntenant = x":  "line 3: ",
		"[log]\nlevel=\"a\n":      "line 2: ",
		"[log]\n[log]\n":          "line 2: ",
		"log = 1\n[log]\nx = 1\n": "line 2: ",
	} {
		got := problems(t, content, env())
		if len(got) != 1 || !strings.HasPrefix(got[0], want) || !strings.Contains(got[0], "not valid TOML") {
			t.Errorf("%q: problems = %q; want one that begins with %q", content, got, want)
		}
	}
}
