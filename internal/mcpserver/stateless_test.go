package mcpserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"sperrd/internal/mcpserver"
)

func initialize(version string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + version +
		`","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`
}

func TestReplicas_answer_for_each_other(t *testing.T) {
	t.Parallel()
	a := newBench(t)
	order := a.market(t, 17117, malo, nil)
	for _, version := range []string{"2025-11-25", "2025-06-18", "2025-03-26"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			first, second := httptest.NewServer(mcpserver.NewHandler(a.options)), a.serve(t)
			greeting := post(t, first.URL, initialize(version))
			var result mcp.InitializeResult
			if err := json.Unmarshal(greeting.message(t).Result, &result); err != nil {
				t.Fatal(err)
			}
			if result.ProtocolVersion != version || greeting.header.Get("Mcp-Session-Id") != "" {
				t.Errorf("version %s, session %q, want %s and none", result.ProtocolVersion, greeting.header.Get("Mcp-Session-Id"), version)
			}
			header := []string{"MCP-Protocol-Version", version}
			if a := post(t, second, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, header...); a.status != http.StatusAccepted {
				t.Errorf("initialized: status %d", a.status)
			}
			if m := post(t, second, listTools, header...).message(t); m.Error != nil {
				t.Errorf("tools/list: %+v", m.Error)
			}
			first.Close()
			restarted := a.serve(t)
			read := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_sperr_order","arguments":{"id":"` + order.ID.String() + `"}}}`
			for _, url := range []string{second, restarted} {
				if got := toolResult(t, post(t, url, read, header...)); got.IsError || !strings.Contains(textOf(t, got), order.ID.String()) {
					t.Errorf("get_sperr_order: %+v", got)
				}
			}
		})
	}
}

// The newest protocol has no initialize: each request brings what one needs to know.
func TestNewest_protocol_needs_no_greeting(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sperr_stats","_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},
		"io.modelcontextprotocol/clientCapabilities":{}}}}`
	a := post(t, b.url, body, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "get_sperr_stats")
	if result := toolResult(t, a); result.IsError {
		t.Errorf("get_sperr_stats: %s", textOf(t, result))
	}
}

func TestClient_of_the_SDK_speaks_the_newest_protocol(t *testing.T) {
	t.Parallel()
	if got := connect(t, newBench(t).url).InitializeResult().ProtocolVersion; got != "2026-07-28" {
		t.Errorf("protocol %s", got)
	}
}

// Nobody can hold a request open to be told of changes: there are none.
func TestSubscriptions_end_at_once(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":true},"_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},
		"io.modelcontextprotocol/clientCapabilities":{}}}}`
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	a := do(t, newRequest(ctx, t, b.url, body, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen"))
	if a.status != http.StatusOK {
		t.Errorf("status %d, body %s", a.status, a.body)
	}
}

// Runs alone, since it counts what the whole process holds.
func TestAbandoned_initialisations_leave_nothing_behind(t *testing.T) {
	b := newBench(t)
	handler := mcpserver.NewHandler(b.options)
	greet := func(n int) {
		for range n {
			w, r := httptest.NewRecorder(), newRequest(t.Context(), t, "/mcp", initialize("2025-11-25"))
			handler.ServeHTTP(w, r)
			if w.Code != http.StatusOK {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
		}
	}
	greet(50)
	before, heap := goleak.IgnoreCurrent(), heapInUse()
	greet(1000)
	goleak.VerifyNone(t, before)
	if grown := heapInUse() - heap; grown > 1<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // what finalizers have let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// dump is every row that the service has, in one text.
func (b *bench) dump(t *testing.T) map[string]string {
	t.Helper()
	rows := map[string]string{}
	for _, table := range []string{"sperr_orders", "sperr_order_history", "event_outbox", "webhook_rejects", "sperr_order_totals"} {
		var text string
		// xmin changes with every version of a row, also with one that says the same.
		if err := b.pool.QueryRow(t.Context(),
			`SELECT COALESCE(string_agg(x.xmin::text || x::text, E'\n' ORDER BY x::text), '') FROM `+table+` x`).Scan(&text); err != nil {
			t.Fatal(err)
		}
		rows[table] = text
	}
	return rows
}

func TestSurface_changes_no_row(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := connect(t, b.url)
	order := b.market(t, 17115, malo, nil)
	b.execute(t, b.market(t, 17117, otherMalo, nil).ID)
	before := b.dump(t)
	for tool, arguments := range all {
		if tool == "get_sperr_order" {
			arguments = map[string]any{"id": order.ID}
		}
		call(t, session, tool, arguments)
	}
	for _, name := range []string{"execute-sperrung", "iftsta-sweep"} {
		prompt(t, session, name)
	}
	if diff := cmp.Diff(before, b.dump(t)); diff != "" {
		t.Errorf("rows (-before +after):\n%s", diff)
	}
}
