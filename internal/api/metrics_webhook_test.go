package api_test

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/api"
)

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

func TestMetrics_count_a_delivery_that_could_not_be_kept_as_unavailable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.bySQL(t, `ALTER TABLE webhook_rejects RENAME TO away`)
	wantUnavailable(t, b.deliver(t, []byte("{")))
	if diff := cmp.Diff(map[string]float64{"unavailable": 1}, b.results(t)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
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
