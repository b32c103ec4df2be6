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
	got := mustLoad(t, erpKeys+minimal, env()).Warnings()
	if len(got) != 1 || !strings.Contains(got[0], "INSECURE: allow_insecure_no_auth") {
		t.Errorf("warnings = %q; want one about allow_insecure_no_auth", got)
	}
	got = mustLoad(t, erpKeys+without("inbound_hmac_secret"), env()).Warnings()
	if len(got) != 2 || !strings.Contains(got[1], "INSECURE: inbound_hmac_secret is missing") {
		t.Errorf("warnings = %q; want a second one about inbound_hmac_secret", got)
	}
	if got := (&Config{ERPWebhookURL: NewSecret("https://erp.example")}).Warnings(); len(got) != 0 {
		t.Errorf("warnings = %q; want none", got)
	}
}

func TestWarnings_events_without_an_ERP_are_warned_about(t *testing.T) {
	t.Parallel()
	got := new(Config).Warnings()
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
