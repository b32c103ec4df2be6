package config

import (
	"strings"
	"testing"
)

func TestLoad_oidc_section_must_be_usable(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`issuer = "keycloak"`:                     "oidc.issuer: must be a URL",
		`issuer = "ftp://keycloak"`:               "oidc.issuer: must be a URL",
		`issuer = "https://u:p@keycloak"`:         "oidc.issuer: must not hold a user or a password",
		`issuer = "https://keycloak?realm=x"`:     "oidc.issuer: must not hold a query",
		`issuer = "https://keycloak/#x"`:          "oidc.issuer: must not hold a query or a fragment",
		`issuer = "https://keycloak:99999"`:       "oidc.issuer: must have a port from 1 to 65535",
		`issuer = "https://keycloak:0"`:           "oidc.issuer: must have a port from 1 to 65535",
		`issuer = "https://keycloak "`:            "oidc.issuer: must not begin or end with a blank",
		`audience = " sperrd"`:                    "oidc.audience: must not begin or end with a blank",
		`issuer = ""`:                             "oidc.issuer: is blank",
		`issuer = ["https://keycloak"]`:           "oidc.issuer: must be a string",
		`issuer = "env:NOWHERE"`:                  "oidc.issuer (environment variable NOWHERE): is not set",
		`audience = " "`:                          "oidc.audience: is blank",
		`audience = ["sperrd"]`:                   "oidc.audience: must be a string",
		"Audience = \"sperrd\"\naudience = \"s\"": "oidc.Audience: unknown key",
	} {
		key, _, _ := strings.Cut(line, " =")
		section := "[oidc]\n" + line + "\n"
		if key != "issuer" {
			section += "issuer = \"https://keycloak\"\n"
		} else {
			section += "audience = \"sperrd\"\n"
		}
		if got := problems(t, without("allow_insecure_no_auth")+section, env()); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s: problems %q, want one with %q", line, got, want)
		}
	}
}

func TestLoad_issuer_is_kept_as_it_is_spelled(t *testing.T) {
	t.Parallel()
	// It is compared with what the provider calls itself.
	for _, issuer := range []string{"https://keycloak/realms/mako", "http://localhost:19998/", "https://Keycloak//x"} {
		c := mustLoad(t, without("allow_insecure_no_auth")+"[oidc]\nissuer = \""+issuer+"\"\naudience = \"sperrd\"\n", env())
		if c.OIDC.Issuer != issuer || c.OIDC.Audience != "sperrd" || c.Open() {
			t.Errorf("%s: %+v, open: %v", issuer, c.OIDC, c.Open())
		}
	}
}

func TestLoad_mcp_key_must_fit_into_a_header(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`"a b"`: "must be ASCII without blanks", `"a\n"`: "must be ASCII without blanks", `"schlüssel"`: "must be ASCII without blanks",
		`"key-of-makod"`: "must be a key of its own", `"inbound-secret"`: "must be a key of its own",
		`""`: "is blank", `"env:NOWHERE"`: "is not set", `1`: "must be a string",
	} {
		if got := problems(t, minimal+"[mcp]\napi_key = "+value+"\n", env()); len(got) != 1 || !strings.Contains(got[0], "mcp.api_key") || !strings.Contains(got[0], want) {
			t.Errorf("%s: problems %q, want one with %q", value, got, want)
		}
	}
	c := mustLoad(t, minimal+"[mcp]\napi_key = \"env:KEY\"\n", env("KEY", "mcp-0001"))
	if c.MCP.APIKey.Reveal() != "mcp-0001" {
		t.Error("the key is not the one of the variable")
	}
	if c := mustLoad(t, minimal, env()); c.MCP.APIKey.Reveal() != "" || !c.Open() {
		t.Errorf("without sections: key %q, open %v", c.MCP.APIKey.Reveal(), c.Open())
	}
}
