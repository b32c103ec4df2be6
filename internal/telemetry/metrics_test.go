package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// gather returns the samples of the service itself by name and label values.
func gather(t *testing.T, m *Metrics) map[string]float64 {
	t.Helper()
	families, err := m.Gatherer().Gather()
	if err != nil {
		t.Error(err)
		return nil
	}
	samples := map[string]float64{}
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "sperrd_") {
			continue
		}
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			samples[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() // one of the two
		}
	}
	return samples
}

func ten(context.Context) (int64, error) { return 10, nil }

// atStart is what the metrics of a process show that has done nothing yet.
func atStart() map[string]float64 {
	samples := map[string]float64{
		"sperrd_build_info " + runtime.Version() + " v1.2.3": 1,
		"sperrd_webhook_rejects_open":                        10,
		"sperrd_metrics_collect_errors_total":                0,
	}
	for _, result := range []string{
		"queued", "redelivery", "noted", "not_ours", "invalid_signature", "invalid_json", "invalid_body", "invalid_parameter",
		"unsupported_media_type", "unusable_event", "process_conflict", "body_too_large", "unavailable", "internal",
	} {
		samples["sperrd_webhook_events_total "+result] = 0
	}
	for _, result := range []string{
		"queued", "redelivery", "noted", "not_ours", "unusable_event", "process_conflict", "reject_settled",
		"not_found", "invalid_report", "unavailable", "internal",
	} {
		samples["sperrd_webhook_replays_total "+result] = 0
	}
	return samples
}

func started(t *testing.T, read func(context.Context) (int64, error)) *Metrics {
	t.Helper()
	return startedWith(t, MetricsOptions{Version: "v1.2.3", OpenRejects: read, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
}

func startedWith(t *testing.T, o MetricsOptions) *Metrics {
	t.Helper()
	m, err := NewMetrics(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMetrics_show_every_result_from_the_start(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(atStart(), gather(t, started(t, ten))); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

func TestMetrics_count_a_result_and_no_other(t *testing.T) {
	t.Parallel()
	m, want := started(t, ten), atStart()
	for i, result := range webhookResults() {
		for range i + 1 {
			m.CountWebhook(result)
		}
		want["sperrd_webhook_events_total "+string(result)] = float64(i + 1)
	}
	for i, result := range replayResults() {
		for range i + 1 {
			m.CountReplay(result)
		}
		want["sperrd_webhook_replays_total "+string(result)] = float64(i + 1)
	}
	if diff := cmp.Diff(want, gather(t, m)); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

func TestMetrics_of_two_services_in_one_process_are_apart(t *testing.T) {
	t.Parallel()
	one, other := started(t, ten), started(t, ten)
	one.CountWebhook(WebhookQueued)
	if diff := cmp.Diff(atStart(), gather(t, other)); diff != "" {
		t.Errorf("samples of the other (-want +got):\n%s", diff)
	}
}

func TestMetrics_that_are_nil_count_nothing(t *testing.T) {
	t.Parallel()
	var m *Metrics
	m.CountWebhook(WebhookQueued)
	m.CountReplay(ReplayQueued)
}

func TestMetrics_follow_the_rules_of_Prometheus(t *testing.T) {
	t.Parallel()
	m := started(t, ten)
	problems, err := testutil.GatherAndLint(m.Gatherer())
	if err != nil || len(problems) != 0 {
		t.Errorf("problems %v, %v", problems, err)
	}
	for _, name := range []string{"go_goroutines", "process_start_time_seconds"} {
		if n, err := testutil.GatherAndCount(m.Gatherer(), name); err != nil || (n != 1 && runtime.GOOS == "linux") {
			t.Errorf("%d samples of %s, %v", n, name, err)
		}
	}
}

// A wrong number must be told by an error, and not end the process.
func TestMetrics_that_cannot_be_are_an_error(t *testing.T) {
	t.Parallel()
	if m, err := NewMetrics(MetricsOptions{Version: "v\xff"}); m != nil || err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("metrics %v, %v; want an error that names the reason", m, err)
	}
	impossible := reading{desc: prometheus.NewInvalidDesc(errors.New("no name"))}
	if err := impossible.sample().Write(nil); err == nil || !strings.Contains(err.Error(), "no name") {
		t.Errorf("sample of an impossible number: %v", err)
	}
}
