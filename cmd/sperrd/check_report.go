package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// The levels of a finding. What warns works today and needs a human; what fails does not
// work.
const (
	levelOK   = "ok"
	levelWarn = "warn"
	levelFail = "fail"
)

// finding is one thing that was looked at. No member holds a secret.
type finding struct {
	Level string `json:"level"`
	What  string `json:"what"` // a fixed word for what was looked at; several findings may share it
	Text  string `json:"text"` // how it is
	Todo  string `json:"todo"` // what to do; may be empty for what is ok
}

// findings collects what a part of a check finds, in its order.
type findings struct{ list []finding }

func (f *findings) ok(what, text string)         { f.add(levelOK, what, text, "") }
func (f *findings) note(what, text, todo string) { f.add(levelOK, what, text, todo) }
func (f *findings) warn(what, text, todo string) { f.add(levelWarn, what, text, todo) }
func (f *findings) fail(what, text, todo string) { f.add(levelFail, what, text, todo) }

func (f *findings) add(level, what, text, todo string) {
	f.list = append(f.list, finding{Level: level, What: what, Text: printable(text), Todo: printable(todo)})
}

// printable makes a text that quotes others fit for a line on a terminal, which obeys
// some characters that do not print.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, oneLine(text))
}

// verdict is the outcome of a check.
type verdict struct {
	OK       bool      `json:"ok"` // nothing fails, and nothing warns where that is asked for
	Version  string    `json:"version"`
	Findings []finding `json:"findings"`
}

// newVerdict judges findings; strict takes warnings for failures.
func newVerdict(list []finding, strict bool) verdict {
	v := verdict{OK: true, Version: versionText(), Findings: list}
	for _, f := range list {
		if f.Level == levelFail || strict && f.Level == levelWarn {
			v.OK = false
		}
	}
	return v
}

// writeText writes a line for each finding.
func (v verdict) writeText(out io.Writer) error {
	for _, f := range v.Findings {
		text := f.Text
		if f.Todo != "" {
			text += ": " + f.Todo
		}
		if _, err := fmt.Fprintf(out, "%-4s  %-13s  %s\n", f.Level, f.What, text); err != nil {
			return err
		}
	}
	return nil
}

// writeJSON writes one document.
func (v verdict) writeJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
