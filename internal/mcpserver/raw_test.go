package mcpserver_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sperrd/internal/mcpserver"
)

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// message is a JSON-RPC response.
type message struct {
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// message is the one event of an answer.
func (a answer) message(t *testing.T) message {
	t.Helper()
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("status %d, content type %s, body %.500s; want an event stream", a.status, a.header.Get("Content-Type"), a.body)
	}
	var m message
	_, data, found := strings.Cut(a.body, "data: ")
	if err := json.Unmarshal([]byte(data), &m); err != nil || !found {
		t.Fatalf("event %.500s: %v", a.body, err)
	}
	return m
}

func newRequest(ctx context.Context, t *testing.T, url, body string, header ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// post sends a body as an old client does; header lines are name and value in turn.
func post(t *testing.T, url, body string, header ...string) answer {
	t.Helper()
	return do(t, newRequest(t.Context(), t, url, body, header...))
}

func do(t *testing.T, r *http.Request) answer {
	t.Helper()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(raw)}
}

const (
	listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	callStats = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sperr_stats"}}`
)

func TestHandler_answers_broken_requests_with_4xx(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	nested := strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)
	for name, c := range map[string]struct {
		body   string
		header []string
		status int
	}{
		"empty":                   {"", nil, 400},
		"spaces":                  {" \r\n\t", nil, 400},
		"no JSON":                 {"{", nil, 400},
		"null":                    {"null", nil, 400},
		"a string":                {`"x"`, nil, 400},
		"byte order mark":         {"\uFEFF" + callStats, nil, 400},
		"method is no string":     {`{"jsonrpc":"2.0","id":1,"method":7}`, nil, 400},
		"unknown method":          {`{"jsonrpc":"2.0","id":1,"method":"orders/delete"}`, nil, 400},
		"no method and no id":     {`{"jsonrpc":"2.0"}`, nil, 400},
		"no id":                   {`{"jsonrpc":"2.0","method":"tools/list"}`, nil, 400},
		"id is an object":         {`{"jsonrpc":"2.0","id":{},"method":"tools/list"}`, nil, 400},
		"other version":           {`{"jsonrpc":"1.0","id":1,"method":"tools/list"}`, nil, 400},
		"batch":                   {"[" + callStats + "]", nil, 400},
		"batch after spaces":      {" \n[" + callStats + "]", nil, 400},
		"empty batch":             {"[]", nil, 400},
		"params missing":          {`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, nil, 400},
		"deep":                    {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sperr_stats","arguments":` + nested + `}}`, nil, 400},
		"more than 1 MiB":         {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + strings.Repeat("x", 1<<20) + `"}}`, nil, 413},
		"more than 1 MiB spaces":  {strings.Repeat(" ", 1<<20+1) + callStats, nil, 413},
		"other content type":      {callStats, []string{"Content-Type", "text/plain"}, 415},
		"no content type":         {callStats, []string{"Content-Type", ""}, 415},
		"Accept JSON only":        {callStats, []string{"Accept", "application/json"}, 400},
		"Accept nothing":          {callStats, []string{"Accept", "text/html"}, 400},
		"unknown version":         {callStats, []string{"MCP-Protocol-Version", "2001-01-01"}, 400},
		"newest without _meta":    {callStats, []string{"MCP-Protocol-Version", "2026-07-28"}, 400},
		"Last-Event-ID":           {callStats, []string{"Last-Event-ID", "x_1"}, 400},
		"response of a client":    {`{"jsonrpc":"2.0","id":1,"result":{}}`, nil, 202},
		"notification":            {`{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 202},
		"cancelled of nothing":    {`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, nil, 202},
		"session id of no server": {callStats, []string{"Mcp-Session-Id", "gone"}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if a := post(t, b.url, c.body, c.header...); a.status != c.status {
				t.Errorf("status %d, want %d; body %.300s", a.status, c.status, a.body)
			}
		})
	}
}

func TestHandler_answers_faults_of_the_protocol_as_JSON_RPC(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, c := range map[string]struct {
		body string
		code int
	}{
		"unknown tool":        {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_order"}}`, -32602},
		"NUL in a tool":       {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sperr_stats\u0000"}}`, -32602},
		"no tool":             {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, -32602},
		"unknown prompt":      {`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"x"}}`, -32602},
		"bad cursor":          {`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`, -32602},
		"unknown resource":    {`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`, -32602},
		"subscribe":           {`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"x:y"}}`, -32601},
		"completion":          {`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"iftsta-sweep"},"argument":{"name":"a","value":"b"}}}`, -32601},
		"initialize, no body": {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":null}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := post(t, b.url, c.body).message(t)
			if m.Error == nil || c.code != 0 && m.Error.Code != c.code {
				t.Errorf("result %s, error %+v, want code %d", m.Result, m.Error, c.code)
			}
		})
	}
	if a := post(t, b.url, callStats); strings.Contains(a.body, `"error"`) {
		t.Errorf("afterwards: %s", a.body)
	}
}

func TestHandler_refuses_a_batch_without_running_it(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := post(t, b.url, "["+strings.Repeat(callStats+",", 99)+callStats+"]")
	var m message
	if err := json.Unmarshal([]byte(a.body), &m); err != nil || m.Error == nil || m.Error.Code != -32600 {
		t.Errorf("body %s, want a JSON-RPC error", a.body)
	}
	if lines := b.log.calls(t); lines != nil {
		t.Errorf("%d calls have run", len(lines))
	}
}

func TestHandler_serves_POST_only(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut} {
		r := newRequest(t.Context(), t, b.url, "")
		r.Method = method
		if a := do(t, r); a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != "POST" {
			t.Errorf("%s: status %d, Allow %q", method, a.status, a.header.Get("Allow"))
		}
	}
}

func TestOpen_handler_on_loopback_refuses_a_foreign_host(t *testing.T) {
	t.Parallel()
	for open, status := range map[bool]int{true: http.StatusForbidden, false: http.StatusOK} {
		b := newBench(t, func(o *mcpserver.Options) { o.Open = open })
		r := newRequest(t.Context(), t, b.url, callStats)
		r.Host = "sperrd.example"
		if a := do(t, r); a.status != status {
			t.Errorf("open %t: status %d, want %d; body %s", open, a.status, status, a.body)
		}
	}
}

func TestCall_ends_with_its_client(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	lock, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Rollback(context.Background()) }()
	if _, err := lock.Exec(t.Context(), `LOCK TABLE sperr_orders IN ACCESS EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	ctx, hangUp := context.WithCancel(t.Context())
	// The server ends a request only after its calls: Close waits for the line in the log.
	ts := httptest.NewServer(mcpserver.NewHandler(b.options))
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		if response, err := http.DefaultClient.Do(newRequest(ctx, t, ts.URL, callStats)); err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
	}()
	for waiting := false; !waiting; {
		if err := b.pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock')`).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
	}
	hangUp()
	<-sent
	ts.Close()
	lines := b.log.calls(t)
	if len(lines) != 1 || lines[0]["level"] != "WARN" || time.Duration(lines[0]["duration"].(float64)) > 4*time.Second {
		t.Errorf("lines %v, want one call that ended before its time", lines)
	}
}

func TestCall_names_the_request_it_came_in(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	handler := mcpserver.NewHandler(b.options)
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", "req-7")
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(ts.Close)
	post(t, ts.URL, callStats)
	if lines := b.log.calls(t); len(lines) != 1 || lines[0]["request_id"] != "req-7" {
		t.Errorf("lines %v, want request_id req-7", lines)
	}
}
