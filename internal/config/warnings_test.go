package config

import (
	"strings"
	"testing"
)

const erpKeys = `erp_webhook_url = "https://erp.example/events"
erp_hmac_secret = "erp-secret"
`

func TestWarnings_open_service_is_warned_about(t *testing.T) {
	t.Parallel()
	wantWarnings := func(content string, want ...string) {
		t.Helper()
		got := mustLoad(t, erpKeys+content, env()).Warnings()
		if len(got) != len(want) {
			t.Fatalf("warnings = %q; want %q", got, want)
		}
		for i := range want {
			if !strings.Contains(got[i], want[i]) {
				t.Errorf("warning %q does not say %q", got[i], want[i])
			}
		}
	}
	const noTokens, noSecret = "INSECURE: allow_insecure_no_auth", "INSECURE: inbound_hmac_secret is missing"
	wantWarnings(minimal, noTokens)
	wantWarnings(without("inbound_hmac_secret"), noTokens, noSecret)
	wantWarnings(without("inbound_hmac_secret")+oidcSection, noSecret)
	wantWarnings(minimal+oidcSection, "allow_insecure_no_auth = true has nothing to allow")
	wantWarnings(without("allow_insecure_no_auth") + oidcSection)
}

func TestWarnings_a_short_key_of_MCP_is_warned_about(t *testing.T) {
	t.Parallel()
	for key, warned := range map[string]bool{strings.Repeat("k", 19): true, strings.Repeat("k", 20): false} {
		content := erpKeys + without("allow_insecure_no_auth") + oidcSection + "[mcp]\napi_key = \"" + key + "\"\n"
		got := mustLoad(t, content, env()).Warnings()
		if (len(got) == 1 && strings.Contains(got[0], "mcp.api_key has fewer than 20")) != warned || len(got) > 1 {
			t.Errorf("%d characters: warnings %q", len(key), got)
		}
		if strings.Contains(strings.Join(got, ""), key) {
			t.Error("the warning shows the key")
		}
	}
}

func TestWarnings_issuer_that_can_be_impersonated_is_warned_about(t *testing.T) {
	t.Parallel()
	for issuer, warned := range map[string]bool{
		"https://keycloak/realms/mako": false, "http://keycloak/realms/mako": true, "HTTP://keycloak": true,
		"http://localhost:8080": false, "http://127.0.0.1:8080": false, "http://[::1]:8080": false, "http://127.0.0.1.example": true,
	} {
		got := mustLoad(t, erpKeys+without("allow_insecure_no_auth")+strings.Replace(oidcSection, "https://keycloak:8080/realms/mako", issuer, 1), env()).Warnings()
		if (len(got) == 1 && strings.Contains(got[0], "oidc.issuer is not https")) != warned || len(got) > 1 {
			t.Errorf("%s: warnings %q", issuer, got)
		}
	}
}

func TestWarnings_events_without_an_ERP_are_warned_about(t *testing.T) {
	t.Parallel()
	got := mustLoad(t, without("allow_insecure_no_auth")+oidcSection, env()).Warnings()
	if len(got) != 1 || !strings.Contains(got[0], "erp_webhook_url") || !strings.Contains(got[0], "event_outbox, undelivered") {
		t.Errorf("warnings = %q; want one that the events pile up", got)
	}
}

func TestWarnings_a_grace_shorter_than_a_request_is_warned_about(t *testing.T) {
	t.Parallel()
	got := mustLoad(t, "shutdown_grace = \"9s\"\n"+erpKeys+minimal, env()).Warnings()
	if len(got) != 2 || !strings.Contains(got[1], "shutdown_grace") || !strings.Contains(got[1], "10s") {
		t.Errorf("warnings = %q; want a second one about shutdown_grace", got)
	}
}
