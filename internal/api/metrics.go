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
	return receiptResults[receipt.Kind]
}

var receiptResults = map[sperr.ReceiptKind]telemetry.WebhookResult{
	sperr.ReceiptNotOurs: telemetry.WebhookNotOurs, sperr.ReceiptQueued: telemetry.WebhookQueued,
	sperr.ReceiptRedelivery: telemetry.WebhookRedelivery, sperr.ReceiptNoted: telemetry.WebhookNoted,
}
