package config

import (
	"strings"
	"testing"
	"time"
)

func TestRetention_is_off_unless_set_and_never_shorter_than_calls_are_remembered(t *testing.T) {
	t.Parallel()
	if c := mustLoad(t, minimal, env()); c.Retention.RedactAfter != 0 {
		t.Errorf("without the key: %v", c.Retention.RedactAfter)
	}
	if c := mustLoad(t, minimal+"[retention]\nredact_after = \"2160h\"\n", env()); c.Retention.RedactAfter != 2160*time.Hour {
		t.Errorf("got %v", c.Retention.RedactAfter)
	}
	for section, want := range map[string]string{
		"[retention]\nredact_after = \"719h\"\n[idempotency]\nretention = \"168h\"\n": "retention.redact_after: must be 720h0m0s at least",
		"[retention]\nredact_after = \"2159h\"\n":                                     "retention.redact_after: must not be shorter than idempotency.retention",
		"[retention]\nredact_after = \"87601h\"\n":                                    "retention.redact_after: must be 87600h0m0s at most",
		"[retention]\nredact_after = \"0s\"\n":                                        "retention.redact_after: must be longer than zero",
		"[retention]\nredact_after = true\n":                                          "retention.redact_after: must be a duration",
	} {
		if got := problems(t, minimal+section, env()); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s: %q, want %q", section, got, want)
		}
	}
}
