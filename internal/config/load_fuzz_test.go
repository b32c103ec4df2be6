package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzLoad: a file is a configuration or refused, and what is refused shows no value.
func FuzzLoad(f *testing.F) {
	// Longer than what a mutation puts together by chance.
	const inFile, inVariable = "Geheimnis-aus-der-Datei", "Geheimnis-aus-der-Umgebung"
	for _, content := range []string{
		minimal, minimal + oidcSection, strings.ReplaceAll(minimal, "inbound-secret", inFile), with(`inbound_hmac_secret = ["` + inFile + `", "env:SECRET"]`),
		with(`makod_api_key = "env:SECRET"`), with(`makod_api_key = ` + inFile), with(`makod_url = "http://user:` + inFile + `@makod"`), with(`makod_url = "env:SECRET"`),
		with(`tenant = "env:SECRET"`), with(`port = "` + inFile + `"`), with(`pruefschritt_check = "env:SECRET"`), with(`shutdown_grace = "env:SECRET"`),
		strings.ReplaceAll(minimal, "db-password", inFile), strings.Replace(minimal, `url = "postgres`, `url = "env:SECRET" #`, 1),
		with(`erp_webhook_url = "https://erp/?token=` + inFile + `"`), with(`erp_hmac_secret = "` + inFile + `"`), with(`erp_webhook_url = "env:SECRET"`),
		minimal + "[mcp]\napi_key = \"" + inFile + "\"\n", minimal + "[iftsta]\nlease = \"env:SECRET\"\nmax_attempts = 1e3\n", minimal + "[log]\nlevel = \"" + inFile + "\"\n",
		"a = 1\na = 2", "[database]\n[database]", "database = 1", "database.url.x = 1", "[[database]]", "\"log.level\" = 1", "x = '''" + inFile, "x = 9999999999999999999999", "\xff\x00", "",
	} {
		f.Add([]byte(content))
	}
	path := filepath.Join(f.TempDir(), "sperrd.toml")
	f.Fuzz(func(t *testing.T, content []byte) {
		if bytes.Contains(content, []byte("file:/")) {
			return // a mutation reads no device
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(path, env("SECRET", inVariable))
		if err == nil {
			wantComplete(t, c)
			return
		}
		var all *Error
		if !errors.As(err, &all) || len(all.Problems) == 0 || c != nil {
			t.Fatalf("Load = %v, %v; want an *Error alone", c, err)
		}
		if strings.Contains(err.Error(), inVariable) {
			t.Errorf("the error shows a variable: %v", err)
		}
		for _, p := range all.Problems {
			if strings.Contains(p.Text, inFile) { // as a key it may be named
				t.Errorf("the error shows a value: %v", err)
			}
		}
	})
}

// wantComplete checks what every caller relies on.
func wantComplete(t *testing.T, c *Config) {
	t.Helper()
	if !isMPID(c.Tenant) || c.MakodURL == "" || c.MakodAPIKey.Reveal() == "" || c.Database.URL.Reveal() == "" || c.Port < 1 || c.Port > 65535 ||
		c.Database.PoolSize < 1 || c.ShutdownGrace <= 0 || c.IFTSTA.MaxAttempts < 1 || c.IFTSTA.Lease <= c.IFTSTA.RequestTimeout ||
		c.Outbox.Lease <= c.Outbox.RequestTimeout || c.Idempotency.Retention <= 0 || c.Frist.ScanInterval <= 0 {
		t.Errorf("configuration %+v", c)
	}
	if !c.AllowInsecureNoAuth && (len(c.InboundHMACSecrets) == 0 || c.OIDC.Issuer == "" || c.OIDC.Audience == "") {
		t.Errorf("anybody may call: %+v", c)
	}
	for _, s := range c.InboundHMACSecrets {
		if strings.TrimSpace(s.Reveal()) == "" {
			t.Error("a blank secret verifies")
		}
	}
}
