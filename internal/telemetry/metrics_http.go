package telemetry

import (
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

// CallResult says whether a call that changes something was known.
type CallResult string

// What a call that changes something can be. Answers with another failure are no result.
const (
	CallFirst      CallResult = "first"       // carried out or refused, and remembered
	CallReplayed   CallResult = "replayed"    // got the answer of an earlier call
	CallConflict   CallResult = "conflict"    // its id belongs to another call
	CallInProgress CallResult = "in_progress" // another call of its transaction is under way
	CallWithoutIDs CallResult = "without_ids" // cannot be recognised when it comes again
)

func callResults() []CallResult {
	return []CallResult{CallFirst, CallReplayed, CallConflict, CallInProgress, CallWithoutIDs}
}

// AnnounceCalls shows the series of a route on which CountCall counts.
func (m *Metrics) AnnounceCalls(method, route string) {
	if m == nil {
		return
	}
	for _, result := range callResults() {
		m.calls.WithLabelValues(method, route, string(result))
	}
}

// CountCall counts one call that changes something. route is the template, never a path.
func (m *Metrics) CountCall(method, route string, result CallResult) {
	if m != nil {
		m.calls.WithLabelValues(method, route, string(result)).Inc()
	}
}

// CountRequest counts one request that is answered. method and route are those of the
// table of routes, never what a caller wrote.
func (m *Metrics) CountRequest(method, route string, status int, took time.Duration) {
	if m != nil {
		m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
		m.requestTime.WithLabelValues(method, route).Observe(took.Seconds())
	}
}

func (m *Metrics) newHTTPCounters() {
	m.requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sperrd_http_requests_total", Help: "Requests by method, template of the route and status; 0: cut before an answer.",
	}, []string{"method", "route", "status"})
	m.requestTime = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "sperrd_http_request_duration_seconds", Help: "How long requests took.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
	}, []string{"method", "route"})
	m.calls = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sperrd_calls_total", Help: "Calls that change something by whether they were known.",
	}, []string{"method", "route", "result"})
}

// poolNumbers are the numbers of a pool at the moment of the scrape.
type poolNumbers struct{ stat func() *pgxpool.Stat }

var (
	poolConnections = prometheus.NewDesc("sperrd_pool_connections", "Connections to the database by state.", []string{"state"}, nil)
	poolMax         = prometheus.NewDesc("sperrd_pool_connections_max", "The most connections to the database: database.pool_size.", nil, nil)
	poolAcquires    = prometheus.NewDesc("sperrd_pool_acquires_total", "Connections that were asked for and got.", nil, nil)
	poolWaits       = prometheus.NewDesc("sperrd_pool_waits_total", "Connections that were got after a wait, since none was free.", nil, nil)
	poolWaited      = prometheus.NewDesc("sperrd_pool_wait_seconds_total", "How long was waited for connections in all.", nil, nil)
	poolCancelled   = prometheus.NewDesc("sperrd_pool_cancelled_acquires_total", "Waits for a connection that ended without one.", nil, nil)
)

// Describe implements prometheus.Collector.
func (poolNumbers) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{poolConnections, poolMax, poolAcquires, poolWaits, poolWaited, poolCancelled} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector.
func (p poolNumbers) Collect(metrics chan<- prometheus.Metric) {
	s := p.stat()
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	for _, m := range []prometheus.Metric{
		prometheus.MustNewConstMetric(poolConnections, gauge, float64(s.AcquiredConns()), "acquired"),
		prometheus.MustNewConstMetric(poolConnections, gauge, float64(s.IdleConns()), "idle"),
		prometheus.MustNewConstMetric(poolConnections, gauge, float64(s.ConstructingConns()), "constructing"),
		prometheus.MustNewConstMetric(poolMax, gauge, float64(s.MaxConns())),
		prometheus.MustNewConstMetric(poolAcquires, counter, float64(s.AcquireCount())),
		prometheus.MustNewConstMetric(poolWaits, counter, float64(s.EmptyAcquireCount())),
		prometheus.MustNewConstMetric(poolWaited, counter, s.EmptyAcquireWaitTime().Seconds()),
		prometheus.MustNewConstMetric(poolCancelled, counter, float64(s.CanceledAcquireCount())),
	} {
		metrics <- m
	}
}
