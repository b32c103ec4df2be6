package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"sperrd/internal/api"
)

func TestTable_recognises_repeated_calls_on_every_route_that_changes_something(t *testing.T) {
	t.Parallel()
	unkeyed := map[string]bool{}
	for _, r := range api.Table() {
		name := r.Method + " " + r.Pattern
		switch {
		case r.Method == http.MethodGet:
			if r.Once || r.Unkeyed != "" {
				t.Errorf("%s: done once %t, unkeyed because %q; it changes nothing", name, r.Once, r.Unkeyed)
			}
		case r.Once == (r.Unkeyed != ""):
			t.Errorf("%s: done once %t, unkeyed because %q; want one of the two", name, r.Once, r.Unkeyed)
		case !r.Once:
			unkeyed[name] = true
		}
	}
	// Each one that joins them needs a reason in the table and a place here.
	if diff := cmp.Diff(map[string]bool{"POST /webhook": true, "POST /mcp": true}, unkeyed); diff != "" {
		t.Errorf("routes on which no call is recognised (-want +got):\n%s", diff)
	}
}

// onceRoute is how a route is called that does each operation once.
type onceRoute struct {
	status        int    // of the call with good
	good, refused string // bodies
	code, field   string // of the call with refused
}

// onceRoutes are all of them, by method and pattern.
var onceRoutes = map[string]onceRoute{
	"POST " + orders: {
		http.StatusCreated, `{"malo_id":"51238696012","lf_mp_id":"9900012345678","order_type":"sperrung"}`,
		`{"malo_id":"51238696782","lf_mp_id":"9900012345678","order_type":"sperrung"}`, "invalid_order", "malo_id",
	},
	"PUT " + orders + "/{id}/execute": {http.StatusNoContent, `{"note":"TW-1"}`, `{"executed_at":"2030-01-01T00:00:00Z"}`, "invalid_report", "executed_at"},
	"PUT " + orders + "/{id}/fail":    {http.StatusAccepted, `{"reason":"zu"}`, `{"reason":" "}`, "invalid_report", "reason"},
	"PUT " + orders + "/{id}/cancel":  {http.StatusNoContent, `{"reason":"Irrtum"}`, `{"reason":"\u0000"}`, "invalid_report", "reason"},
	"POST " + orders + "/{id}/iftsta/reset": {
		http.StatusNoContent, `{"reason":"angelegt"}`, `{"reason":"\u0000"}`, "invalid_report", "reason",
	},
	"POST " + orders + "/iftsta/reset":  {http.StatusOK, `{"reason":"repariert","stuck":true}`, `{"reason":"\u0000","stuck":true}`, "invalid_report", "reason"},
	"POST " + rejects + "/{id}/replay":  {http.StatusCreated, `{"reason":"URL berichtigt"}`, `{"reason":"\u0000"}`, "invalid_report", "reason"},
	"POST " + rejects + "/{id}/dismiss": {http.StatusNoContent, `{"reason":"doppelt"}`, `{"reason":" "}`, "invalid_report", "reason"},
}

// eachOnceRoute runs test for every route that does each operation once. fresh is the path
// of another order or delivery each time, on which the good call is possible.
func eachOnceRoute(t *testing.T, b *bench, test func(t *testing.T, r onceRoute, send func(path, body string, header []string) answer, fresh func() string)) {
	t.Helper()
	n := 0
	for _, r := range api.Table() {
		if !r.Once {
			continue
		}
		name := r.Method + " " + r.Pattern
		route, known := onceRoutes[name]
		if !known {
			t.Errorf("%s: the tests know no call of it", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			test(t, route, func(path, body string, header []string) answer {
				return b.call(t, r.Method, path, body, header...)
			}, func() string {
				n++
				switch {
				case r.Pattern == orders+"/iftsta/reset":
					b.outstanding(t, maloOf(n))
					return r.Pattern
				case !strings.Contains(r.Pattern, "{id}"):
					return r.Pattern
				case strings.HasPrefix(r.Pattern, rejects):
					return strings.ReplaceAll(r.Pattern, "{id}", b.refused(t, process(sample(t, "17117.json"), n)))
				case strings.HasSuffix(r.Pattern, "/reset"):
					return strings.ReplaceAll(r.Pattern, "{id}", b.outstanding(t, maloOf(n)))
				default:
					return strings.ReplaceAll(r.Pattern, "{id}", b.create(t, minimal("sperrung")).ID)
				}
			})
		})
	}
}

func TestEvery_changing_route_repeats_what_it_did_and_what_it_refused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	eachOnceRoute(t, b, func(t *testing.T, r onceRoute, send func(path, body string, header []string) answer, fresh func() string) {
		path := fresh()
		unknown := drawnID.ReplaceAllString(path, uuid.NewString())
		for name, c := range map[string]struct {
			path, body string
			status     int
			code       string
			fields     []string
		}{
			"done":    {path, r.good, r.status, "", nil},
			"refused": {fresh(), r.refused, http.StatusUnprocessableEntity, r.code, []string{r.field}},
			"unknown": {unknown, r.good, http.StatusNotFound, "not_found", nil},
		} {
			if name == "unknown" && unknown == path {
				continue // it names no order
			}
			before := b.traces(t)
			one, two, three := uuid.NewString(), uuid.NewString(), uuid.NewString()
			first := send(c.path, c.body, called(one))
			wantFirst(t, first, c.status, one, one)
			if c.code != "" {
				wantProblem(t, first, c.status, c.code, c.fields...)
			}
			after := b.traces(t)
			if after.Records != before.Records+1 || after.Calls != before.Calls+1 || after.did(before) != (c.code == "") {
				t.Errorf("%s: %+v, before it %+v", name, after, before)
			}
			wantReplay(t, send(c.path, c.body, called(two, one)), first, two, one)
			wantReplay(t, send(c.path, c.body, called(one)), first, one, one)
			wantReplay(t, send(c.path, c.body, called(three, two)), first, three, one)
			after.Calls += 2
			b.wantTraces(t, after)
		}
	})
}

func TestEvery_changing_route_does_what_no_header_identifies_and_keeps_nothing_of_it(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	eachOnceRoute(t, b, func(t *testing.T, r onceRoute, send func(path, body string, header []string) answer, fresh func() string) {
		path := fresh()
		for _, c := range []struct {
			body   string
			status int
		}{{r.refused, http.StatusUnprocessableEntity}, {r.good, r.status}} {
			a := send(path, c.body, nil)
			wantFirst(t, a, c.status, "", "")
			if got, there := a.header[contentLocation]; there {
				t.Errorf("%s %q", contentLocation, got)
			}
		}
	})
	if got := b.traces(t); got.Records != 0 || got.Calls != 0 {
		t.Errorf("left behind %+v", got)
	}
}

func TestEvery_changing_route_refuses_a_malformed_header_and_records_nothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	eachOnceRoute(t, b, func(t *testing.T, r onceRoute, send func(path, body string, header []string) answer, fresh func() string) {
		path := fresh()
		before := b.traces(t)
		for _, c := range []struct {
			header []string
			field  string
		}{
			{[]string{"transactionId", "42", "creationDateTime", "2026-09-03T08:00:00Z"}, "transactionId"},
			{[]string{"transactionId", "", "creationDateTime", "2026-09-03T08:00:00Z"}, "transactionId"},
			{[]string{"transactionId", callA}, "creationDateTime"},
			{[]string{"transactionId", callA, "creationDateTime", "2026-06-05T07:59:59Z"}, "creationDateTime"},
			{append(called(callA, "x"), "Idempotency-Key", "k"), "initialTransactionId"},
			{append(called(callA), "Idempotency-Key", "k"), "Idempotency-Key"},
			{[]string{"initialTransactionId", callA, "Idempotency-Key", "k"}, "initialTransactionId"},
			{[]string{"referenceId", callA}, "referenceId"},
			{[]string{"Idempotency-Key", "a,b"}, "Idempotency-Key"},
		} {
			for _, body := range []string{r.good, `{`} {
				a := send(path, body, c.header)
				wantProblem(t, a, http.StatusBadRequest, "invalid_transaction_header", c.field)
				if _, there := a.header[replayMark]; there {
					t.Errorf("%v: a refused header is no replay", c.header)
				}
			}
		}
		b.wantTraces(t, before)
		one := uuid.NewString()
		wantFirst(t, send(path, r.good, called(one)), r.status, one, one)
	})
}

func TestEvery_changing_route_asks_who_calls_before_it_looks_at_a_header(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	before := g.traces(t)
	malformed := []string{"transactionId", "42"}
	for _, r := range api.Table() {
		if !r.Once {
			continue
		}
		path := strings.ReplaceAll(r.Pattern, "{id}", uuid.NewString())
		for _, header := range [][]string{malformed, called(callA), {"Idempotency-Key", "k"}} {
			wantProblem(t, g.call(t, r.Method, path, "{", header...), http.StatusUnauthorized, "unauthenticated")
			wantProblem(t, g.asCalled(t, claims{"mako_roles": []string{"LF"}}, r.Method, path, "{", header), http.StatusForbidden, "forbidden")
		}
		wantProblem(t, g.asCalled(t, nil, r.Method, path, "{", malformed), http.StatusBadRequest, "invalid_transaction_header", "transactionId", "creationDateTime")
	}
	g.wantTraces(t, before)
}

func TestEvery_changing_route_takes_no_call_without_identifiers_where_they_are_required(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *settings) { s.options.IdempotencyRequired = true })
	market := b.market(t, 17115, malo).ID // a market event has its own key
	for _, r := range api.Table() {
		if !r.Once {
			continue
		}
		path := strings.ReplaceAll(r.Pattern, "{id}", market)
		before := b.traces(t)
		for _, body := range []string{onceRoutes[r.Method+" "+r.Pattern].good, "{"} {
			a := b.call(t, r.Method, path, body)
			p := wantProblem(t, a, http.StatusBadRequest, "invalid_transaction_header", "transactionId")
			if !strings.Contains(p.Detail, "transactionId") || !strings.Contains(p.Detail, "Idempotency-Key") {
				t.Errorf("detail %q does not say what to send", p.Detail)
			}
			wantEcho(t, a, "", "")
		}
		b.wantTraces(t, before)
	}
	first := b.createCalled(t, fullOrder, called(callA))
	wantFirst(t, first, http.StatusCreated, callA, callA)
	wantReplay(t, b.createCalled(t, fullOrder, called(callB, callA)), first, callB, callA)
	wantFirst(t, b.change(t, market, "fail", `{"reason":"zu"}`, []string{"Idempotency-Key", "k"}), http.StatusAccepted, "k", "k")
	wantFirst(t, b.change(t, market, "execute", "", called(callC)), http.StatusNoContent, callC, callC)

	wantStatus(t, b.get(t, orders), http.StatusOK)
	wantStatus(t, b.get(t, orders+"/"+market), http.StatusOK)
	wantTools(t, b.mcp(t, toolsList))
	wantStatus(t, b.deliver(t, sample(t, "17117.json")), http.StatusCreated)
}
