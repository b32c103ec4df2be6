package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"sperrd/internal/makod/makodtest"
)

// spans is a collector that takes OTLP over HTTP.
type spans struct {
	mu  sync.Mutex
	all []*tracepb.Span
	url string
}

func newSpans(t *testing.T) *spans {
	t.Helper()
	s := &spans{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &request) != nil {
			http.Error(w, "no spans", http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				s.all = append(s.all, scope.Spans...)
			}
		}
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// named are the spans of a trace by a part of their names.
func (s *spans) named(trace, name string) (found []*tracepb.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, span := range s.all {
		if (trace == "" || hex.EncodeToString(span.TraceId) == trace) && strings.Contains(span.Name, name) {
			found = append(found, span)
		}
	}
	return found
}

// text is everything that the spans say.
func (s *spans) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, span := range s.all {
		fmt.Fprintln(&b, span.String())
	}
	return b.String()
}

const (
	inboundTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	inboundParent = "00-" + inboundTrace + "-00f067aa0ba902b7-01"
	reportTrace   = "0af7651916cd43dd8448eb211c80319c"
	reportParent  = "00-" + reportTrace + "-b7ad6b7169203331-01"
)

// executeIn reports an order as carried out within the trace of the caller.
func executeIn(t *testing.T, i *instance, id, traceparent string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, i.base+executePath(id), strings.NewReader(`{"note":"Siegel 4712"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("traceparent", traceparent)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// tracedOrder is an order whose event names a trace. Its window is open for long, so that
// the scanner has nothing to announce.
func (n *neighbourhood) tracedOrder(t *testing.T, i *instance, malo string) string {
	t.Helper()
	event := n.sperrauftrag(t, malo, map[string]any{"fruehestens_am": "20350601"})
	return n.queued(t, i, []byte(strings.Replace(string(event), "{", `{"traceparent":"`+inboundParent+`",`, 1)))
}

// wantChild fails unless the span has the parent, and returns its id.
func wantChild(t *testing.T, span *tracepb.Span, parent string) string {
	t.Helper()
	if got := hex.EncodeToString(span.ParentSpanId); got != parent {
		t.Errorf("%s has the parent %q, want %q", span.Name, got, parent)
	}
	return hex.EncodeToString(span.SpanId)
}

func TestTrace_leads_from_the_event_to_makod_and_to_the_ERP(t *testing.T) {
	t.Parallel()
	collected := newSpans(t)
	n := newNeighbourhood(t, fmt.Sprintf("[tracing]\nendpoint = %q\n", collected.url))
	i := n.replicas(t, 1)[0]
	id := n.tracedOrder(t, i, maloID(1))
	if status := executeIn(t, i, id, reportParent); status != http.StatusNoContent {
		t.Fatalf("execute: %d", status)
	}
	if err := n.erp.WaitAccepted(patient(t), 2); err != nil {
		t.Fatal(err)
	}
	awaitLines(t, 2, "event delivered", i)
	i.stop()
	i.awaitExit(t)

	for _, want := range []struct{ trace, top, name, neighbour string }{
		{inboundTrace, "00f067aa0ba902b7", "receive de.mako.process.initiated", "erp de.sperr.auftrag.eingegangen"},
		{reportTrace, "b7ad6b7169203331", "PUT /api/v1/sperr-orders/{id}/execute", "makod gpke.sperrung.bestaetigen"},
		{reportTrace, "b7ad6b7169203331", "PUT /api/v1/sperr-orders/{id}/execute", "erp de.sperr.ausgefuehrt"},
	} {
		top, below := collected.named(want.trace, want.name), collected.named(want.trace, want.neighbour)
		if len(top) != 1 || len(below) != 1 {
			t.Fatalf("%d spans %q and %d %q in their trace", len(top), want.name, len(below), want.neighbour)
		}
		wantChild(t, below[0], wantChild(t, top[0], want.top))
	}
	if rows := collected.named(reportTrace, "UPDATE"); len(rows) == 0 {
		t.Errorf("no statement is shown in the trace of the report:\n%s", collected.text())
	}
	command := n.Requests()[0]
	if got := command.Header.Get("traceparent"); !strings.HasPrefix(got, "00-"+reportTrace+"-") {
		t.Errorf("makod saw the traceparent %q", got)
	}
	for _, d := range n.erp.Deliveries() {
		trace := map[string]string{"de.sperr.auftrag.eingegangen": inboundTrace, "de.sperr.ausgefuehrt": reportTrace}[d.Type]
		kept, _ := d.Event.Extensions()["traceparent"].(string)
		if !strings.HasPrefix(d.Header.Get("traceparent"), "00-"+trace+"-") || !strings.HasPrefix(kept, "00-"+trace+"-") {
			t.Errorf("%s: the ERP saw %q, and the event says %q", d.Type, d.Header.Get("traceparent"), kept)
		}
	}
	if text := collected.text(); strings.Contains(text, "Siegel") || strings.Contains(text, maloID(1)) || strings.Contains(text, hmacSecret) || strings.Contains(text, i.base) {
		t.Errorf("a span holds what it must not:\n%s", text)
	}
	for _, line := range []string{`"IFTSTA dispatched"`, `"event delivered"`, `"msg":"request"`} {
		if !slices.ContainsFunc(strings.Split(i.log.String(), "\n"), func(l string) bool {
			return strings.Contains(l, line) && strings.Contains(l, `"trace_id":"`+reportTrace+`"`)
		}) {
			t.Errorf("no line %s names the trace", line)
		}
	}
}

func TestTrace_of_a_retry_is_linked_to_the_one_of_the_report(t *testing.T) {
	t.Parallel()
	collected := newSpans(t)
	n := newNeighbourhood(t, fmt.Sprintf("[tracing]\nendpoint = %q\n", collected.url))
	i := n.replicas(t, 1)[0]
	id := n.order(t, i, maloID(1))
	n.FailNext(1, makodtest.BadGateway())
	if status := executeIn(t, i, id, reportParent); status != http.StatusAccepted {
		t.Fatalf("execute: %d", status)
	}
	n.exec(t, `UPDATE sperr_orders SET iftsta_next_attempt_at = now() WHERE id = $1`, id)
	awaitLines(t, 1, "IFTSTA dispatched", i)
	i.stop()
	i.awaitExit(t)

	commands := collected.named("", "makod gpke.sperrung.bestaetigen")
	if len(commands) != 2 {
		t.Fatalf("%d commands", len(commands))
	}
	retry := commands[1]
	if hex.EncodeToString(retry.TraceId) == reportTrace || len(retry.ParentSpanId) != 0 || len(retry.Links) != 1 || hex.EncodeToString(retry.Links[0].TraceId) != reportTrace {
		t.Errorf("the retry is %s", retry)
	}
}

func TestTracing_that_is_off_hands_the_trace_of_the_caller_on(t *testing.T) {
	t.Parallel()
	n := newNeighbourhood(t, "")
	i := n.replicas(t, 1)[0]
	id := n.tracedOrder(t, i, maloID(1))
	if status := executeIn(t, i, id, reportParent); status != http.StatusNoContent {
		t.Fatalf("execute: %d", status)
	}
	if err := n.erp.WaitAccepted(patient(t), 2); err != nil {
		t.Fatal(err)
	}
	if got := n.Requests()[0].Header.Get("traceparent"); got != reportParent {
		t.Errorf("makod saw %q", got)
	}
	if got := n.text(t, `SELECT traceparent || ' ' || abschluss_traceparent FROM sperr_orders WHERE id = $1`, id); got != inboundParent+" "+reportParent {
		t.Errorf("kept: %s", got)
	}
	for _, d := range n.erp.Deliveries() {
		if want := map[string]string{"de.sperr.auftrag.eingegangen": inboundParent, "de.sperr.ausgefuehrt": reportParent}[d.Type]; d.Header.Get("traceparent") != want {
			t.Errorf("%s: the ERP saw %q", d.Type, d.Header.Get("traceparent"))
		}
	}
}

func TestTraceparent_that_is_none_harms_nothing(t *testing.T) {
	t.Parallel()
	n := newNeighbourhood(t, "")
	i := n.replicas(t, 1)[0]
	id := n.order(t, i, maloID(1))
	n.exec(t, `UPDATE sperr_orders SET traceparent = 'rubbish', abschluss_traceparent = E'\\x01' WHERE id = $1`, id)
	n.exec(t, `UPDATE event_outbox SET traceparent = '00-00-00-00' WHERE order_id = $1`, id)
	for _, bad := range []string{"x", strings.Repeat("0", 5000), "00-00000000000000000000000000000000-0000000000000000-01", inboundParent + "x"} {
		if status, _, err := i.get(t, "/api/v1/sperr-orders/"+id); status != http.StatusOK || err != nil {
			t.Fatalf("get: %d, %v", status, err)
		}
		if status := executeIn(t, i, id, bad); status != http.StatusNoContent && status != http.StatusConflict {
			t.Errorf("%.20q: %d", bad, status)
		}
	}
	if got := n.Requests()[0].Header.Get("traceparent"); got != "" {
		t.Errorf("makod saw %q", got)
	}
	if got := n.text(t, `SELECT COALESCE(abschluss_traceparent, 'none') FROM sperr_orders WHERE id = $1`, id); got != "none" {
		t.Errorf("kept: %q", got)
	}
}

// A collector that takes connections and never answers is the worst one.
func TestTracing_with_a_collector_that_hangs_holds_nothing_up(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(hangs.Close)
	t.Cleanup(func() { close(release) })
	n := newNeighbourhood(t, fmt.Sprintf("[tracing]\nendpoint = %q\n", hangs.URL))
	i := n.replicas(t, 1)[0]
	if status := executeIn(t, i, n.order(t, i, maloID(1)), reportParent); status != http.StatusNoContent {
		t.Fatalf("execute: %d", status)
	}
	begun := time.Now()
	i.stop()
	if code := i.awaitExit(t); code != exitOK || time.Since(begun) > 20*time.Second {
		t.Errorf("exit code %d after %v", code, time.Since(begun))
	}
	awaitLines(t, 1, "the last spans are lost", i)
}
