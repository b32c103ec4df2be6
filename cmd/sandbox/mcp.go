package main

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	mcpPath = "/mcp"
	// listTools is a request as it is typed, and mcpAccept what has to come with it.
	listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	mcpAccept = "application/json, text/event-stream"
)

// askOverMCP calls a tool without arguments through the public client of MCP and
// returns what it answers.
func (s *story) askOverMCP(ctx context.Context, tool string) map[string]any {
	if s.done() {
		return nil
	}
	key := withKey{s.mcpKey, s.sperrd.http.Transport}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "sandbox", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: s.sperrd.base + mcpPath, HTTPClient: &http.Client{Transport: key}, DisableStandaloneSSE: true,
	}, nil)
	s.try(err)
	if s.done() {
		return nil
	}
	defer func() { s.try(session.Close()) }()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool})
	s.try(err)
	if s.done() {
		return nil
	}
	answered, ok := result.StructuredContent.(map[string]any)
	s.expect(ok && !result.IsError, "the tool %s answers %v", tool, result.Content)
	s.print("  MCP %s with the key: total %v, pending %v, executed %v\n", tool, answered["total"], answered["pending"], answered["executed"])
	return answered
}

// withKey shows the key of MCP with each request.
type withKey struct {
	key  string
	next http.RoundTripper
}

func (w withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context()) // a transport leaves the request of its caller alone
	r.Header.Set("Authorization", "Bearer "+w.key)
	return w.next.RoundTrip(r)
}
