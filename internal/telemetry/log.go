// Package telemetry is how the service speaks to those who run it: the log, of which
// it decides the form and never the content, and the metrics, of which it decides what
// there is to count and never what happened.
package telemetry

import (
	"fmt"
	"io"
	"log/slog"
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
		return slog.New(slog.NewJSONHandler(w, options)), nil
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	default:
		return nil, fmt.Errorf("unknown log format %q: must be json or text", format)
	}
}

// inUTC moves the record's time and every time among its attributes to UTC.
func inUTC(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindTime {
		a.Value = slog.TimeValue(a.Value.Time().UTC())
	}

	return a
}
