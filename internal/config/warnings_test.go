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

func TestWarnings_check_digit_of_the_tenant(t *testing.T) {
	t.Parallel()
	for tenant, want := range map[string]string{
		"":              "",                                           // a Config that did not come from Load
		"9900357000003": "", "9904629000006": "", "9979015000001": "", // BDEW
		"9800227200008": "", "9870091900001": "", // DVGW
		"4012345000023": "", "4033872000058": "", "4728038528087": "", // GLN
		"9900357000004": "would be 3", "9900012345678": "would be 9", "9900269000002": "would be 0",
		"4012345000024": "would be 3", "4033872000059": "would be 8",
	} {
		got := strings.Join((&Config{Tenant: tenant}).Warnings(), "\n")
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("tenant %s: warnings %q; want %q", tenant, got, want)
		}
	}
}
