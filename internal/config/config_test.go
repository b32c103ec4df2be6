package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// minimal is the least that starts.
const minimal = `
tenant = "9900357000003"
makod_url = "http://makod:8080"
makod_api_key = "key-of-makod"
inbound_hmac_secret = "inbound-secret"
allow_insecure_no_auth = true
[database]
url = "postgres://sperrd:db-password@db/sperrd"
`

// oidcSection is what makes a service ask for tokens.
const oidcSection = `
[oidc]
issuer = "https://keycloak:8080/realms/mako"
audience = "sperrd"
`

// sameSecret lets cmp look into a Secret.
var sameSecret = cmp.Comparer(func(a, b Secret) bool { return a.Reveal() == b.Reveal() })

// env returns an environment that holds these pairs and nothing else.
func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}

		return "", false
	}
}

func write(t *testing.T, content string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "sperrd.toml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}

	return path
}

func mustLoad(t *testing.T, content string, getenv func(string) (string, bool)) *Config {
	t.Helper()
	c, err := Load(write(t, content), getenv)
	if err != nil {
		t.Fatal(err)
	}

	return c
}

// problems returns what Load finds wrong, one text each.
func problems(t *testing.T, content string, getenv func(string) (string, bool)) []string {
	t.Helper()
	c, err := Load(write(t, content), getenv)
	var all *Error
	if !errors.As(err, &all) || c != nil {
		t.Fatalf("Load = %v, %v; want no configuration and an *Error", c, err)
	}
	var texts []string
	for _, p := range all.Problems {
		texts = append(texts, p.String())
	}

	return texts
}

// with returns minimal with one line replaced, or added at the top.
func with(line string) string {
	key, _, _ := strings.Cut(line, " =")
	lines := strings.Split(minimal, "\n")
	for i := range lines {
		if strings.HasPrefix(lines[i], key+" =") {
			lines[i] = line
			return strings.Join(lines, "\n")
		}
	}

	return line + "\n" + minimal
}

func without(key string) string {
	lines := strings.Split(minimal, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, key+" =") }), "\n")
}

func TestLoad_least_configuration_gets_the_defaults(t *testing.T) {
	t.Parallel()
	want := &Config{
		Port:                8780,
		Tenant:              "9900357000003",
		MakodURL:            "http://makod:8080",
		MakodAPIKey:         NewSecret("key-of-makod"),
		InboundHMACSecrets:  []Secret{NewSecret("inbound-secret")},
		AllowInsecureNoAuth: true,
		PruefschrittCheck:   PruefschrittRefuse,
		ShutdownGrace:       20 * time.Second,
		Database:            Database{URL: NewSecret("postgres://sperrd:db-password@db/sperrd"), PoolSize: 10},
		Log:                 Log{Format: "json", Level: "info"},
		IFTSTA: IFTSTA{
			MaxAttempts: 8, FirstBackoff: 30 * time.Second, MaxBackoff: 2 * time.Hour, RequestTimeout: 10 * time.Second,
			Lease: time.Minute, PollInterval: 5 * time.Second, Parallelism: 32, MaxPerSecond: 80,
		},
		Frist: Frist{ScanInterval: time.Minute},
		Outbox: Outbox{
			GiveUpAfter: 168 * time.Hour, RequestTimeout: 10 * time.Second, Lease: time.Minute,
			PollInterval: 5 * time.Second, Parallelism: 16, Retention: 720 * time.Hour,
		},
		Idempotency: Idempotency{Retention: 2160 * time.Hour},
		Tracing:     Tracing{SampleRatio: 1},
	}
	if diff := cmp.Diff(want, mustLoad(t, minimal, env()), sameSecret); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestLoad_reads_every_key(t *testing.T) {
	t.Parallel()
	got := mustLoad(t, `
port = 65535
tenant = "9900357000004"
makod_url = "https://makod.example/base/"
makod_api_key = "k"
inbound_hmac_secret = ["one", "env:TWO"]
erp_webhook_url = "env:ERP"
erp_hmac_secret = "whsec_c2VjcmV0"
allow_insecure_no_auth = true
pruefschritt_check = "warn"
shutdown_grace = "10m"
database = { url = "postgres://db/sperrd", pool_size = 1000 }
[log]
format = "text"
level = "debug"
[iftsta]
first_backoff = "1s"
max_backoff = "1s"
request_timeout = "2s"
lease = "9s"
max_attempts = 1000
poll_interval = "10m"
parallelism = 1000
max_per_second = 500
[frist]
scan_interval = "10ms"
[outbox]
give_up_after = "8760h"
request_timeout = "3s"
lease = "8s"
poll_interval = "1m"
parallelism = 1
retention = "1h"
[idempotency]
retention = "168h"
required = true
`, env("TWO", "two", "ERP", "http://erp.example:8443/e%20v?token=t&a=%20b"))
	want := &Config{
		Port:                65535,
		Tenant:              "9900357000004",
		MakodURL:            "https://makod.example/base",
		MakodAPIKey:         NewSecret("k"),
		InboundHMACSecrets:  []Secret{NewSecret("one"), NewSecret("two")},
		AllowInsecureNoAuth: true,
		PruefschrittCheck:   PruefschrittWarn,
		ShutdownGrace:       10 * time.Minute,
		Database:            Database{URL: NewSecret("postgres://db/sperrd"), PoolSize: 1000},
		Log:                 Log{Format: "text", Level: "debug"},
		ERPWebhookURL:       NewSecret("http://erp.example:8443/e%20v?token=t&a=%20b"),
		ERPHMACSecret:       NewSecret("whsec_c2VjcmV0"),
		IFTSTA: IFTSTA{
			MaxAttempts: 1000, FirstBackoff: time.Second, MaxBackoff: time.Second, RequestTimeout: 2 * time.Second,
			Lease: 9 * time.Second, PollInterval: 10 * time.Minute, Parallelism: 1000, MaxPerSecond: 500,
		},
		Frist: Frist{ScanInterval: 10 * time.Millisecond},
		Outbox: Outbox{
			GiveUpAfter: 8760 * time.Hour, RequestTimeout: 3 * time.Second, Lease: 8 * time.Second,
			PollInterval: time.Minute, Parallelism: 1, Retention: time.Hour,
		},
		Idempotency: Idempotency{Retention: 168 * time.Hour, Required: true},
		Tracing:     Tracing{SampleRatio: 1},
	}
	if diff := cmp.Diff(want, got, sameSecret); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestLoad_missing_file_is_named(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "elsewhere.toml")
	_, err := Load(path, env())
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "SPERRD_CONFIG") {
		t.Errorf("error = %v; want one that names %s and how to name another", err, path)
	}
	folder := t.TempDir()
	if _, err := Load(folder, env()); err == nil || !strings.Contains(err.Error(), folder) {
		t.Errorf("error = %v; want one that names %s", err, folder)
	}
}

func TestPath_flag_before_variable_before_working_directory(t *testing.T) {
	t.Parallel()
	set := env("SPERRD_CONFIG", "/etc/sperrd.toml")
	for _, c := range []struct {
		flag   string
		getenv func(string) (string, bool)
		want   string
	}{
		{"/flag.toml", set, "/flag.toml"},
		{"", set, "/etc/sperrd.toml"},
		{"", env(), "sperrd.toml"},
		{"", env("SPERRD_CONFIG", ""), "sperrd.toml"},
	} {
		if got := Path(c.flag, c.getenv); got != c.want {
			t.Errorf("Path(%q) = %q; want %q", c.flag, got, c.want)
		}
	}
}
