package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// readEvery is how long a number that was read is shown, and how long nobody asks
	// again for one that could not be read: however many ask for the metrics, the
	// database is asked this often.
	readEvery = 5 * time.Second
	// readTimeout bounds the reading of all numbers. Prometheus waits for 10 s, and
	// would have none of the others either.
	readTimeout = 2 * time.Second
)

// group is a Reading and what its last read gave.
type group struct {
	Reading
	values []float64
	err    error
}

// readings are the numbers that are read when somebody asks for the metrics. One that
// cannot be read has no sample: an old number would look like a new one.
type readings struct {
	mu     sync.Mutex // held while reading: who comes meanwhile waits for the same numbers
	at     time.Time
	all    []group
	failed prometheus.Counter
	now    func() time.Time
	logger *slog.Logger
}

func newReadings(o MetricsOptions) *readings {
	r := &readings{now: o.Now, logger: o.Logger, failed: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "sperrd_metrics_collect_errors_total",
		Help: "Groups of numbers that could not be read for a scrape and have no sample in it.",
	})}
	for _, reading := range o.Readings {
		r.all = append(r.all, group{Reading: reading})
	}
	return r
}

// Describe implements prometheus.Collector.
func (r *readings) Describe(descs chan<- *prometheus.Desc) {
	for _, g := range r.all {
		for _, desc := range g.descs {
			descs <- desc
		}
	}
	r.failed.Describe(descs)
}

// Collect implements prometheus.Collector. The failures leave with the numbers, so that
// the scrape that misses one says so.
func (r *readings) Collect(metrics chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() || r.now().Sub(r.at) >= readEvery {
		r.read()
	}
	for _, g := range r.all {
		for i, value := range g.values {
			metrics <- sample(g.descs[i], value)
		}
	}
	r.failed.Collect(metrics)
}

// sample is a number as it was read. Where it is none, whoever gathers gets the error.
func sample(desc *prometheus.Desc, value float64) prometheus.Metric {
	metric, err := prometheus.NewConstMetric(desc, prometheus.GaugeValue, value)
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return metric
}

// read asks for all groups at once, so that one that takes the whole time leaves the
// others theirs, and tells why one is missing when it goes missing. A scraper that goes
// away ends nothing here: others wait for the same numbers.
func (r *readings) read() {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	var reading sync.WaitGroup
	for i := range r.all {
		reading.Go(func() { r.readGroup(ctx, &r.all[i]) })
	}
	reading.Wait()
	r.at = r.now()
}

func (r *readings) readGroup(ctx context.Context, g *group) {
	was := g.err
	if g.values, g.err = g.read(ctx); g.err == nil {
		return
	}
	r.failed.Inc()
	if was == nil {
		r.logger.Warn("numbers for the metrics could not be read: they have no sample until they can", "metric", g.names[0], "numbers", len(g.names), "error", g.err)
	}
}
