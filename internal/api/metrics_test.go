package api_test

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

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
	const want = "# HELP sperrd_webhook_rejects_open Open.\n" +
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

// bySQL runs SQL beside the service.
func (b *bench) bySQL(t *testing.T, sql string) {
	t.Helper()
	if _, err := b.pool.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
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
	label := `(result="[a-z0-9_]+"|method="[A-Z]+"|route="(none|/[a-z0-9/{}-]*)"|status="[0-9]{3}"|le="[0-9.e+Inf-]+")`
	series := regexp.MustCompile(`^sperrd_([a-z_]+|[a-z_]+\{` + label + `(,` + label + `)*\}|build_info\{go_version="go[^"]+",version="v-test"\})$`)
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

func TestMetrics_count_requests_by_route_and_take_no_name_from_a_caller(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	wantStatus(t, b.deliver(t, sample(t, "17115-fixed-date.json")), http.StatusCreated)
	for _, call := range [][2]string{
		{"GET", orders},
		{"GET", orders},
		{"HEAD", orders},
		{"GET", orders + "/" + uuid.NewString()},
		{"GET", orders + "/x"},
		{"PATCH", orders},
		{"GET", "/no/such"},
		{"GET", "/neither"},
		{"BREW", "/coffee"},
		{"FOO", orders},
	} {
		b.call(t, call[0], call[1], "")
	}
	got := b.metrics(t)
	for series, want := range map[string]float64{
		`{method="GET",route="/api/v1/sperr-orders",status="200"}`:      2,
		`{method="HEAD",route="/api/v1/sperr-orders",status="200"}`:     1,
		`{method="GET",route="/api/v1/sperr-orders/{id}",status="404"}`: 2,
		`{method="POST",route="/webhook",status="201"}`:                 1,
		`{method="GET",route="none",status="404"}`:                      2,
	} {
		if n := got["sperrd_http_requests_total"+series]; n != want {
			t.Errorf("%s: %v, want %v", series, n, want)
		}
	}
	total := 0.0
	for series, n := range got {
		if strings.HasPrefix(series, "sperrd_http_requests_total{") {
			total += n
			if strings.Contains(series, "BREW") || strings.Contains(series, "coffee") || strings.Contains(series, "FOO") {
				t.Errorf("series %s", series)
			}
		}
	}
	if total != 11 {
		t.Errorf("%v requests, want 11", total)
	}
}

func TestMetrics_count_whether_a_changing_call_was_known(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.market(t, 17115, malo).ID
	ids := []string{"transactionId", uuid.NewString(), "creationDateTime", now.Format("2006-01-02T15:04:05Z")}
	body := `{"reason":"niemand angetroffen","pruefschritt_code":"A08"}`
	fail := func(body string, headers ...string) answer {
		return b.call(t, http.MethodPut, orders+"/"+id+"/fail", body, append([]string{"Content-Type", "application/json"}, headers...)...)
	}
	wantStatus(t, fail(body, ids...), http.StatusAccepted)
	wantStatus(t, fail(body, ids...), http.StatusAccepted)
	wantStatus(t, fail(`{"reason":"anders","pruefschritt_code":"A08"}`, ids...), http.StatusConflict)
	wantStatus(t, fail(`{"reason":"","pruefschritt_code":"A08"}`), http.StatusUnprocessableEntity)
	got := b.metrics(t)
	for result, want := range map[string]float64{"first": 1, "replayed": 1, "conflict": 1, "in_progress": 0, "without_ids": 1} {
		series := `sperrd_calls_total{method="PUT",result="` + result + `",route="/api/v1/sperr-orders/{id}/fail"}`
		if n, shown := got[series]; n != want || !shown {
			t.Errorf("%s: %v, want %v", result, n, want)
		}
	}
	if n := got[`sperrd_calls_total{method="POST",result="first",route="/api/v1/sperr-orders"}`]; n != 0 {
		t.Errorf("another route: %v", n)
	}
}
