package api

import (
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sperrd/internal/sperr"
	"sperrd/internal/telemetry"
)

const metricsPath = "/metrics"

// handleMetrics writes the metrics in the text format, whatever else the caller would
// take: a person reads it too.
func (s *server) handleMetrics(w http.ResponseWriter, r *http.Request) error {
	if s.Metrics == nil {
		return errNoRoute
	}
	gathered, err := s.Metrics.Gather()
	if err != nil {
		return fmt.Errorf("gather the metrics: %w", err)
	}
	plain := r.Clone(r.Context())
	plain.Header.Del("Accept")
	promhttp.HandlerFor(gathered, promhttp.HandlerOpts{DisableCompression: true}).ServeHTTP(w, plain)
	return nil
}

// webhookResult is as what a delivery counts.
func webhookResult(receipt sperr.Receipt, err error) telemetry.WebhookResult {
	if err != nil {
		return telemetry.WebhookResult(problemOf(err).Code)
	}
	return telemetry.WebhookResult(receiptNames[receipt.Kind])
}

// countReplay counts what became of a replay, once for each operation.
func (s *server) countReplay(result sperr.Result, err error) {
	if kept := result.Answered; kept != nil && kept.Replayed {
		return
	}
	if err != nil {
		s.Metrics.CountReplay(telemetry.ReplayResult(problemOf(err).Code))
		return
	}
	s.Metrics.CountReplay(telemetry.ReplayResult(receiptNames[result.Receipt.Kind]))
}
