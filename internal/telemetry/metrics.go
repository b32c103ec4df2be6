package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics are the numbers of one process, in a registry of their own. A label has few
// values, all of them constants of this package or codes of the API: never an id, an
// address, a name or a text of a caller. A nil *Metrics counts nothing, so that who
// counts need not ask whether somebody reads. It is safe for concurrent use.
type Metrics struct {
	registry       *prometheus.Registry
	webhookEvents  counter[WebhookResult]
	webhookReplays counter[ReplayResult]
}

// MetricsOptions say what the process is, and how to read what it does not count itself.
type MetricsOptions struct {
	Version string
	// OpenRejects counts the refused deliveries that nobody has settled. Nil: there is
	// no such number.
	OpenRejects func(context.Context) (int64, error)
	Now         func() time.Time // how old a number is that was read
	Logger      *slog.Logger
}

// NewMetrics returns metrics of which every count stands at 0: a series that begins
// with its first event hides that event from a rate. It fails where a text of o can stand
// in no label.
func NewMetrics(o MetricsOptions) (*Metrics, error) {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		webhookEvents: newCounter("sperrd_webhook_events_total",
			"Deliveries to POST /webhook by what became of them.", webhookResults()),
		webhookReplays: newCounter("sperrd_webhook_replays_total",
			"Replays of refused deliveries by what became of them.", replayResults()),
	}
	for _, collector := range []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		newBuildInfo(o.Version), m.webhookEvents.series, m.webhookReplays.series, newReadings(readingsOf(o), o),
	} {
		if err := m.registry.Register(collector); err != nil {
			return nil, fmt.Errorf("metrics: %w", err)
		}
	}
	return m, nil
}

// Gatherer gathers everything as it stands at that moment. What has to be read first may
// take readTimeout.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

func newBuildInfo(version string) prometheus.Collector {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "sperrd_build_info", Help: "The version of this process; the value is always 1.",
		ConstLabels: prometheus.Labels{"version": version, "go_version": runtime.Version()},
	})
	info.Set(1)
	return info
}

// counter counts events by their result R.
type counter[R ~string] struct{ series *prometheus.CounterVec }

func newCounter[R ~string](name, help string, results []R) counter[R] {
	c := counter[R]{prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"result"})}
	for _, result := range results {
		c.series.WithLabelValues(string(result))
	}
	return c
}

func (c counter[R]) count(result R) { c.series.WithLabelValues(string(result)).Inc() }
