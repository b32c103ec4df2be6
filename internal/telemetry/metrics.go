package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics are the numbers of one process, in a registry of their own. A label has few
// values, all of them constants of this package, routes or codes of the API: never an id,
// an address, a name or a text of a caller. A nil *Metrics counts nothing, so that who
// counts need not ask whether somebody reads. It is safe for concurrent use.
type Metrics struct {
	registry       *prometheus.Registry
	webhookEvents  counter[WebhookResult]
	webhookReplays counter[ReplayResult]
	iftsta         attempts[IFTSTAResult]
	foreignProcess prometheus.Counter
	deliveries     attempts[DeliveryResult]
	deadLettered   prometheus.Counter
	loopPassed     *prometheus.GaugeVec
	loopFailures   *prometheus.CounterVec
	requests       *prometheus.CounterVec
	requestTime    *prometheus.HistogramVec
	calls          *prometheus.CounterVec
	now            func() time.Time
}

// MetricsOptions say what the process is, and how to read what it does not count itself.
type MetricsOptions struct {
	Version  string
	Readings []Reading
	Pool     func() *pgxpool.Stat // nil: there is none
	Now      func() time.Time     // how old a number is that was read
	Logger   *slog.Logger
}

// NewMetrics returns metrics of which every count stands at 0: a series that begins
// with its first event hides that event from a rate. It fails where a text of o can stand
// in no label.
func NewMetrics(o MetricsOptions) (*Metrics, error) {
	m := &Metrics{
		registry: prometheus.NewRegistry(), now: o.Now,
		webhookEvents: newCounter("sperrd_webhook_events_total",
			"Deliveries to POST /webhook by what became of them.", webhookResults()),
		webhookReplays: newCounter("sperrd_webhook_replays_total",
			"Replays of refused deliveries by what became of them.", replayResults()),
	}
	m.newQueueCounters()
	m.newHTTPCounters()
	all := []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		newBuildInfo(o.Version), m.webhookEvents.series, m.webhookReplays.series,
		m.iftsta.count, m.iftsta.duration, m.foreignProcess, m.deliveries.count, m.deliveries.duration, m.deadLettered,
		m.loopPassed, m.loopFailures, m.requests, m.requestTime, m.calls, newReadings(o),
	}
	if o.Pool != nil {
		all = append(all, poolNumbers{o.Pool})
	}
	for _, collector := range all {
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

// Number is one sample of a Reading.
type Number[T any] struct {
	Name, Help string
	Labels     prometheus.Labels // nil: none; Numbers of one name have the same ones
	Of         func(T) float64
}

// Reading is a group of numbers that somebody else keeps and that are read together.
type Reading struct {
	descs []*prometheus.Desc
	names []string
	read  func(context.Context) ([]float64, error)
}

// NewReading reads numbers with read, which ends when its context does.
func NewReading[T any](read func(context.Context) (T, error), numbers ...Number[T]) Reading {
	var r Reading
	for _, n := range numbers {
		r.descs = append(r.descs, prometheus.NewDesc(n.Name, n.Help, nil, n.Labels))
		r.names = append(r.names, n.Name)
	}
	r.read = func(ctx context.Context) ([]float64, error) {
		whole, err := read(ctx)
		if err != nil {
			return nil, err
		}
		values := make([]float64, len(numbers))
		for i, n := range numbers {
			values[i] = n.Of(whole)
		}
		return values, nil
	}
	return r
}
