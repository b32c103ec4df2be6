package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// IFTSTAResult is what became of one claim of an outcome.
type IFTSTAResult string

// What a claim of an outcome can come to. The first five had a command sent.
const (
	IFTSTADispatched    IFTSTAResult = "dispatched"
	IFTSTAReconciled    IFTSTAResult = "reconciled" // makod had applied an earlier command
	IFTSTAPostponed     IFTSTAResult = "postponed"  // makod has asked to wait; the attempt is given back
	IFTSTARefused       IFTSTAResult = "refused"    // makod has answered, and not taken it
	IFTSTAUnclear       IFTSTAResult = "unclear"    // no answer, or one that says nothing: makod may have it
	IFTSTANotSent       IFTSTAResult = "not_sent"   // given back before it was sent
	IFTSTANotReportable IFTSTAResult = "not_reportable"
)

func iftstaResults() []IFTSTAResult {
	return []IFTSTAResult{
		IFTSTADispatched, IFTSTAReconciled, IFTSTAPostponed, IFTSTARefused, IFTSTAUnclear, IFTSTANotSent, IFTSTANotReportable,
	}
}

// CountIFTSTA counts one claim of an outcome. took is how long makod's answer took; 0:
// nothing was sent.
func (m *Metrics) CountIFTSTA(result IFTSTAResult, took time.Duration) {
	if m != nil {
		m.iftsta.add(result, took)
	}
}

// CountForeignProcess counts an outcome that makod booked on another process than the
// order's own.
func (m *Metrics) CountForeignProcess() {
	if m != nil {
		m.foreignProcess.Inc()
	}
}

// DeliveryResult is what became of one claim of an event.
type DeliveryResult string

// What a claim of an event can come to.
const (
	DeliveryDelivered        DeliveryResult = "delivered"
	DeliveryHTTP3xx          DeliveryResult = "http_3xx"
	DeliveryHTTP4xx          DeliveryResult = "http_4xx"
	DeliveryHTTP5xx          DeliveryResult = "http_5xx"
	DeliveryHTTPOther        DeliveryResult = "http_other"
	DeliveryTimeout          DeliveryResult = "timeout"
	DeliveryConnectionFailed DeliveryResult = "connection_failed"
	DeliveryNotSent          DeliveryResult = "not_sent"
)

func deliveryResults() []DeliveryResult {
	return []DeliveryResult{
		DeliveryDelivered, DeliveryHTTP3xx, DeliveryHTTP4xx, DeliveryHTTP5xx, DeliveryHTTPOther,
		DeliveryTimeout, DeliveryConnectionFailed, DeliveryNotSent,
	}
}

// CountDelivery counts one claim of an event. took is how long the ERP's answer took; 0:
// nothing was sent.
func (m *Metrics) CountDelivery(result DeliveryResult, took time.Duration) {
	if m != nil {
		m.deliveries.add(result, took)
	}
}

// CountDeadLetter counts an event that was given up.
func (m *Metrics) CountDeadLetter() {
	if m != nil {
		m.deadLettered.Inc()
	}
}

// CountPass counts one pass of a background loop; err is why it failed.
func (m *Metrics) CountPass(loop string, err error) {
	switch {
	case m == nil:
	case err != nil:
		m.loopFailures.WithLabelValues(loop).Inc()
	default:
		m.loopPassed.WithLabelValues(loop).Set(float64(m.now().UnixMilli()) / 1000)
	}
}

// StartLoop shows a loop before its first pass: as if it had passed at this moment, so
// that one which never does is noticed as soon as one that does no more.
func (m *Metrics) StartLoop(loop string) {
	if m != nil {
		m.loopFailures.WithLabelValues(loop)
		m.CountPass(loop, nil)
	}
}

// attempts counts what was tried by its result R, and how long the answers took.
type attempts[R ~string] struct {
	count    *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

// neighbourBuckets reach from a neighbour beside us to the longest request_timeout.
var neighbourBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 600}

func newAttempts[R ~string](name, help, durationName, durationHelp string, results []R) attempts[R] {
	a := attempts[R]{
		count:    newCounter(name, help, results).series,
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: durationName, Help: durationHelp, Buckets: neighbourBuckets}, []string{"result"}),
	}
	for _, result := range results {
		a.duration.WithLabelValues(string(result))
	}
	return a
}

func (a attempts[R]) add(result R, took time.Duration) {
	a.count.WithLabelValues(string(result)).Inc()
	if took > 0 {
		a.duration.WithLabelValues(string(result)).Observe(took.Seconds())
	}
}

func (m *Metrics) newQueueCounters() {
	m.iftsta = newAttempts("sperrd_iftsta_attempts_total", "Attempts to report an outcome to makod by what became of them.",
		"sperrd_iftsta_attempt_duration_seconds", "How long makod took to answer a command.", iftstaResults())
	m.foreignProcess = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "sperrd_iftsta_foreign_process_total", Help: "Outcomes that makod booked on another process than the order's own.",
	})
	m.deliveries = newAttempts("sperrd_outbox_deliveries_total", "Attempts to deliver an event to the ERP by what became of them.",
		"sperrd_outbox_delivery_duration_seconds", "How long the ERP took to answer a delivery.", deliveryResults())
	m.deadLettered = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "sperrd_outbox_dead_lettered_total", Help: "Events that were given up.",
	})
	m.loopPassed = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "sperrd_loop_last_success_timestamp_seconds", Help: "When a background loop last passed without a failure; its start before the first time.",
	}, []string{"loop"})
	m.loopFailures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sperrd_loop_failures_total", Help: "Passes of a background loop that failed.",
	}, []string{"loop"})
}
