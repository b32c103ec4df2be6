package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Any of these as the HMAC key would let everybody sign.
func TestLoad_no_secret_stops_the_start(t *testing.T) {
	t.Parallel()
	set := env("EMPTY", "", "BLANK", " \n", "WHSEC", "whsec_", "NESTED", "env:SPERRD_INBOUND_HMAC_SECRET", "TO_FILE", "file:/run/secrets/hmac")
	for name, c := range map[string]struct{ content, want string }{
		"empty":           {with(`inbound_hmac_secret = ""`), "inbound_hmac_secret: is blank"},
		"blank":           {with(`inbound_hmac_secret = "   "`), "inbound_hmac_secret: is blank"},
		"unset_variable":  {with(`inbound_hmac_secret = "env:UNSET"`), "inbound_hmac_secret (environment variable UNSET): is not set"},
		"empty_variable":  {with(`inbound_hmac_secret = "env:EMPTY"`), "inbound_hmac_secret (environment variable EMPTY): is empty"},
		"blank_variable":  {with(`inbound_hmac_secret = "env:BLANK"`), "inbound_hmac_secret (environment variable BLANK): is blank"},
		"no_variable":     {with(`inbound_hmac_secret = "env:"`), "inbound_hmac_secret: must name a variable"},
		"whsec_alone":     {with(`inbound_hmac_secret = "whsec_"`), "inbound_hmac_secret: has nothing decodable after whsec_"},
		"whsec_blank":     {with(`inbound_hmac_secret = "whsec_  "`), "inbound_hmac_secret: has nothing decodable after whsec_"},
		"whsec_no_base64": {with(`inbound_hmac_secret = "whsec_%%"`), "inbound_hmac_secret: has nothing decodable after whsec_"},
		"whsec_variable":  {with(`inbound_hmac_secret = "env:WHSEC"`), "inbound_hmac_secret (environment variable WHSEC): has nothing decodable"},
		"whsec_in_list":   {with(`inbound_hmac_secret = ["good", "whsec_"]`), "inbound_hmac_secret[1]: has nothing decodable"},
		"nested":          {with(`inbound_hmac_secret = "env:NESTED"`), "inbound_hmac_secret (environment variable NESTED): is a reference"},
		"file_nested":     {with(`inbound_hmac_secret = "env:TO_FILE"`), "inbound_hmac_secret (environment variable TO_FILE): is a reference"},
		"leading_blank":   {with(`inbound_hmac_secret = " env:EMPTY"`), "inbound_hmac_secret: is a reference that is not followed"},
		"capitals":        {with(`inbound_hmac_secret = "ENV:EMPTY"`), "inbound_hmac_secret: is a reference that is not followed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := problems(t, c.content, set)
			if len(got) != 1 || !strings.Contains(got[0], c.want) {
				t.Errorf("problems = %q; want one with %q", got, c.want)
			}
		})
	}
}

func TestLoad_missing_secret_and_open_API_have_to_be_asked_for(t *testing.T) {
	t.Parallel()
	closed := strings.Replace(without("inbound_hmac_secret"), "no_auth = true", "no_auth = false", 1)
	got := problems(t, closed, env())
	if len(got) != 2 || !strings.Contains(got[0], "oidc: the section") || !strings.Contains(got[1], "inbound_hmac_secret: is required") {
		t.Errorf("problems = %q; want [oidc] and inbound_hmac_secret", got)
	}
	for _, problem := range got {
		if !strings.Contains(problem, "allow_insecure_no_auth = true") {
			t.Errorf("%q does not say how to be open on purpose", problem)
		}
	}
	got = problems(t, without("allow_insecure_no_auth"), env())
	if len(got) != 1 || !strings.Contains(got[0], "oidc: the section") {
		t.Errorf("problems = %q; want one that names [oidc]", got)
	}
	got = problems(t, strings.Replace(closed, "[database]", oidcSection+"[database]", 1), env())
	if len(got) != 1 || !strings.Contains(got[0], "inbound_hmac_secret: is required") {
		t.Errorf("problems = %q; want inbound_hmac_secret alone", got)
	}
	if c := mustLoad(t, without("inbound_hmac_secret"), env()); len(c.InboundHMACSecrets) != 0 {
		t.Errorf("a secret out of nowhere: %d", len(c.InboundHMACSecrets))
	}
}

func TestLoad_every_required_key_is_named_when_missing(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"tenant": "tenant: is required", "makod_url": "makod_url: is required",
		"makod_api_key": "makod_api_key: is required", "url": "database.url: is required",
	} {
		if diff := cmp.Diff([]string{want}, problems(t, without(key), env())); diff != "" {
			t.Errorf("problems (-want +got):\n%s", diff)
		}
	}
}

func TestLoad_any_string_may_be_a_variable(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, `
tenant = "env:TENANT"
makod_url = "env:URL"
makod_api_key = "env:KEY"
inbound_hmac_secret = ["env:NEW", "env:OLD"]
allow_insecure_no_auth = true
pruefschritt_check = "env:CHECK"
shutdown_grace = "env:GRACE"
database.url = "env:DB"
log.level = "env:LEVEL"
`, env("TENANT", "9900357000003", "URL", "http://makod", "KEY", "k", "NEW", "new", "OLD", "old\n",
		"CHECK", "warn", "GRACE", "5s", "DB", "postgres://db", "LEVEL", "error"))
	got := []string{
		c.Tenant, c.MakodURL, c.MakodAPIKey.Reveal(), c.InboundHMACSecrets[0].Reveal(), c.InboundHMACSecrets[1].Reveal(),
		string(c.PruefschrittCheck), c.ShutdownGrace.String(), c.Database.URL.Reveal(), c.Log.Level,
	}
	want := []string{"9900357000003", "http://makod", "k", "new", "old\n", "warn", "5s", "postgres://db", "error"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestLoad_any_string_may_be_a_file_with_one_trailing_newline_cut(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for content, want := range map[string]string{
		"secret": "secret", "secret\n": "secret", "secret\r\n": "secret", "secret\n\n": "secret\n", " secret ": " secret ", "a\nb\n": "a\nb",
	} {
		path := filepath.Join(folder, "secret")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		c := mustLoad(t, with(`inbound_hmac_secret = "file:`+path+`"`), env())
		if got := c.InboundHMACSecrets[0].Reveal(); got != want {
			t.Errorf("file %q gives %q; want %q", content, got, want)
		}
	}
}

func TestLoad_file_without_a_value_is_named(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	missing := filepath.Join(folder, "missing")
	blank := filepath.Join(folder, "blank")
	if err := os.WriteFile(blank, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for reference, want := range map[string]string{
		"file:" + missing: "makod_api_key (file " + missing + "): cannot be read: no such file or directory",
		"file:" + folder:  "makod_api_key (file " + folder + "): cannot be read: is a directory",
		"file:" + blank:   "makod_api_key (file " + blank + "): is blank",
		"file:":           "makod_api_key: must name a file, as in file:/path",
	} {
		got := problems(t, with(`makod_api_key = "`+reference+`"`), env())
		if diff := cmp.Diff([]string{"line 4: " + want}, got); diff != "" {
			t.Errorf("problems (-want +got):\n%s", diff)
		}
	}
}

// An error ends in a log. None of these values may be in one, whatever is
// wrong with it or with a line beside it.
func TestLoad_no_error_holds_a_value(t *testing.T) {
	t.Parallel()
	set := env("LEAK", "hunter2\n", "URL", "http://user:hunter2@[makod")
	for _, content := range []string{
		with(`makod_api_key = hunter2`),
		with(`makod_api_key = "hunter2`),
		with(`makod_api_key = 1.7hunter2`),
		with(`makod_api_key = 1e99999`),
		with(`makod_api_key = "env:LEAK"`),
		with(`makod_api_key = "hunter2"` + "\nmakod_api_key = \"hunter2\""),
		with(`makod_api_key = "hunter2"` + "\n= 5"),
		with(`makod_api_key = ["hunter2"]`),
		with(`makod_url = "http://user:hunter2@makod:8080"`),
		with(`makod_url = "env:URL"`),
		with(`inbound_hmac_secret = "whsec_hunter2!"`),
		with(`log.level = "env:LEAK"`),
		with(`shutdown_grace = "env:LEAK"`),
		with(`tenant = "env:LEAK"`),
	} {
		_, err := Load(write(t, content), set)
		if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "99999") {
			t.Errorf("%s\nerror = %v; want one without the value", content, err)
		}
	}
}
