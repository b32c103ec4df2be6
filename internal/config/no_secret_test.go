package config

import (
	"slices"
	"strings"
	"testing"
)

// Each is a way to have no secret while the file seems to name one.
var noSecrets = map[string]struct{ line, variable string }{
	"empty":          {`inbound_hmac_secret = ""`, ""},
	"blank":          {`inbound_hmac_secret = "   "`, ""},
	"unset variable": {`inbound_hmac_secret = "env:SPERRD_UNSET"`, "SPERRD_UNSET"},
	"empty variable": {`inbound_hmac_secret = "env:SPERRD_EMPTY"`, "SPERRD_EMPTY"},
	"whsec_ alone":   {`inbound_hmac_secret = "whsec_"`, ""},
	"in a list":      {`inbound_hmac_secret = ["good", "env:SPERRD_EMPTY"]`, "SPERRD_EMPTY"},
}

// allow_insecure_no_auth excuses a key that is missing and never one that is blank:
// whoever wrote the key believes that it protects something.
func TestLoad_a_blank_secret_stops_the_start_also_where_none_is_needed(t *testing.T) {
	t.Parallel()
	for name, c := range noSecrets {
		for _, open := range []string{"true", "false"} {
			t.Run(name+" with allow_insecure_no_auth = "+open, func(t *testing.T) {
				t.Parallel()
				content := strings.Replace(with(c.line), "no_auth = true", "no_auth = "+open, 1)
				got := problems(t, content, env("SPERRD_EMPTY", ""))
				named := func(p string) bool {
					return strings.Contains(p, "inbound_hmac_secret") && strings.Contains(p, c.variable)
				}
				if !slices.ContainsFunc(got, named) {
					t.Errorf("problems = %q; want one that names inbound_hmac_secret and %q", got, c.variable)
				}
			})
		}
	}
}

func TestLoad_a_missing_secret_is_named_unless_it_is_asked_for(t *testing.T) {
	t.Parallel()
	closed := strings.Replace(without("inbound_hmac_secret"), "no_auth = true", "no_auth = false", 1)
	named := func(p string) bool { return strings.Contains(p, "inbound_hmac_secret") }
	if got := problems(t, closed, env()); !slices.ContainsFunc(got, named) {
		t.Errorf("problems = %q; want one that names inbound_hmac_secret", got)
	}
	c := mustLoad(t, without("inbound_hmac_secret"), env())
	loud := func(w string) bool { return strings.HasPrefix(w, "INSECURE: inbound_hmac_secret is missing") }
	if !slices.ContainsFunc(c.Warnings(), loud) {
		t.Errorf("warnings = %q; want a loud one about inbound_hmac_secret", c.Warnings())
	}
}

// The text of a reference stands in every copy of the file: as the key it would let
// everybody sign.
func TestLoad_the_text_of_a_reference_never_becomes_the_secret(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"env:SPERRD_UNSET", "env:", "ENV:SPERRD_SET", "Env:SPERRD_SET", " env:SPERRD_SET", "\\tenv:SPERRD_SET",
		"env: SPERRD_SET", "env:sperrd_set", "file:", "FILE:/run/secrets/x", "file:/nowhere/at/all", "env:SPERRD_NESTED",
	} {
		content := with(`inbound_hmac_secret = "` + text + `"`)
		set := env("SPERRD_SET", "the-secret", "SPERRD_NESTED", "env:SPERRD_SET")
		if got := problems(t, content, set); len(got) != 1 || !strings.Contains(got[0], "inbound_hmac_secret") {
			t.Errorf("%q: problems = %q; want one that names inbound_hmac_secret", text, got)
		}
	}
}
