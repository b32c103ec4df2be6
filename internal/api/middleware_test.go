package api_test

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"sperrd/internal/api"
)

func TestEvery_answer_is_kept_out_of_caches_and_carries_its_request_id(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, a := range []answer{
		b.get(t, orders), b.get(t, "/nowhere"), b.call(t, "DELETE", orders, ""), b.call(t, "BREW", "/", ""),
		b.get(t, "/health/live"), b.deliver(t, sample(t, "17117.json")), b.call(t, http.MethodPost, orders, fullOrder),
	} {
		if a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%d: headers %v", a.status, a.header)
		}
		if _, err := uuid.Parse(a.header.Get("X-Request-Id")); err != nil {
			t.Errorf("%d: request id %q", a.status, a.header.Get("X-Request-Id"))
		}
	}
}

func TestRequest_id_of_the_caller_is_taken_where_it_can_stand_in_a_log(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, id := range []string{"a", "0b7c1e2a-1111-4000-8000-000000000001", "req_1:2/3+4=", strings.Repeat("x", 128)} {
		if got := b.call(t, http.MethodGet, "/health/live", "", "X-Request-Id", id).header.Get("X-Request-Id"); got != id {
			t.Errorf("request id %q became %q", id, got)
		}
	}
	for _, id := range []string{"", "a b", `"x"`, "m\xfcller", "{}", strings.Repeat("x", 129)} {
		if got := b.call(t, http.MethodGet, "/health/live", "", "X-Request-Id", id).header.Get("X-Request-Id"); got == id || got == "" {
			t.Errorf("request id %q was taken as %q", id, got)
		}
	}
}

func TestLog_has_one_line_for_each_request(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	created := b.create(t, fullOrder)
	b.call(t, http.MethodGet, orders+"/"+created.ID, "", "X-Request-Id", "req-1")
	b.get(t, orders+"?malo_id="+malo+"&limit=0")
	b.get(t, orders+"/"+malo)
	b.get(t, "/nowhere/"+malo)
	b.report(t, created.ID, "execute", `{"note":"Frau Beispiel war da"}`)
	b.get(t, "/health/live")

	type line struct {
		level, method, route, action, code, orderID string
		status                                      float64
	}
	want := []line{
		{"INFO", "POST", orders, "create-sperr-order", "", created.ID, 201},
		{"INFO", "GET", orders + "/{id}", "read-sperr-order", "", created.ID, 200},
		{"INFO", "GET", orders, "read-sperr-order", "invalid_parameter", "", 400},
		{"INFO", "GET", orders + "/{id}", "read-sperr-order", "not_found", "", 404},
		{"INFO", "GET", "", "none", "not_found", "", 404},
		{"INFO", "PUT", orders + "/{id}/execute", "execute-sperr-order", "", created.ID, 204},
		{"DEBUG", "GET", "/health/live", "none", "", "", 200},
	}
	lines := b.log.requests(t)
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), b.log)
	}
	for i, fields := range lines {
		text := func(name string) string { s, _ := fields[name].(string); return s }
		got := line{text("level"), text("method"), text("route"), text("action"), text("code"), text("order_id"), 0}
		got.status, _ = fields["status"].(float64)
		if got != want[i] {
			t.Errorf("line %d: %+v, want %+v", i, got, want[i])
		}
		if _, ok := fields["duration"]; !ok || text("request_id") == "" {
			t.Errorf("line %d: %v", i, fields)
		}
	}
	if lines[1]["request_id"] != "req-1" || lines[1]["bytes"].(float64) < 100 {
		t.Errorf("line %v", lines[1])
	}
	for _, secret := range []string{malo, "Lindenallee", "Hof links", "Beispiel", lf} {
		if strings.Contains(b.log.String(), secret) {
			t.Errorf("the log holds %q:\n%s", secret, b.log)
		}
	}
}

// wrapped serves one handler behind the middleware of every route.
func wrapped(t *testing.T, h http.HandlerFunc) *bench {
	t.Helper()
	b := &bench{log: &logBuffer{}, http: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(b.http.CloseIdleConnections)
	logger := slog.New(slog.NewJSONHandler(b.log, nil))
	b.url = serve(t, api.Wrap(api.Options{Logger: logger}, h), logger, func(*http.Server) {})
	return b
}

func TestPanic_is_a_500_and_logged_once_with_its_stack(t *testing.T) {
	t.Parallel()
	b := wrapped(t, func(http.ResponseWriter, *http.Request) { panic("a bug") })
	a := b.get(t, "/")
	wantProblem(t, a, http.StatusInternalServerError, "internal")
	if strings.Contains(string(a.body), "bug") {
		t.Errorf("the answer shows the inside: %s", a.body)
	}
	lines := b.log.requests(t)
	stack, _ := lines[0]["stack"].(string)
	if len(lines) != 1 || lines[0]["level"] != "ERROR" || lines[0]["error"] != "panic: a bug" || !strings.Contains(stack, "middleware_test.go") {
		t.Errorf("log:\n%s", b.log)
	}
	if strings.Count(b.log.String(), "a bug") != 1 {
		t.Errorf("the panic is logged more than once:\n%s", b.log)
	}
}

func TestPanic_after_the_answer_began_cuts_the_connection(t *testing.T) {
	t.Parallel()
	b := wrapped(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`[{"id":`))
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		panic("a bug")
	})
	b.wantCut(t)
	if !strings.Contains(b.log.String(), `"error":"panic: a bug"`) {
		t.Errorf("log:\n%s", b.log)
	}
}

func TestAbort_of_a_handler_passes_through(t *testing.T) {
	t.Parallel()
	b := wrapped(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	b.wantCut(t)
	if lines := b.log.requests(t); len(lines) != 1 || lines[0]["status"] != 0.0 || lines[0]["level"] == "ERROR" {
		t.Errorf("log:\n%s", b.log)
	}
}

// wantCut fails unless a GET of / ends without a whole answer.
func (b *bench) wantCut(t *testing.T) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+"/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := b.http.Do(r)
	if err == nil {
		_, err = io.ReadAll(response.Body)
		response.Body.Close()
	}
	if err == nil {
		t.Error("the answer came whole")
	}
}
