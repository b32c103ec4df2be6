package config

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shown matches a key or a section in comments, as opposed to prose.
var shown = regexp.MustCompile(`(?m)^#([a-z_]+ = |\[[a-z]+\]$)`)

func exampleFile(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("../../sperrd.toml.example")
	if err != nil {
		t.Fatal(err)
	}

	return string(content)
}

func TestExample_loads_and_shows_the_true_defaults(t *testing.T) {
	t.Parallel()
	set := env("SPERRD_MAKOD_API_KEY", "k", "SPERRD_INBOUND_HMAC_SECRET", "s", "SPERRD_DATABASE_URL", "postgres://db",
		"SPERRD_ERP_HMAC_SECRET", "e", "SPERRD_MCP_API_KEY", "m")
	asShipped := mustLoad(t, exampleFile(t), set)
	uncommented := mustLoad(t, shown.ReplaceAllString(exampleFile(t), "$1"), set)
	if uncommented.ERPWebhookURL.Reveal() == "" || uncommented.ERPHMACSecret.Reveal() == "" {
		t.Error("no example of erp_webhook_url and erp_hmac_secret")
	}
	if uncommented.MCP.APIKey.Reveal() == "" || asShipped.Open() {
		t.Error("no example of [mcp], or one without [oidc]")
	}
	uncommented.ERPWebhookURL, uncommented.ERPHMACSecret = Secret{}, Secret{} // these have no default
	uncommented.MCP = MCP{}
	if uncommented.Tracing.Endpoint == "" {
		t.Error("no example of tracing.endpoint")
	}
	if uncommented.Retention.RedactAfter == 0 {
		t.Error("no example of retention.redact_after")
	}
	uncommented.Tracing.Endpoint, uncommented.Retention.RedactAfter = "", 0
	if diff := cmp.Diff(asShipped, uncommented, sameSecret); diff != "" {
		t.Errorf("a default in comments is not the default (-default +shown):\n%s", diff)
	}
}

func TestExample_shows_every_key(t *testing.T) {
	t.Parallel()
	d, problem := parse([]byte(shown.ReplaceAllString(exampleFile(t), "$1")), env())
	if problem != nil {
		t.Fatal(problem)
	}
	d.config()
	for _, key := range slices.Sorted(maps.Keys(d.asked)) {
		if _, there := d.lookup(key); !there {
			t.Errorf("sperrd.toml.example does not show %s", key)
		}
	}
	if len(d.asked) < 34 || !strings.Contains(exampleFile(t), "env:") {
		t.Errorf("only %d keys are read", len(d.asked))
	}
}
