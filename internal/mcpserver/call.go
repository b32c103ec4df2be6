package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sperrd/internal/postgres"
)

// databaseTimeout bounds the reads of one call, as it does for REST: a full pool
// answers with an error and not with a hang.
const databaseTimeout = 5 * time.Second

// What a model is told of a failure that is none of its own. The texts are fixed: what
// went wrong inside stands in the log alone.
const (
	textUnavailable = "The service is temporarily unavailable. Nothing was read; try again in a few seconds."
	textInternal    = "Internal error: the service has failed, and its log says why. Trying again will hardly help."
)

// tool is one entry of the table of tools. answer reads its arguments itself, since they
// need clearer words than a schema's, and returns what is marshalled as the result.
type tool struct {
	name, title, description string
	input, output            *jsonschema.Schema
	answer                   func(ctx context.Context, arguments jsontext.Value) (any, error)
}

func (t tool) definition() *mcp.Tool {
	no := false
	return &mcp.Tool{
		Name: t.name, Title: t.title, Description: t.description, InputSchema: t.input, OutputSchema: t.output,
		Annotations: &mcp.ToolAnnotations{
			Title: t.title, ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no,
		},
	}
}

// handle serves a tool and writes the line of its call. Arguments never get into it,
// since they name households.
func (s *server) handle(t tool) mcp.ToolHandler {
	return func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		started := time.Now()
		ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
		defer cancel()
		from := originOf(ctx)
		// A client that hangs up holds no connection to the database, whatever version
		// of the protocol it speaks; the SDK sees to the newest one only.
		defer context.AfterFunc(from.request, cancel)()
		result, err := run(ctx, t, jsontext.Value(request.Params.Arguments))
		level, attrs := slog.LevelInfo, []slog.Attr{slog.String("tool", t.name)}
		if err != nil {
			var cause bool
			result, level, cause = failed(err)
			if cause {
				attrs = append(attrs, slog.Any("error", err))
			}
		}
		attrs = append(attrs, slog.Bool("is_error", result.IsError), slog.Duration("duration", time.Since(started)))
		if from.id != "" {
			attrs = append(attrs, slog.String("request_id", from.id))
		}
		s.Logger.LogAttrs(ctx, level, "mcp call", attrs...)
		return result, nil
	}
}

// run answers one call. The SDK catches no panic, and a panic outside the goroutine of
// the HTTP request ends the process.
func run(ctx context.Context, t tool, arguments jsontext.Value) (result *mcp.CallToolResult, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	answer, err := t.answer(ctx, arguments)
	if err != nil {
		return nil, err
	}
	document, err := json.Marshal(answer)
	if err != nil {
		return nil, fmt.Errorf("marshal a result: %w", err)
	}
	return &mcp.CallToolResult{
		StructuredContent: jsontext.Value(document),
		// The same document once more, for clients that do not know the other.
		Content: []mcp.Content{&mcp.TextContent{Text: string(document)}},
	}, nil
}

// failed turns a failure into a result that a model can act on. cause says whether the
// failure itself belongs into the log.
func failed(err error) (result *mcp.CallToolResult, level slog.Level, cause bool) {
	text := textInternal
	level, cause = slog.LevelError, true
	if fault, ok := errors.AsType[*argumentError](err); ok {
		text, level, cause = fault.Error(), slog.LevelInfo, false
	} else if postgres.IsUnavailable(err) || errors.Is(err, context.Canceled) {
		// A client that has gone reads no answer; what it abandoned is not our failure.
		text, level = textUnavailable, slog.LevelWarn
	}
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}, level, cause
}
