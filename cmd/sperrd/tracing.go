package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"sperrd/internal/config"
	"sperrd/internal/telemetry"
)

// newTracing returns what sends spans to the collector that the configuration or the
// environment names, or nil.
func newTracing(ctx context.Context, c *config.Config, lookupEnv func(string) (string, bool), logger *slog.Logger) (*telemetry.Tracing, error) {
	tracing, err := telemetry.NewTracing(ctx, telemetry.TracingOptions{
		Endpoint: c.Tracing.Endpoint, SampleRatio: c.Tracing.SampleRatio, Version: versionText(), LookupEnv: lookupEnv, Logger: logger,
	})
	if err != nil {
		return nil, usageError{fmt.Errorf("tracing.endpoint: %w", err)}
	}
	return tracing, nil
}

// lastSpans bounds how long an end waits for the collector.
const lastSpans = 3 * time.Second

// endTracing sends the spans that are left.
func (s *service) endTracing() {
	ctx, cancel := context.WithTimeout(context.Background(), lastSpans)
	defer cancel()
	if err := s.tracing.Shutdown(ctx); err != nil {
		s.logger.Warn("the last spans are lost", "error", err)
	}
}
