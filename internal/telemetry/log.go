// Package telemetry is how the service speaks to those who run it: the log, of which
// it decides the form and never the content, and the metrics, of which it decides what
// there is to count and never what happened, and the traces.
package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// NewLogger returns a logger that writes to w, one record a line, with every
// time in UTC, so that lines of hosts in different zones sort as they happened.
// format is "json" or "text"; level is the least that is written: "debug",
// "info", "warn" or "error". The logger is safe for concurrent use.
func NewLogger(w io.Writer, format, level string) (*slog.Logger, error) {
	options := &slog.HandlerOptions{ReplaceAttr: inUTC}
	switch level {
	case "debug":
		options.Level = slog.LevelDebug
	case "info":
		options.Level = slog.LevelInfo
	case "warn":
		options.Level = slog.LevelWarn
	case "error":
		options.Level = slog.LevelError
	default:
		return nil, fmt.Errorf("unknown log level %q: must be debug, info, warn or error", level)
	}
	switch format {
	case "json":
		return slog.New(traceHandler{slog.NewJSONHandler(w, options)}), nil
	case "text":
		return slog.New(traceHandler{slog.NewTextHandler(w, options)}), nil
	default:
		return nil, fmt.Errorf("unknown log format %q: must be json or text", format)
	}
}

// traceHandler names in each line the trace that its context is in.
type traceHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h traceHandler) Handle(ctx context.Context, r slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h traceHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return traceHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h traceHandler) WithGroup(name string) slog.Handler {
	return traceHandler{h.Handler.WithGroup(name)}
}

// inUTC moves the record's time and every time among its attributes to UTC.
func inUTC(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindTime {
		a.Value = slog.TimeValue(a.Value.Time().UTC())
	}

	return a
}
