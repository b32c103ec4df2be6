package api_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"sperrd/internal/api"
)

const (
	webhookEvents = "sperrd_webhook_events_total"
	rejectsOpen   = "sperrd_webhook_rejects_open"
)

// metrics are the samples of one scrape, by series as written.
func (b *bench) metrics(t *testing.T) map[string]float64 {
	t.Helper()
	a := b.get(t, "/metrics")
	wantStatus(t, a, http.StatusOK)
	samples := map[string]float64{}
	for line := range strings.Lines(string(a.body)) {
		if strings.HasPrefix(line, "# ") {
			continue
		}
		line = strings.TrimSuffix(line, "\n")
		cut := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[cut+1:], 64)
		if err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		if _, twice := samples[line[:cut]]; twice {
			t.Errorf("%s is there twice", line[:cut])
		}
		samples[line[:cut]] = value
	}
	return samples
}

// results are the results of the webhook that have counted something.
func (b *bench) results(t *testing.T) map[string]float64 {
	t.Helper()
	return b.resultsOf(t, webhookEvents)
}

func (b *bench) resultsOf(t *testing.T, counter string) map[string]float64 {
	t.Helper()
	counted := map[string]float64{}
	for series, n := range b.metrics(t) {
		if result, ok := strings.CutPrefix(series, counter+`{result="`); ok && n != 0 {
			counted[strings.TrimSuffix(result, `"}`)] = n
		}
	}
	return counted
}

func TestMetrics_are_text_whatever_else_the_caller_would_take(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, accept := range []string{
		"", "*/*", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5",
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
	} {
		a := b.call(t, http.MethodGet, "/metrics", "", "Accept", accept, "Accept-Encoding", "gzip, zstd")
		wantStatus(t, a, http.StatusOK)
		if got := a.header.Get("Content-Type"); !strings.HasPrefix(got, "text/plain; version=0.0.4") || a.header.Get("Content-Encoding") != "" {
			t.Errorf("Accept %q: headers %v", accept, a.header)
		}
		for _, line := range []string{"\nsperrd_webhook_rejects_open 0\n", `version="v-test"} 1` + "\n", "\ngo_goroutines "} {
			if !strings.Contains(string(a.body), line) {
				t.Errorf("Accept %q: no %q in\n%s", accept, line, a.body)
			}
		}
	}
	const want = "# HELP sperrd_webhook_rejects_open Refused webhook deliveries that nobody has settled, as the database has them.\n" +
		"# TYPE sperrd_webhook_rejects_open gauge\nsperrd_webhook_rejects_open 0\n"
	if err := testutil.ScrapeAndCompare(b.url+"/metrics", strings.NewReader(want), rejectsOpen); err != nil {
		t.Error(err)
	}
}

func TestScrape_that_finds_all_well_says_nothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.get(t, "/metrics")
	if line := b.log.requests(t)[0]; line["level"] != "DEBUG" || line["route"] != "/metrics" {
		t.Errorf("line %v", line)
	}
}

func TestMetrics_that_nobody_counts_have_no_route_and_hold_up_nothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *settings) {
		s.handler = func(o api.Options) http.Handler {
			o.Metrics = nil
			return api.NewHandler(o)
		}
	})
	wantProblem(t, b.get(t, "/metrics"), http.StatusNotFound, "not_found")
	wantStatus(t, b.deliver(t, sample(t, "17117.json")), http.StatusCreated)
}

func TestMetrics_count_each_result_of_the_webhook_once(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := sample(t, "17115-fixed-date.json")
	steps := []struct {
		result string
		answer func() answer
		status int
	}{
		{"queued", func() answer { return b.deliver(t, order) }, 201},
		{"redelivery", func() answer { return b.deliver(t, order) }, 204},
		{"noted", func() answer { return b.deliver(t, bytes.ReplaceAll(order, []byte("17115"), []byte("39000"))) }, 204},
		{"not_ours", func() answer { return b.deliver(t, sample(t, "17116.json")) }, 204},
		{"invalid_signature", func() answer { return b.deliver(t, order, "Webhook-Id", "forged") }, 401},
		{"invalid_json", func() answer { return b.deliver(t, []byte("{")) }, 400},
		{"invalid_body", func() answer { return b.deliver(t, []byte("[]")) }, 400},
		{"invalid_parameter", func() answer {
			header := signed(t, order)
			header.Set("Content-Type", "application/cloudevents+json")
			return b.send(t, http.MethodPost, "/webhook?x=1", bytes.NewReader(order), header)
		}, 400},
		{"unsupported_media_type", func() answer { return b.deliver(t, order, "Content-Type", "text/plain") }, 415},
		{"unusable_event", func() answer { return b.deliver(t, edited(t, "51238696012", "51238696782")) }, 422},
		{"process_conflict", func() answer { return b.deliver(t, edited(t, "Lindenallee 7", "Lindenallee 9")) }, 409},
		{"body_too_large", func() answer { return b.deliver(t, bytes.Repeat([]byte(" "), 1<<20+1)) }, 413},
		{"internal", func() answer {
			b.bySQL(t, `ALTER TABLE sperr_orders RENAME TO away`)
			return b.deliver(t, order)
		}, 500},
		{"unavailable", func() answer {
			b.pool.Close()
			return b.deliver(t, order)
		}, 503},
	}
	want := map[string]float64{}
	for _, step := range steps {
		wantStatus(t, step.answer(), step.status)
		want[step.result]++
		if diff := cmp.Diff(want, b.results(t)); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", step.result, diff)
		}
	}
	all := 0
	for series := range b.metrics(t) {
		if strings.HasPrefix(series, webhookEvents) {
			all++
		}
	}
	if all != len(steps) {
		t.Errorf("%d results are known, want the %d of this test", all, len(steps))
	}
}

// bySQL runs SQL beside the service.
func (b *bench) bySQL(t *testing.T, sql string) {
	t.Helper()
	if _, err := b.pool.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

func TestMetrics_count_a_delivery_that_could_not_be_kept_as_unavailable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.bySQL(t, `ALTER TABLE webhook_rejects RENAME TO away`)
	wantUnavailable(t, b.deliver(t, []byte("{")))
	if diff := cmp.Diff(map[string]float64{"unavailable": 1}, b.results(t)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

func TestMetrics_count_each_replay_once(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	replay := rejects + "/" + b.refused(t, sample(t, "17115-fixed-date.json")) + "/replay"
	for range 2 { // the second is the same call once more
		wantStatus(t, b.call(t, http.MethodPost, replay, "", "Idempotency-Key", "replay-1"), http.StatusCreated)
	}
	wantProblem(t, b.call(t, http.MethodPost, replay, ""), http.StatusConflict, "reject_settled")
	want := map[string]float64{"queued": 1, "reject_settled": 1}
	if diff := cmp.Diff(want, b.resultsOf(t, "sperrd_webhook_replays_total")); diff != "" {
		t.Errorf("replays (-want +got):\n%s", diff)
	}
}

func TestMetrics_count_a_handler_that_panics_as_internal(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *settings) {
		s.handler = func(o api.Options) http.Handler {
			o.Service = nil
			return api.NewHandler(o)
		}
	})
	wantProblem(t, b.deliver(t, sample(t, "17117.json")), http.StatusInternalServerError, "internal")
	if diff := cmp.Diff(map[string]float64{"internal": 1}, b.results(t)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

func TestMetrics_count_parallel_deliveries_and_nothing_that_is_none(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var deliveries sync.WaitGroup
	for range 20 {
		deliveries.Go(func() { b.deliver(t, sample(t, "17117.json")) })
		deliveries.Go(func() { b.get(t, "/metrics") })
	}
	deliveries.Wait()
	wantStatus(t, b.get(t, "/webhook"), http.StatusMethodNotAllowed)
	wantStatus(t, b.get(t, rejects), http.StatusOK)
	b.create(t, minimal("sperrung"))
	if diff := cmp.Diff(map[string]float64{"queued": 1, "redelivery": 19}, b.results(t)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

func TestMetrics_show_the_open_rejects_of_the_database(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 3 {
		wantStatus(t, b.deliver(t, fmt.Appendf(nil, "{%d", i)), http.StatusBadRequest)
	}
	b.bySQL(t, `UPDATE webhook_rejects SET settlement = 'dismissed', settled_at = now(), settled_by = 'x', settlement_reason = 'y'
		WHERE id = (SELECT id FROM webhook_rejects LIMIT 1)`)
	if open := b.metrics(t)[rejectsOpen]; open != 2 {
		t.Errorf("%v open, want 2", open)
	}
}

func TestMetrics_leave_out_what_the_database_does_not_say(t *testing.T) {
	t.Parallel()
	away := newBench(t)
	away.pool.Close()
	locked := newBench(t)
	lock, err := locked.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Rollback(t.Context()) }()
	if _, err := lock.Exec(t.Context(), `LOCK TABLE webhook_rejects IN ACCESS EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*bench{"away": away, "locked": locked} {
		samples := b.metrics(t)
		_, shown := samples[rejectsOpen]
		if failures := samples["sperrd_metrics_collect_errors_total"]; shown || failures != 1 {
			t.Errorf("%s: a number is shown: %t, %v failures; want none and 1", name, shown, failures)
		}
		if _, shown := samples[webhookEvents+`{result="queued"}`]; !shown {
			t.Errorf("%s: the counters are missing as well", name)
		}
	}
}

func TestMetrics_tell_of_nobody(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := uuid.NewString()
	wantStatus(t, b.deliverAs(t, id, sample(t, "17115-fixed-date.json")), http.StatusCreated)
	b.deliverAs(t, id, edited(t, "Lindenallee 7", "Lindenallee 9"))
	b.deliver(t, edited(t, malo, "51238696782"))
	series := regexp.MustCompile(`^sperrd_([a-z_]+|[a-z_]+\{result="[a-z_]+"\}|build_info\{go_version="go[^"]+",version="v-test"\})$`)
	for name := range maps.Keys(b.metrics(t)) {
		if strings.HasPrefix(name, "sperrd_") && !series.MatchString(name) {
			t.Errorf("series %s", name)
		}
	}
	text := string(b.get(t, "/metrics").body)
	for _, told := range []string{id, malo, lf, tenant, secret, "Lindenallee", "10115", "5f0c0f64", "0b7c1e2a"} {
		if strings.Contains(text, told) {
			t.Errorf("the metrics tell %q:\n%s", told, text)
		}
	}
}
