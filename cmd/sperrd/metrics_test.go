package main

import (
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"sperrd/internal/makod/makodtest"
	"sperrd/internal/outbox/erptest"
	"sperrd/internal/postgres/postgrestest"
)

func TestServe_shows_its_metrics_and_what_the_market_sent(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	s := setup{port: freePort(t), database: postgrestest.NewURL(t), makod: m.url}
	i := start(t, s)
	i.awaitReady(t)
	m.order(t, i, maloID(1))
	if status, body := m.deliver(t, i, []byte("{"), hmacSecret); status != http.StatusBadRequest {
		t.Fatalf("no event: %d %s", status, body)
	}
	status, body, err := i.get(t, "/metrics")
	if err != nil || status != http.StatusOK {
		t.Fatalf("GET /metrics: %d %s, %v", status, body, err)
	}
	for _, line := range []string{
		`sperrd_build_info{go_version="` + runtime.Version() + `",version="` + versionText() + `"} 1`,
		`sperrd_webhook_events_total{result="queued"} 1`,
		`sperrd_webhook_events_total{result="invalid_json"} 1`,
		`sperrd_webhook_events_total{result="internal"} 0`,
		"sperrd_webhook_rejects_open 1",
		"sperrd_metrics_collect_errors_total 0",
	} {
		if !strings.Contains(body, "\n"+line+"\n") {
			t.Errorf("no %s in\n%s", line, body)
		}
	}
}

// samples are the samples of one scrape, by series as written.
func (i *instance) samples(t *testing.T) map[string]float64 {
	t.Helper()
	status, body, err := i.get(t, "/metrics")
	if err != nil || status != http.StatusOK {
		t.Fatalf("GET /metrics: %d, %v", status, err)
	}
	samples := map[string]float64{}
	for line := range strings.Lines(body) {
		cut := strings.LastIndexByte(line, ' ')
		if value, err := strconv.ParseFloat(strings.TrimSpace(line[cut+1:]), 64); err == nil && !strings.HasPrefix(line, "#") {
			samples[line[:cut]] = value
		}
	}
	return samples
}

// Numbers of the database are read every five seconds, so that the last look is made by a
// replica that starts after everything else.
func TestMetrics_tell_what_happened_to_orders_outcomes_and_events(t *testing.T) {
	t.Parallel()
	n := newNeighbourhood(t, "")
	i := n.replicas(t, 1)[0]
	executed, refused := n.order(t, i, maloID(1)), n.order(t, i, maloID(2))
	if err := n.erp.WaitEnded(patient(t), 2); err != nil {
		t.Fatal(err)
	}
	n.erp.FailNext(1, erptest.Answer(http.StatusUnprocessableEntity))
	n.order(t, i, maloID(3))
	if err := n.erp.WaitEnded(patient(t), 3); err != nil {
		t.Fatal(err)
	}
	if e := <-execute(t, i, []string{executed}); e.status != http.StatusNoContent {
		t.Fatalf("execute: %+v", e)
	}
	n.FailNext(1, makodtest.ProcessNotFound())
	if e := <-execute(t, i, []string{refused}); e.status != http.StatusAccepted {
		t.Fatalf("execute: %+v", e)
	}
	if err := n.erp.WaitEnded(patient(t), 5); err != nil {
		t.Fatal(err)
	}
	awaitLines(t, 1, "event is a dead letter", i)
	n.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 8, iftsta_faellig_am = '2020-01-01' WHERE id = $1`, refused)
	n.exec(t, `UPDATE sperr_orders SET ausfuehrung_faellig_am = '2020-01-02', fruehestens_am = '2020-01-01' WHERE status = 'pending'`)

	got := i.samples(t)
	for series, want := range map[string]float64{
		`sperrd_webhook_events_total{result="queued"}`:                                                       3,
		`sperrd_iftsta_attempts_total{result="dispatched"}`:                                                  1,
		`sperrd_iftsta_attempts_total{result="refused"}`:                                                     1,
		`sperrd_iftsta_attempt_duration_seconds_count{result="refused"}`:                                     1,
		`sperrd_outbox_deliveries_total{result="http_4xx"}`:                                                  1,
		`sperrd_outbox_dead_lettered_total`:                                                                  1,
		`sperrd_calls_total{method="PUT",result="without_ids",route="/api/v1/sperr-orders/{id}/execute"}`:    2,
		`sperrd_http_requests_total{method="PUT",route="/api/v1/sperr-orders/{id}/execute",status="204"}`:    1,
		`sperrd_http_request_duration_seconds_count{method="PUT",route="/api/v1/sperr-orders/{id}/execute"}`: 2,
		`sperrd_pool_connections_max`:                                                                        10,
	} {
		if got[series] != want {
			t.Errorf("%s: %v, want %v", series, got[series], want)
		}
	}
	for _, loop := range []string{"iftsta retry", "frist scanner", "outbox", "outbox pruning"} {
		if age := time.Since(time.UnixMilli(int64(got[`sperrd_loop_last_success_timestamp_seconds{loop="`+loop+`"}`] * 1000))); age < 0 || age > patience {
			t.Errorf("loop %q passed %v ago", loop, age)
		}
	}
	late := n.replicas(t, 1)[0].samples(t)
	for series, want := range map[string]float64{
		`sperrd_orders{order_type="sperrung",status="pending"}`:     1,
		`sperrd_orders{order_type="sperrung",status="executed"}`:    2,
		`sperrd_orders{order_type="entsperrung",status="executed"}`: 0,
		`sperrd_iftsta_outstanding`:                                 1,
		`sperrd_iftsta_ueberfaellig`:                                1,
		`sperrd_iftsta_stuck`:                                       1,
		`sperrd_overdue_pending`:                                    1,
		`sperrd_frist_ueberschritten`:                               1,
		`sperrd_fixtermin_verpasst`:                                 0,
		`sperrd_outbox_dead_letters`:                                1,
		`sperrd_webhook_rejects_open`:                               0,
	} {
		if late[series] != want {
			t.Errorf("%s: %v, want %v", series, late[series], want)
		}
	}
}
