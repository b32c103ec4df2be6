package mcpserver_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sperrd/internal/mcpserver"
)

func TestTools_refuse_arguments_in_clear_words(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := connect(t, b.url)
	const (
		status = "status must be pending, executed, failed or cancelled; leave it out for all."
		malos  = "malo_id must be eleven digits, the first not 0; leave it out for all."
		form   = "id must be a UUID of 36 characters, as the lists give it; a malo_id is none."
		due    = "due goes with status pending only: no other order is due."
	)
	huge := strings.Repeat("x", 500_000)
	for _, c := range []struct {
		tool      string
		arguments string
		text      string
	}{
		{"list_sperr_orders", `{"status":"open"}`, status},
		{"list_sperr_orders", `{"status":""}`, status},
		{"list_sperr_orders", `{"status":"PENDING"}`, status},
		{"list_sperr_orders", `{"status":"pending\u0000"}`, status},
		{"list_sperr_orders", `{"status":7}`, "status must be a string."},
		{"list_sperr_orders", `{"malo_id":"1"}`, malos},
		{"list_sperr_orders", `{"malo_id":""}`, malos},
		{"list_sperr_orders", `{"malo_id":"5123869601\u0000"}`, malos},
		{"list_sperr_orders", `{"malo_id":"05123869601"}`, malos},
		{"list_sperr_orders", `{"malo_id":"' OR 1=1 --"}`, malos},
		{"list_sperr_orders", `{"malo_id":"` + huge + `"}`, malos},
		{"list_sperr_orders", `{"malo_id":51238696012}`, "malo_id must be a string."},
		{"list_sperr_orders", `{"due":"true"}`, "due must be true or false."},
		{"list_sperr_orders", `{"due":true,"status":"failed"}`, due},
		{"list_sperr_orders", `{"due":true,"status":"executed"}`, due},
		{"list_sperr_orders", `{"limit":"50"}`, "limit must be a whole number."},
		{"list_sperr_orders", `{"limit":1.5}`, "limit must be a whole number."},
		{"list_sperr_orders", `{"limit":1e400}`, "limit must be a whole number."},
		{"list_sperr_orders", `{"cursor":"x"}`, "cursor is not an argument of this tool."},
		{"list_sperr_orders", `{"Status":"failed"}`, "Status is not an argument of this tool."},
		{"list_sperr_orders", `{"a\u0000b":1}`, "a b is not an argument of this tool."},
		{"list_sperr_orders", `{"":1}`, `"" is not an argument of this tool.`},
		{"list_sperr_orders", `{"` + huge + `":1}`, huge[:39] + "… is not an argument of this tool."},
		{"list_sperr_orders", `{"due":true,"due":false}`, "due is given twice."},
		{"list_sperr_orders", `["pending"]`, "arguments must be one JSON object."},
		{"list_sperr_orders", `"pending"`, "arguments must be one JSON object."},
		{"list_sperr_orders", "{\"malo_id\":\"\xff\"}", "arguments cannot be read: they are not valid JSON in UTF-8."},
		{"get_sperr_order", `{}`, "id is required: the id of an order, as the lists give it."},
		{"get_sperr_order", `{"id":null}`, "id is required: the id of an order, as the lists give it."},
		{"get_sperr_order", `{"id":7}`, "id must be a string."},
		{"get_sperr_order", `{"id":"51238696012"}`, form},
		{"get_sperr_order", `{"id":"{6a0f6f0e-9c55-4b0e-8a0e-2f3d9f6f1b11}"}`, form},
		{"get_sperr_order", `{"id":"6a0f6f0e9c554b0e8a0e2f3d9f6f1b11"}`, form},
		{"get_sperr_order", `{"id":"6a0f6f0e-9c55-4b0e-8a0e-2f3d9f6f1b1\u0000"}`, form},
		{"get_sperr_order", `{"id":"` + huge + `"}`, form},
		{"get_sperr_order", `{"id":"6a0f6f0e-9c55-4b0e-8a0e-2f3d9f6f1b11"}`, "id names no order of this Netzbetreiber."},
		{"get_sperr_stats", `{"x":1}`, "x is not an argument of this tool."},
		{"list_due_orders", `{"limit":1}`, "limit is not an argument of this tool."},
	} {
		// Raw: the client of the SDK would not send all of these.
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + c.tool + `","arguments":` + c.arguments + `}}`
		result := toolResult(t, post(t, b.url, body))
		if got := textOf(t, result); !result.IsError || got != c.text {
			t.Errorf("%s %.80s: is error %t, text %.200q, want %q", c.tool, c.arguments, result.IsError, got, c.text)
		}
	}
	for _, line := range b.log.calls(t) {
		if line["level"] != "INFO" || line["is_error"] != true || line["error"] != nil {
			t.Errorf("log line %v, want a quiet one: the fault is the caller's", line)
		}
	}
	wantFault(t, session, "get_sperr_order", map[string]any{"id": "x"}, form)
}

func TestTools_take_no_arguments_as_an_empty_object(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, arguments := range []string{``, `,"arguments":null`, `,"arguments":{}`} {
		for _, tool := range []string{"list_sperr_orders", "get_sperr_stats", "list_due_orders"} {
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `"` + arguments + `}}`
			if result := toolResult(t, post(t, b.url, body)); result.IsError {
				t.Errorf("%s%s: %s", tool, arguments, textOf(t, result))
			}
		}
	}
}

// all is a call of each tool.
var all = map[string]map[string]any{
	"list_sperr_orders": nil,
	"get_sperr_order":   {"id": "6a0f6f0e-9c55-4b0e-8a0e-2f3d9f6f1b11"},
	"get_sperr_stats":   nil,
	"list_due_orders":   nil,
}

const (
	unavailable = "The service is temporarily unavailable. Nothing was read; try again in a few seconds."
	internal    = "Internal error: the service has failed, and its log says why. Trying again will hardly help."
)

func TestTools_say_that_the_database_is_away(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := connect(t, b.url)
	b.pool.Close()
	for tool, arguments := range all {
		wantFault(t, session, tool, arguments, unavailable)
	}
	b.wantLog(t, "WARN", "closed pool")
}

func TestTools_hide_what_went_wrong_inside_and_log_it_once(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := connect(t, b.url)
	b.exec(t, `ALTER TABLE sperr_orders RENAME TO away`)
	for tool, arguments := range all {
		wantFault(t, session, tool, arguments, internal)
	}
	b.wantLog(t, "ERROR", "sperr_orders")
}

func TestTools_survive_a_panic(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *mcpserver.Options) { o.Now = func() time.Time { panic("no clock") } })
	session := connect(t, b.url)
	wantFault(t, session, "list_due_orders", nil, internal)
	wantFault(t, session, "get_sperr_stats", nil, internal)
	for _, line := range b.log.calls(t) {
		if cause := line["error"].(string); line["level"] != "ERROR" || !strings.Contains(cause, "no clock") || !strings.Contains(cause, "today") {
			t.Errorf("log line %v, want the panic and where it was", line)
		}
	}
}

// wantLog fails unless each tool has left one line at level, with a cause.
func (b *bench) wantLog(t *testing.T, level, cause string) {
	t.Helper()
	lines := b.log.calls(t)
	if len(lines) != len(all) {
		t.Errorf("%d lines, want one for each of %d calls", len(lines), len(all))
	}
	for _, line := range lines {
		text, _ := line["error"].(string)
		if line["level"] != level || !strings.Contains(text, cause) || line["is_error"] != true {
			t.Errorf("log line %v, want level %s and a cause with %q", line, level, cause)
		}
	}
}

func TestCalls_leave_a_line_without_arguments(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := connect(t, b.url)
	call(t, session, "list_sperr_orders", map[string]any{"malo_id": malo})
	lines := b.log.calls(t)
	if len(lines) != 1 {
		t.Fatalf("%d lines, want 1:\n%s", len(lines), b.log)
	}
	line := lines[0]
	if line["tool"] != "list_sperr_orders" || line["is_error"] != false || line["level"] != "INFO" || line["duration"] == nil {
		t.Errorf("log line %v", line)
	}
	if strings.Contains(b.log.String(), malo) {
		t.Errorf("the log names a household:\n%s", b.log)
	}
}

func toolResult(t *testing.T, a answer) *mcp.CallToolResult {
	t.Helper()
	message := a.message(t)
	if message.Error != nil {
		t.Fatalf("protocol error %+v, want a result", message.Error)
	}
	var result mcp.CallToolResult
	if err := json.Unmarshal(message.Result, &result); err != nil {
		t.Fatal(err)
	}
	return &result
}
