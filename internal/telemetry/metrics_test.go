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
			samples[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + metric.GetHistogram().GetSampleSum() // one of them
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
	for _, name := range []string{"sperrd_iftsta_foreign_process_total", "sperrd_outbox_dead_lettered_total"} {
		samples[name] = 0
	}
	for _, result := range []string{"dispatched", "reconciled", "postponed", "refused", "unclear", "not_sent", "not_reportable"} {
		samples["sperrd_iftsta_attempts_total "+result], samples["sperrd_iftsta_attempt_duration_seconds "+result] = 0, 0
	}
	for _, result := range []string{
		"delivered", "http_3xx", "http_4xx", "http_5xx", "http_other", "timeout", "connection_failed", "not_sent",
	} {
		samples["sperrd_outbox_deliveries_total "+result], samples["sperrd_outbox_delivery_duration_seconds "+result] = 0, 0
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
	return startedWith(t, MetricsOptions{Version: "v1.2.3", Readings: open(read), Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
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
	for i, result := range iftstaResults() {
		m.CountIFTSTA(result, time.Duration(i)*time.Second)
		want["sperrd_iftsta_attempts_total "+string(result)], want["sperrd_iftsta_attempt_duration_seconds "+string(result)] = 1, float64(i)
	}
	for i, result := range deliveryResults() {
		m.CountDelivery(result, time.Duration(i)*time.Second)
		want["sperrd_outbox_deliveries_total "+string(result)], want["sperrd_outbox_delivery_duration_seconds "+string(result)] = 1, float64(i)
	}
	m.CountForeignProcess()
	m.CountDeadLetter()
	want["sperrd_iftsta_foreign_process_total"], want["sperrd_outbox_dead_lettered_total"] = 1, 1
	m.CountRequest("GET", "/x/{id}", 404, 2*time.Second)
	want["sperrd_http_requests_total GET /x/{id} 404"], want["sperrd_http_request_duration_seconds GET /x/{id}"] = 1, 2
	m.AnnounceCalls("PUT", "/x/{id}")
	for _, result := range callResults() {
		want["sperrd_calls_total PUT "+string(result)+" /x/{id}"] = 0
	}
	m.CountCall("PUT", "/x/{id}", CallReplayed)
	want["sperrd_calls_total PUT replayed /x/{id}"] = 1
	if diff := cmp.Diff(want, gather(t, m)); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

func TestLoop_shows_its_start_then_its_last_pass_without_a_failure(t *testing.T) {
	t.Parallel()
	c := &clock{time.Unix(1000, 0)}
	m := startedWith(t, MetricsOptions{Version: "v", Now: c.now, Logger: slog.New(slog.DiscardHandler)})
	wantLoop := func(at, failures float64) {
		t.Helper()
		got := gather(t, m)
		if got["sperrd_loop_last_success_timestamp_seconds outbox"] != at || got["sperrd_loop_failures_total outbox"] != failures {
			t.Errorf("passed at %v with %v failures, want %v with %v", got["sperrd_loop_last_success_timestamp_seconds outbox"], got["sperrd_loop_failures_total outbox"], at, failures)
		}
	}
	m.StartLoop("outbox")
	wantLoop(1000, 0)
	c.pass(10 * time.Second)
	m.CountPass("outbox", errors.New("no"))
	wantLoop(1000, 1)
	m.CountPass("outbox", nil)
	wantLoop(1010, 1)
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
	m.CountIFTSTA(IFTSTADispatched, time.Second)
	m.CountForeignProcess()
	m.CountDelivery(DeliveryDelivered, time.Second)
	m.CountDeadLetter()
	m.StartLoop("outbox")
	m.CountPass("outbox", nil)
	m.CountRequest("GET", "/", 200, time.Second)
	m.AnnounceCalls("PUT", "/")
	m.CountCall("PUT", "/", CallFirst)
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
	if err := sample(prometheus.NewInvalidDesc(errors.New("no name")), 1).Write(nil); err == nil || !strings.Contains(err.Error(), "no name") {
		t.Errorf("sample of an impossible number: %v", err)
	}
}
