package api

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sperrd/internal/sperr"
	"sperrd/internal/telemetry"
	"sperrd/internal/transaction"
)

const metricsPath = "/metrics"

// handleMetrics writes the metrics in the text format, whatever else the caller would
// take: a person reads it too.
func (s *server) handleMetrics(w http.ResponseWriter, r *http.Request) error {
	if s.Metrics == nil {
		return errNoRoute
	}
	families, err := s.Metrics.Gatherer().Gather()
	if err != nil {
		return fmt.Errorf("gather the metrics: %w", err)
	}
	gathered := prometheus.GathererFunc(always(families))
	plain := r.Clone(r.Context())
	plain.Header.Del("Accept")
	promhttp.HandlerFor(gathered, promhttp.HandlerOpts{DisableCompression: true}).ServeHTTP(w, plain)
	return nil
}

func always[T any](v T) func() (T, error) { return func() (T, error) { return v, nil } }

// webhookResult is as what a delivery counts.
func webhookResult(receipt sperr.Receipt, err error) telemetry.WebhookResult {
	if err != nil {
		return telemetry.WebhookResult(problemOf(err).Code)
	}
	return telemetry.WebhookResult(receiptNames[receipt.Kind])
}

// replayResult is as what a replay counts. It counts once for each operation, and a call
// that was not taken for one does not count: the same may come many times.
func replayResult(result sperr.Result, err error) (_ telemetry.ReplayResult, counts bool) {
	if result.Answered != nil && result.Answered.Replayed {
		return "", false
	}
	if as[*transaction.ConflictError](err) || errors.Is(err, transaction.ErrInProgress) {
		return "", false
	}
	if err != nil {
		return telemetry.ReplayResult(problemOf(err).Code), true
	}
	return telemetry.ReplayResult(receiptNames[result.Receipt.Kind]), true
}
