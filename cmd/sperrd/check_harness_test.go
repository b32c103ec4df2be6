package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"sperrd/internal/authn/authntest"
)

// Secrets without a fault.
var healthyEnv = map[string]string{
	"INBOUND": "a6b1f0c2d97e483f5580e1c3b2a4d6f7a6b1f0c2d97e483f5580e1c3b2a4d6f7",
	"MAKOD":   "0f9d3c7a52be4168d04c9a77e3f1b260",
	"ERP":     "73c9e5a1f08b4d26917f3e5c0ab8d4627d1e90f3a58c6b24e70d91fa3c5b8e62",
	"MCP":     "5e8d02c7b91f4a63d70ce2f58a91b34c",
}

// healthy is a configuration in which nothing is to be warned of. The database is that of
// the environment.
func healthy(t *testing.T) string {
	t.Helper()
	m := newMarket(t)
	return fmt.Sprintf(`tenant = %q
makod_url = %q
makod_api_key = "env:MAKOD"
inbound_hmac_secret = "env:INBOUND"
erp_webhook_url = %q
erp_hmac_secret = "env:ERP"
[database]
url = "env:DATABASE"
[oidc]
issuer = %q
audience = %q
[mcp]
api_key = "env:MCP"
`, tenant, m.url, m.url, authntest.Start(t).URL(), authntest.Audience)
}

// examined is what a check of the real command found.
type examined struct {
	code   int
	stdout string
	verdict
}

// check runs sperrd check --json on a database, with the healthy environment.
func check(t *testing.T, toml, databaseURL string, args ...string) examined {
	t.Helper()
	env := maps.Clone(healthyEnv)
	env["DATABASE"] = databaseURL
	return checkIn(t, env, toml, args...)
}

// checkIn runs sperrd check --json in an environment.
func checkIn(t *testing.T, env map[string]string, toml string, args ...string) examined {
	t.Helper()
	args = append([]string{"check", "--json", "--config", writeConfig(t, toml)}, args...)
	code, stdout, stderr := commandIn(t, env, args...)
	e := examined{code: code, stdout: stdout}
	decoder := json.NewDecoder(strings.NewReader(stdout))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&e.verdict); err != nil || decoder.More() || stderr != "" {
		t.Fatalf("no single JSON document: %v, stderr %q\n%s", err, stderr, stdout)
	}
	for _, f := range e.Findings {
		if f.Level != levelOK && f.Todo == "" {
			t.Errorf("nothing says what to do about %+v", f)
		}
	}
	if e.OK != (code == exitOK) {
		t.Errorf("ok %t with the exit code %d", e.OK, code)
	}
	return e
}

// want checks that one of the findings of a thing has the level and says both texts.
func (e examined) want(t *testing.T, level, what, text, todo string) {
	t.Helper()
	for _, f := range e.Findings {
		if f.Level == level && f.What == what && strings.Contains(f.Text, text) && strings.Contains(f.Todo, todo) {
			return
		}
	}
	t.Errorf("no finding %s %s with %q and %q in:\n%s", level, what, text, todo, e.stdout)
}

// wantNone checks that a thing was not looked at.
func (e examined) wantNone(t *testing.T, what string) {
	t.Helper()
	for _, f := range e.Findings {
		if f.What == what {
			t.Errorf("there is %+v", f)
		}
	}
}

// do runs statements on a database.
func do(t *testing.T, databaseURL string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, sql := range statements {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}
