package main

import (
	"net/http"
	"runtime"
	"strings"
	"testing"

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
