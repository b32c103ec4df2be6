package config

import (
	"strings"
	"testing"
)

func TestTracing_names_a_collector_and_a_part_of_the_traces(t *testing.T) {
	t.Parallel()
	if c := mustLoad(t, minimal, env()); c.Tracing != (Tracing{SampleRatio: 1}) {
		t.Errorf("without the section: %+v", c.Tracing)
	}
	c := mustLoad(t, minimal+"[tracing]\nendpoint = \"http://otel:4318/\"\nsample_ratio = 0.25\n", env())
	if want := (Tracing{Endpoint: "http://otel:4318", SampleRatio: 0.25}); c.Tracing != want {
		t.Errorf("got %+v, want %+v", c.Tracing, want)
	}
	for line, want := range map[string]string{
		`endpoint = "otel:4318"`:              "tracing.endpoint: must be a URL",
		`endpoint = "http://u:p@otel:4318"`:   "tracing.endpoint: must not hold a user",
		`endpoint = "http://otel:4318?k=abc"`: "tracing.endpoint: must not hold a query",
		`sample_ratio = 0`:                    "tracing.sample_ratio: must be a number above 0",
		`sample_ratio = 1.1`:                  "tracing.sample_ratio: must be a number above 0",
		`sample_ratio = nan`:                  "tracing.sample_ratio: must be a number above 0",
		`sample_ratio = "half"`:               "tracing.sample_ratio: must be a number above 0",
	} {
		got := problems(t, minimal+"[tracing]\n"+line+"\n", env())
		if len(got) != 1 || !strings.Contains(got[0], want) || strings.Contains(got[0], "abc") {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
