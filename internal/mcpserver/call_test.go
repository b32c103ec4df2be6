package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sperrd/internal/werktag"
)

// call makes a call that must succeed and returns its structured result, which must be
// the text too and match the schema that the server has declared.
func call(t *testing.T, session *mcp.ClientSession, tool string, arguments any) map[string]any {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	if result.IsError {
		t.Fatalf("%s: error %s", tool, textOf(t, result))
	}
	structured, ok := result.StructuredContent.(map[string]any)
	if !ok {
		t.Fatalf("%s: structured content is %T", tool, result.StructuredContent)
	}
	var text map[string]any
	if err := json.Unmarshal([]byte(textOf(t, result)), &text); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(structured, text); diff != "" {
		t.Errorf("%s: the text is another document (-structured +text):\n%s", tool, diff)
	}
	checkSchema(t, outputSchema(t, session, tool), structured)
	return structured
}

func textOf(t *testing.T, result *mcp.CallToolResult) string {
	t.Helper()
	if len(result.Content) != 1 {
		t.Fatalf("%d content items, want 1", len(result.Content))
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("content is %T, want text", result.Content[0])
	}
	return text.Text
}

// wantFault makes a call that must be a tool error with exactly this text.
func wantFault(t *testing.T, session *mcp.ClientSession, tool string, arguments any, text string) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	if got := textOf(t, result); !result.IsError || got != text {
		t.Errorf("%s %.200v: is error %t, text %q, want %q", tool, arguments, result.IsError, got, text)
	}
	if result.StructuredContent != nil {
		t.Errorf("%s %.200v: structured content %v, want none", tool, arguments, result.StructuredContent)
	}
}

func outputSchema(t *testing.T, session *mcp.ClientSession, name string) *jsonschema.Schema {
	t.Helper()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list.Tools, func(tool *mcp.Tool) bool { return tool.Name == name })
	raw, err := json.Marshal(list.Tools[i].OutputSchema)
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	return &schema
}

// checkSchema validates a result, its formats, and that it has no member which the
// schema does not name: a column that is added gets its description.
func checkSchema(t *testing.T, schema *jsonschema.Schema, result any) {
	t.Helper()
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(result); err != nil {
		t.Errorf("the result does not match its schema: %v", err)
	}
	checkFormats(t, "", schema, result)
}

func checkFormats(t *testing.T, place string, schema *jsonschema.Schema, value any) {
	t.Helper()
	switch v := value.(type) {
	case map[string]any:
		for name, element := range v {
			if schema.Properties[name] == nil {
				t.Errorf("the schema does not name %s.%s", place, name)
				continue
			}
			checkFormats(t, place+"."+name, schema.Properties[name], element)
		}
	case []any:
		for i, element := range v {
			checkFormats(t, fmt.Sprintf("%s[%d]", place, i), schema.Items, element)
		}
	case string:
		if err := checkFormat(schema.Format, v); err != nil {
			t.Errorf("%s: %v", place, err)
		}
	}
}

func checkFormat(format, value string) (err error) {
	switch format {
	case "":
		// What looks like a date or an instant must be declared as one.
		_, notDay := werktag.ParseDate(value)
		_, notInstant := time.Parse(time.RFC3339, value)
		if notDay == nil || notInstant == nil {
			err = fmt.Errorf("%q is a date without a format", value)
		}
	case "date":
		_, err = werktag.ParseDate(value)
	case "date-time":
		_, err = time.Parse("2006-01-02T15:04:05.999999999Z", value)
	case "uuid":
		_, err = uuid.Parse(value)
	default:
		err = fmt.Errorf("format %q is not one of ours", format)
	}
	return err
}
