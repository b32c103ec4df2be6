package main

import (
	"sperrd/internal/sperr"
	"sperrd/internal/telemetry"
)

// newMetrics returns the metrics of this process. They are given one read of the
// repository and nothing else.
func (s *service) newMetrics(repository *sperr.Repository) (*telemetry.Metrics, error) {
	return telemetry.NewMetrics(telemetry.MetricsOptions{
		Version: versionText(), OpenRejects: repository.OpenRejects, Now: s.now, Logger: s.logger,
	})
}
