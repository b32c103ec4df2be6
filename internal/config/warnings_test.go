package config

import (
	"strings"
	"testing"
)

func TestWarnings_open_service_is_warned_about(t *testing.T) {
	t.Parallel()
	got := mustLoad(t, minimal, env()).Warnings()
	if len(got) != 1 || !strings.Contains(got[0], "INSECURE: allow_insecure_no_auth") {
		t.Errorf("warnings = %q; want one about allow_insecure_no_auth", got)
	}
	got = mustLoad(t, without("inbound_hmac_secret"), env()).Warnings()
	if len(got) != 2 || !strings.Contains(got[1], "INSECURE: inbound_hmac_secret is missing") {
		t.Errorf("warnings = %q; want a second one about inbound_hmac_secret", got)
	}
	if got := (&Config{Tenant: "9900357000003"}).Warnings(); len(got) != 0 {
		t.Errorf("warnings = %q; want none", got)
	}
}
