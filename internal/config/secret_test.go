package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestSecret_prints_as_a_fixed_text_everywhere(t *testing.T) {
	t.Parallel()
	c := Config{
		MakodAPIKey:        NewSecret("hunter2"),
		InboundHMACSecrets: []Secret{NewSecret("hunter2")},
		Database:           Database{URL: NewSecret("hunter2")},
	}
	var printed bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%t"} {
		fmt.Fprintf(&printed, verb+"\n", c)
		fmt.Fprintf(&printed, verb+"\n", c.MakodAPIKey)
		fmt.Fprintf(&printed, verb+"\n", &c.MakodAPIKey)
	}
	fmt.Fprintln(&printed, c.MakodAPIKey.String(), c.MakodAPIKey.GoString())
	asJSON, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	printed.Write(asJSON)
	for _, h := range []slog.Handler{slog.NewJSONHandler(&printed, nil), slog.NewTextHandler(&printed, nil)} {
		slog.New(h).Info("started", "secret", c.MakodAPIKey, "config", c)
	}
	for _, leak := range []string{"hunter2", fmt.Sprintf("%x", "hunter2")} {
		if strings.Contains(printed.String(), leak) {
			t.Errorf("the secret is printed:\n%s", printed.String())
		}
	}
	if got := fmt.Sprintf("%v %s %d", c.MakodAPIKey, &c.MakodAPIKey, c.MakodAPIKey); got != "[redacted] [redacted] [redacted]" {
		t.Errorf("printed %q", got)
	}
	if got, err := json.Marshal(c.MakodAPIKey); err != nil || string(got) != `"[redacted]"` {
		t.Errorf("as JSON: %s, %v", got, err)
	}
	if got := slog.AnyValue(c.MakodAPIKey).Resolve(); got.Kind() != slog.KindString || got.String() != "[redacted]" {
		t.Errorf("as a log value: %v", got)
	}
	if got := c.MakodAPIKey.Reveal(); got != "hunter2" {
		t.Errorf("Reveal = %q", got)
	}
}
