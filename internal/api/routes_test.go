package api_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"sperrd/internal/api"
)

func TestRouter_serves_the_table_and_nothing_else(t *testing.T) {
	t.Parallel()
	var table []string
	for _, r := range api.Table() {
		table = append(table, r.Method+" "+r.Pattern)
		if r.Method == http.MethodGet {
			table = append(table, http.MethodHead+" "+r.Pattern)
		}
	}
	var routed []string
	err := chi.Walk(api.NewHandler(api.Options{}).(chi.Routes), func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		routed = append(routed, method+" "+pattern)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(table)
	slices.Sort(routed)
	if diff := cmp.Diff(table, routed); diff != "" {
		t.Errorf("routes (-table +router):\n%s", diff)
	}
}

func TestTable_says_who_may_call_each_route(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for _, r := range api.Table() {
		got[r.Method+" "+r.Pattern] = r.Action
		if (r.Action == "") == (r.Open == "") {
			t.Errorf("%s %s: action %q, open for the reason %q; want one of the two", r.Method, r.Pattern, r.Action, r.Open)
		}
	}
	const open = ""
	want := map[string]string{
		"POST /webhook":            open,
		"GET /health/live":         open,
		"GET /health/ready":        open,
		"GET /metrics":             open,
		"POST /mcp":                "read-sperr-order",
		"GET " + orders:            "read-sperr-order",
		"POST " + orders:           "create-sperr-order",
		"GET " + orders + "/stats": "read-sperr-order",
		"GET " + orders + "/{id}":  "read-sperr-order",
		"GET " + pruefschritte:     "read-sperr-order",
		"GET " + rejects:           "read-sperr-order",
		"GET " + rejects + "/{id}": "read-sperr-order",

		"GET /api/v1/vorlauffrist":          "read-sperr-order",
		"POST " + rejects + "/{id}/replay":  "create-sperr-order",
		"POST " + rejects + "/{id}/dismiss": "create-sperr-order",

		"PUT " + orders + "/{id}/execute": "execute-sperr-order",
		"PUT " + orders + "/{id}/fail":    "execute-sperr-order",
		"PUT " + orders + "/{id}/cancel":  "cancel-sperr-order",
		"GET " + orders + "/{id}/history": "read-sperr-order",
		"GET " + orders + "/{id}/fristen": "read-sperr-order",
		"GET /api/v1/fristen":             "read-sperr-order",

		"POST " + orders + "/{id}/iftsta/reset": "execute-sperr-order",
		"POST " + orders + "/iftsta/reset":      "execute-sperr-order",

		"GET /openapi.json": "",
		"GET /docs":         "",
		"GET /docs/{asset}": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestActions_are_those_of_the_table(t *testing.T) {
	t.Parallel()
	var asked []string
	for _, r := range api.Table() {
		if r.Action != "" {
			asked = append(asked, r.Action)
		}
	}
	slices.Sort(asked)
	if diff := cmp.Diff(slices.Compact(asked), slices.Sorted(slices.Values(api.Actions()))); diff != "" {
		t.Errorf("actions (-table +Actions):\n%s", diff)
	}
}

func TestRouter_answers_unknown_paths_with_a_problem(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, path := range []string{"/", "/api", "/api/v1", orders + "/", orders + "/x/y/z", "/webhook/", "/metrics/", "/mcp/", "/health", "/api/v1/fristen/"} {
		wantProblem(t, b.get(t, path), http.StatusNotFound, "not_found")
		wantProblem(t, b.call(t, "BREW", path, ""), http.StatusNotFound, "not_found")
	}
}

func TestRouter_names_the_methods_a_path_takes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const id = "/0b7c1e2a-1111-4000-8000-000000000001"
	for _, c := range []struct{ method, path, allow string }{
		{"GET", "/webhook", "POST"},
		{"GET", "/mcp", "POST"},
		{"DELETE", "/mcp", "POST"},
		{"DELETE", orders, "GET, HEAD, POST"},
		{"OPTIONS", orders, "GET, HEAD, POST"},
		{"BREW", orders, "GET, HEAD, POST"},
		{"POST", orders + "/stats", "GET, HEAD"},
		{"PATCH", orders + id, "GET, HEAD"},
		{"POST", orders + id + "/execute", "PUT"},
		{"GET", orders + id + "/cancel", "PUT"},
		{"PUT", orders + id + "/iftsta/reset", "POST"},
		{"GET", orders + "/iftsta/reset", "POST"},
		{"POST", "/health/live", "GET, HEAD"},
		{"POST", rejects + id, "GET, HEAD"},
		{"GET", rejects + id + "/replay", "POST"},
		{"PUT", rejects + id + "/dismiss", "POST"},
	} {
		a := b.call(t, c.method, c.path, "")
		wantProblem(t, a, http.StatusMethodNotAllowed, "method_not_allowed")
		if got := a.header.Get("Allow"); got != c.allow {
			t.Errorf("%s %s: Allow %q, want %q", c.method, c.path, got, c.allow)
		}
	}
}

func TestHead_answers_like_GET_without_the_body(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create(t, minimal("sperrung")).ID
	for _, path := range []string{orders, orders + "/stats", orders + "/" + id, rejects, "/health/live", "/health/ready", "/metrics"} {
		get, head := b.get(t, path), b.call(t, http.MethodHead, path, "")
		if head.status != http.StatusOK || len(head.body) != 0 || head.header.Get("Content-Type") != get.header.Get("Content-Type") {
			t.Errorf("HEAD %s: %d with %d bytes, headers %v", path, head.status, len(head.body), head.header)
		}
	}
}
