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

// reading is a number that somebody else keeps.
type reading struct {
	name  string
	desc  *prometheus.Desc
	read  func(context.Context) (int64, error)
	value int64
	err   error // of the last read
}

// readings are the numbers that are read when somebody asks for the metrics. One that
// cannot be read has no sample: an old number would look like a new one.
type readings struct {
	mu     sync.Mutex // held while reading: who comes meanwhile waits for the same numbers
	at     time.Time
	all    []reading
	failed prometheus.Counter
	now    func() time.Time
	logger *slog.Logger
}

func newReadings(all []reading, o MetricsOptions) *readings {
	return &readings{all: all, now: o.Now, logger: o.Logger, failed: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "sperrd_metrics_collect_errors_total",
		Help: "Numbers that could not be read for a scrape and have no sample in it.",
	})}
}

// readingsOf lists what is read, one number a line.
func readingsOf(o MetricsOptions) []reading {
	var all []reading
	add := func(name, help string, read func(context.Context) (int64, error)) {
		if read != nil {
			all = append(all, reading{name: name, desc: prometheus.NewDesc(name, help, nil, nil), read: read})
		}
	}
	add("sperrd_webhook_rejects_open", "Refused webhook deliveries that nobody has settled, as the database has them.", o.OpenRejects)
	return all
}

// Describe implements prometheus.Collector.
func (r *readings) Describe(descs chan<- *prometheus.Desc) {
	for _, number := range r.all {
		descs <- number.desc
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
	for _, number := range r.all {
		if number.err == nil {
			metrics <- number.sample()
		}
	}
	r.failed.Collect(metrics)
}

// sample is the number as it was read. Where it is none, whoever gathers gets the error.
func (r reading) sample() prometheus.Metric {
	metric, err := prometheus.NewConstMetric(r.desc, prometheus.GaugeValue, float64(r.value))
	if err != nil {
		return prometheus.NewInvalidMetric(r.desc, err)
	}
	return metric
}

// read asks for every number, and tells why one is missing when it goes missing. A
// scraper that goes away ends nothing here: others wait for the same numbers.
func (r *readings) read() {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	for i := range r.all {
		number := &r.all[i]
		was := number.err
		number.value, number.err = number.read(ctx)
		if number.err == nil {
			continue
		}
		r.failed.Inc()
		if was == nil {
			r.logger.Warn("number for the metrics could not be read: it has no sample until it can", "metric", number.name, "error", number.err)
		}
	}
	r.at = r.now()
}
