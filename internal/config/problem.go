package config

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that stops the start.
type Problem struct {
	// Key is the key as the file has it, with its section: "database.url".
	// It is empty where the file cannot be read as TOML.
	Key string
	// Line is where the key stands, counted from 1; 0 when it does not stand
	// in the file.
	Line int
	// Source is where a reference leads: "environment variable SPERRD_X" or
	// "file /run/secrets/x". It is empty for a value that stands in the file.
	Source string
	// Text says what is wrong. It never holds the value of a key.
	Text string
}

func (p Problem) String() string {
	var b strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", p.Line)
	}
	if p.Key != "" {
		b.WriteString(p.Key)
		if p.Source != "" {
			fmt.Fprintf(&b, " (%s)", p.Source)
		}
		b.WriteString(": ")
	}

	return b.String() + p.Text
}

// Error is everything that is wrong with a configuration file, so that an
// operator mends it in one go.
type Error struct {
	// Path is the file.
	Path string
	// Problems are in the order of the lines, keys that are missing last.
	Problems []Problem
}

func (e *Error) Error() string {
	lines := make([]string, 0, len(e.Problems)+1)
	lines = append(lines, fmt.Sprintf("configuration file %s cannot be used:", e.Path))
	for _, p := range e.Problems {
		lines = append(lines, "  "+p.String())
	}

	return strings.Join(lines, "\n")
}

// newError returns nil when there is no problem.
func newError(path string, problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		switch {
		case a.Line == b.Line:
			return 0
		case a.Line == 0:
			return 1
		case b.Line == 0:
			return -1
		default:
			return a.Line - b.Line
		}
	})

	return &Error{Path: path, Problems: problems}
}
