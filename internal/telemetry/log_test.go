package telemetry

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// berlin is a fixed offset: the test needs another zone, not its name.
var berlin = time.FixedZone("CEST", 2*60*60)

func record(level slog.Level, message string) slog.Record {
	r := slog.NewRecord(time.Date(2026, 9, 1, 0, 30, 0, 0, berlin), level, message, 0)
	r.AddAttrs(slog.Time("seit", time.Date(2026, 8, 31, 23, 0, 0, 0, berlin)), slog.String("order", "7f3"))

	return r
}

func TestNewLogger_json_is_one_object_a_line_with_times_in_UTC(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, err := NewLogger(&out, "json", "info")
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Handler().Handle(t.Context(), record(slog.LevelInfo, "order queued")); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v in %q", err, out.String())
	}
	want := map[string]any{
		"time": "2026-08-31T22:30:00Z", "level": "INFO", "msg": "order queued", "seit": "2026-08-31T21:00:00Z", "order": "7f3",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
	if strings.Count(out.String(), "\n") != 1 {
		t.Errorf("%q is not one line", out.String())
	}
}

func TestNewLogger_text_has_times_in_UTC(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, err := NewLogger(&out, "text", "info")
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Handler().Handle(t.Context(), record(slog.LevelInfo, "order queued")); err != nil {
		t.Fatal(err)
	}
	want := `time=2026-08-31T22:30:00.000Z level=INFO msg="order queued" seit=2026-08-31T21:00:00.000Z order=7f3` + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
}

func TestNewLogger_writes_from_its_level_on(t *testing.T) {
	t.Parallel()
	levels := []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}
	for i, name := range []string{"debug", "info", "warn", "error"} {
		log, err := NewLogger(&bytes.Buffer{}, "json", name)
		if err != nil {
			t.Fatal(err)
		}
		for j, level := range levels {
			if got, want := log.Enabled(t.Context(), level), j >= i; got != want {
				t.Errorf("level %s writes %s: %t; want %t", name, level, got, want)
			}
		}
	}
}

func TestNewLogger_refuses_what_it_does_not_know(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"xml", "info"}, {"", "info"}, {"json", "verbose"}, {"json", ""}, {"json", "INFO"}} {
		if log, err := NewLogger(&bytes.Buffer{}, c[0], c[1]); err == nil || log != nil {
			t.Errorf("NewLogger(%q, %q) = %v, %v; want an error", c[0], c[1], log, err)
		}
	}
}
