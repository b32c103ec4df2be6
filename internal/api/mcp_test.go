package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const toolsList = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`

// mcp sends a message of MCP; header lines are name and value in turn.
func (b *bench) mcp(t *testing.T, body string, header ...string) answer {
	t.Helper()
	return b.call(t, http.MethodPost, "/mcp", body, append([]string{"Accept", "application/json, text/event-stream"}, header...)...)
}

func wantTools(t *testing.T, a answer) {
	t.Helper()
	wantStatus(t, a, http.StatusOK)
	if !strings.Contains(string(a.body), "list_due_orders") {
		t.Errorf("no tools: %s", a.body)
	}
	if got := a.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control %q", got)
	}
}

func TestMCP_is_for_its_key_and_for_an_NB_of_the_tenant(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	token := func(c claims) string { return "Bearer " + g.issuer.Token(t, c) }
	wantTools(t, g.mcp(t, toolsList, "Authorization", "Bearer "+mcpKey))
	wantTools(t, g.mcp(t, toolsList, "Authorization", token(nil)))
	wantProblem(t, g.mcp(t, toolsList), http.StatusUnauthorized, "unauthenticated")
	for _, key := range []string{mcpKey + "x", mcpKey[1:], strings.ToUpper(mcpKey), "x.y.z", token(claims{"aud": "account"})[7:]} {
		wantProblem(t, g.mcp(t, toolsList, "Authorization", "Bearer "+key), http.StatusUnauthorized, "unauthenticated")
	}
	for _, c := range []claims{{"mako_roles": []string{"LF"}}, {"mako_tenant": lf}, {"mako_roles": nil}} {
		wantProblem(t, g.mcp(t, toolsList, "Authorization", token(c)), http.StatusForbidden, "forbidden")
	}
	for _, line := range g.log.requests(t)[:2] {
		if subject := line["subject"]; subject != "mcp-key" && subject != "field-team-7" {
			t.Errorf("subject %v", subject)
		}
	}
	if strings.Contains(g.log.String(), mcpKey) {
		t.Error("the key stands in the log")
	}
}

func TestMCP_key_opens_nothing_else(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	wantProblem(t, g.call(t, http.MethodGet, orders, "", "Authorization", "Bearer "+mcpKey), http.StatusUnauthorized, "unauthenticated")
	wantProblem(t, g.call(t, http.MethodPost, orders, minimal("sperrung"), "Authorization", "Bearer "+mcpKey), http.StatusUnauthorized, "unauthenticated")
}

func TestMCP_refuses_pages_of_other_origins_whoever_they_are(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	key := []string{"Authorization", "Bearer " + mcpKey}
	for _, foreign := range [][]string{
		{"Origin", "https://evil.example"},
		{"Origin", "null"},
		{"Origin", "http://127.0.0.1:1"},
		{"Origin", "%"},
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"},
	} {
		wantProblem(t, g.mcp(t, toolsList, append(foreign, key...)...), http.StatusForbidden, "forbidden")
		wantProblem(t, g.mcp(t, toolsList, foreign...), http.StatusForbidden, "forbidden")
	}
	browser := []string{"Sec-Fetch-Site", "same-origin", "Origin", "https://evil.example"}
	wantProblem(t, g.mcp(t, toolsList, append(browser, key...)...), http.StatusForbidden, "forbidden")
	for _, origins := range [][]string{{g.url, "https://evil.example"}, {strings.Replace(g.url, "//", "//evil@", 1)}} {
		header := http.Header{"Origin": origins, "Authorization": {key[1]}, "Content-Type": {"application/json"}}
		wantProblem(t, g.send(t, http.MethodPost, "/mcp", strings.NewReader(toolsList), header), http.StatusForbidden, "forbidden")
	}
	for _, own := range [][]string{{"Origin", g.url}, {"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Site", "none"}} {
		wantTools(t, g.mcp(t, toolsList, append(own, key...)...))
	}
}

func TestMCP_is_asked_by_POST_with_a_body_of_bounds(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	key := []string{"Authorization", "Bearer " + mcpKey, "Accept", "application/json, text/event-stream"}
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut, http.MethodOptions} {
		a := g.call(t, method, "/mcp", "", key...)
		wantProblem(t, a, http.StatusMethodNotAllowed, "method_not_allowed")
		if a.header.Get("Allow") != http.MethodPost {
			t.Errorf("%s: Allow %q", method, a.header.Get("Allow"))
		}
	}
	fill := func(n int) string { return strings.Repeat(" ", n-len(toolsList)) + toolsList }
	wantTools(t, g.mcp(t, fill(1<<20), key...))
	wantProblem(t, g.mcp(t, fill(1<<20+1), key...), http.StatusRequestEntityTooLarge, "body_too_large")
	for _, body := range []string{"", "{", "[]", "null", `"x"`, `{"jsonrpc":"2.0"}`, "\x00", strings.Repeat("[", 100_000)} {
		if a := g.mcp(t, body, key...); a.status/100 != 4 {
			t.Errorf("%.20q: %d %s", body, a.status, a.body)
		}
	}
}

// What a version of the protocol answers to what it does not know is described, whatever it is.
func TestMCP_answers_unknown_versions_and_methods_as_described(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	statuses := map[int]bool{}
	for _, version := range []string{"", "bogus", "2024-11-05", "2025-06-18", "2026-07-28", "9999-01-01"} {
		for _, method := range []string{"nix", "tools/list", "ping", "initialize", "prompts/get", "resources/list", "server/discover"} {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":"a","method":%q}`, method)
			a := b.mcp(t, body, "MCP-Protocol-Version", version)
			if statuses[a.status] = true; a.status >= http.StatusInternalServerError {
				t.Errorf("%s of %q: %d %s", method, version, a.status, a.body)
			}
		}
	}
	for _, want := range []int{http.StatusOK, http.StatusBadRequest, http.StatusNotFound} {
		if !statuses[want] {
			t.Errorf("none was answered %d: %v", want, statuses)
		}
	}
}

func TestMCP_follows_the_switch_of_REST_where_no_tokens_are_checked(t *testing.T) {
	t.Parallel()
	wantTools(t, newBench(t).mcp(t, toolsList))
	keyed := newBench(t, func(s *settings) { s.options.MCPKey = mcpKey })
	wantProblem(t, keyed.mcp(t, toolsList), http.StatusUnauthorized, "unauthenticated")
	wantProblem(t, keyed.mcp(t, toolsList, "Authorization", "Bearer x"), http.StatusUnauthorized, "unauthenticated")
	wantTools(t, keyed.mcp(t, toolsList, "Authorization", "Bearer "+mcpKey))
	wantStatus(t, keyed.get(t, orders), http.StatusOK)
}

func TestMCP_works_while_the_issuer_is_away_with_its_key(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.issuer.SetDown(true)
	wantTools(t, g.mcp(t, toolsList, "Authorization", "Bearer "+mcpKey))
	wantTools(t, g.mcp(t, toolsList, "Authorization", "Bearer "+g.issuer.Token(t, nil)))
}
