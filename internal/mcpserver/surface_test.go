package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// wantGolden compares what others parse with a file in testdata.
func wantGolden(t *testing.T, name string, got any) {
	t.Helper()
	var pretty bytes.Buffer
	encoder := json.NewEncoder(&pretty)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(got); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, pretty.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(golden), pretty.String()); diff != "" {
		t.Errorf("%s (-golden +got):\n%s", name, diff)
	}
}

func TestTools_read_as_their_golden_file(t *testing.T) {
	t.Parallel()
	list, err := connect(t, newBench(t).url).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	wantGolden(t, "tools.json", list.Tools)
}

func TestPrompts_read_as_their_golden_file(t *testing.T) {
	t.Parallel()
	session := connect(t, newBench(t).url)
	list, err := session.ListPrompts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{"list": list.Prompts}
	for _, p := range list.Prompts {
		got[p.Name] = prompt(t, session, p.Name)
	}
	wantGolden(t, "prompts.json", got)
}

func TestTools_declare_that_they_only_read(t *testing.T) {
	t.Parallel()
	list, err := connect(t, newBench(t).url).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) != 4 {
		t.Errorf("%d tools, want 4", len(list.Tools))
	}
	for _, tool := range list.Tools {
		a := tool.Annotations
		if a == nil || !a.ReadOnlyHint || a.OpenWorldHint == nil || *a.OpenWorldHint || a.DestructiveHint == nil || *a.DestructiveHint {
			t.Errorf("%s: annotations %+v, want read-only and closed", tool.Name, a)
		}
		if tool.Title == "" || tool.Description == "" {
			t.Errorf("%s has no title or no description", tool.Name)
		}
	}
}

func TestServer_offers_tools_and_prompts_and_nothing_else(t *testing.T) {
	t.Parallel()
	result := connect(t, newBench(t).url).InitializeResult()
	want := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Prompts: &mcp.PromptCapabilities{}}
	if diff := cmp.Diff(want, result.Capabilities); diff != "" {
		t.Errorf("capabilities (-want +got):\n%s", diff)
	}
	if result.ServerInfo.Name != "sperrd" || result.ServerInfo.Version != "v1.2.3" || result.Instructions == "" {
		t.Errorf("server %+v, instructions %q", result.ServerInfo, result.Instructions)
	}
}
