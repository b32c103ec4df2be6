package config

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Secret holds a value that must not reach a log, an error or an output.
// Whatever prints it prints a fixed text; only Reveal gives the value.
type Secret struct {
	value string
}

// NewSecret returns a Secret that holds value.
func NewSecret(value string) Secret { return Secret{value: value} }

// Reveal returns the value, for the one place that needs it.
func (s Secret) Reveal() string { return s.value }

// String returns a fixed text in the place of the value.
func (Secret) String() string { return redacted }

// GoString returns a fixed text in the place of the value.
func (Secret) GoString() string { return redacted }

// Format writes a fixed text for every verb: without it a verb that does not
// ask for a string, such as %d, would reach the field by reflection.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalJSON returns a fixed text in the place of the value.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// LogValue returns a fixed text in the place of the value.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
