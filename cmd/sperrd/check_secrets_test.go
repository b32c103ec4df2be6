package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/postgres/postgrestest"
)

func TestWeaknesses(t *testing.T) {
	t.Parallel()
	const (
		short, insecure = "is shorter than 32 bytes", "is INSECURE, shorter than 16 bytes,"
		few, known      = "has fewer than 8 different characters", "contains a word that everybody tries"
	)
	good := healthyEnv["INBOUND"]
	for _, c := range []struct {
		secret string
		signs  bool
		want   []string
	}{
		{good, true, nil},
		{good[:32], true, nil},
		{good[:31], true, []string{short}},
		{good[:16], true, []string{short}},
		{good[:15], true, []string{insecure}},
		{good[:16], false, nil},
		{good[:15], false, []string{insecure}},
		{"whsec_" + strings.Repeat("AbCdEfGh", 5) + "Ij4=", true, nil},    // 32 bytes
		{"whsec_" + strings.Repeat("AbCdEfGh", 5) + "IjI=", true, nil},    // 32 bytes
		{"whsec_" + strings.Repeat("AbCdEfGh", 5), true, []string{short}}, // 30 bytes
		{"whsec_" + "AbCdEfGhIjKlMnOpQrSt", true, []string{insecure}},     // 15 bytes, 26 characters
		{strings.Repeat("abcdefg", 6), true, []string{few}},               // seven
		{strings.Repeat("abcdefgh", 6), true, nil},                        // eight
		{"ChangeMe-" + good, true, []string{known}},                       // whatever follows
		{"SPERRD_INBOUND_HMAC_SECRET", true, []string{short, known}},      // of sperrd.toml.example
		{strings.Repeat("0", 15), false, []string{insecure, few}},         // all at once
	} {
		if diff := cmp.Diff(c.want, weaknesses(c.secret, c.signs)); diff != "" {
			t.Errorf("weaknesses(%s, %t) (-want +got):\n%s", c.secret, c.signs, diff)
		}
	}
}

func TestCheck_weak_secrets_are_told_by_their_keys(t *testing.T) {
	t.Parallel()
	toml := with(healthy(t), "inbound_hmac_secret", `inbound_hmac_secret = ["env:INBOUND", "env:OLD"]`)
	e := checkIn(t, map[string]string{
		"DATABASE": postgrestest.NewURL(t), "INBOUND": healthyEnv["INBOUND"], "OLD": healthyEnv["ERP"][:20],
		"ERP": healthyEnv["INBOUND"], "MAKOD": "changeme", "MCP": "aaaaaaaaaaaaaaaaaaaaaaaa",
	}, toml)
	e.want(t, "warn", "secrets", "inbound_hmac_secret[1] is shorter than 32 bytes", "takes a list meanwhile")
	e.want(t, "warn", "secrets", "makod_api_key is INSECURE", "openssl rand")
	e.want(t, "warn", "secrets", "mcp.api_key has fewer than 8", "openssl rand")
	e.want(t, "warn", "secrets", "erp_hmac_secret has the same value as inbound_hmac_secret[0]", "its own")
	if e.code != exitOK || !e.OK {
		t.Errorf("exit code %d; weak secrets only warn", e.code)
	}
}

func TestCheck_secrets_that_others_can_read_are_told(t *testing.T) {
	t.Parallel()
	dir, url := t.TempDir(), postgrestest.NewURL(t)
	write := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(healthyEnv["MAKOD"]), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask is
			t.Fatal(err)
		}
		return path
	}
	from := func(path string) string {
		return with(healthy(t), "makod_api_key", `makod_api_key = "file:`+path+`"`)
	}
	check(t, from(write("own", 0o600)), url).want(t, "ok", "secrets", "none of them", "")
	world := write("world", 0o604)
	check(t, from(world), url).want(t, "warn", "secrets", world+", which holds makod_api_key, can be read by everybody", "chmod 600 "+world)
	group := write("group", 0o640)
	check(t, from(group), url).want(t, "warn", "secrets", "can be read by its group", "chmod 600 "+group)

	plain := with(healthy(t), "makod_api_key", `makod_api_key = "`+healthyEnv["MAKOD"]+`"`)
	check(t, plain, url).want(t, "warn", "secrets", "makod_api_key stand in the configuration file", "env:NAME")
	config := filepath.Join(dir, "sperrd.toml")
	if err := os.WriteFile(config, []byte(plain), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(config, 0o644); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"DATABASE": url}
	for name, value := range healthyEnv {
		env[name] = value
	}
	if _, stdout, _ := commandIn(t, env, "check", "--config", config); !strings.Contains(stdout, "the configuration file "+config+", which holds secrets, can be read by everybody") {
		t.Errorf("no word of the open configuration file in:\n%s", stdout)
	}
}

func TestCheck_what_goes_out_in_clear_is_told(t *testing.T) {
	t.Parallel()
	toml := with(with(healthy(t), "makod_url", `makod_url = "http://makod.invalid"`), "erp_webhook_url", `erp_webhook_url = "http://192.0.2.1/?token=x"`)
	for url, want := range map[string]string{
		"postgres://u:p@db.invalid/d?connect_timeout=1":                     "db.invalid may be reached without TLS",
		"postgres://u:p@db.invalid/d?sslmode=disable&connect_timeout=1":     "db.invalid may be reached without TLS",
		"postgres://u:p@127.0.0.1:1,db.invalid:1/d?sslmode=allow":           "db.invalid may be reached without TLS",
		"postgres://u:p@db.invalid/d?sslmode=require&connect_timeout=1":     "need not prove",
		"postgres://u:p@db.invalid/d?sslmode=verify-full&connect_timeout=1": "",
		"postgres://u:p@localhost:1/d?sslmode=disable":                      "",
		"postgres://u:p@/d?host=/nonexistent&sslmode=disable":               "",
		"postgres://u:p@db.invalid/d?sslmode=verify-ca&connect_timeout=1":   "",
	} {
		p := &process{
			lookupEnv:  lookup(map[string]string{"DATABASE": url, "INBOUND": "i", "MAKOD": "m", "ERP": "e", "MCP": "k"}),
			configFlag: writeConfig(t, toml),
		}
		cfg, _, err := p.load()
		if err != nil {
			t.Fatal(err)
		}
		var f findings
		f.transport(cfg)
		var got []string
		for _, finding := range f.list {
			got = append(got, finding.Text)
		}
		if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "makod_url is not https") }) ||
			!slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "erp_webhook_url is not https") }) {
			t.Errorf("%s: %q", url, got)
		}
		if told := strings.Contains(strings.Join(got, " "), "the database at"); told != (want != "") || !strings.Contains(strings.Join(got, " "), want) {
			t.Errorf("%s: %q; want %q", url, got, want)
		}
	}
}

// Every value of a configuration that is wrong everywhere is marked, and none is printed.
func TestCheck_never_prints_a_secret(t *testing.T) {
	t.Parallel()
	role := "postgres://sperrd:Geheimnis-db@127.0.0.1:1/sperrd"
	bad := strings.NewReplacer(
		"env:MAKOD", "Geheimnis-makod", "env:INBOUND", "Geheimnis-in", "env:ERP", "Geheimnis-erp", "env:MCP", "Geheimnis-mcp", "env:DATABASE", role,
	).Replace(healthy(t))
	bad = with(bad, "erp_webhook_url", `erp_webhook_url = "http://127.0.0.1:1/?token=Geheimnis-token"`)
	lying := with(bad, "inbound_hmac_secret", `inbound_hmac_secret = "whsec_Geheimnis-%"`)
	for name, toml := range map[string]string{"usable": bad, "unusable": lying, "no TOML": bad + "\nx = Geheimnis-toml"} {
		for _, flag := range []string{"--json=false", "--json"} {
			code, stdout, stderr := command(t, toml, "check", flag)
			if code != exitFailure || strings.Contains(stdout+stderr, "Geheimnis") || !strings.Contains(stdout, "fail") {
				t.Errorf("%s %s: exit code %d\n%s%s", name, flag, code, stdout, stderr)
			}
		}
	}
}
