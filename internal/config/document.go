package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// document is a configuration file while it is read. Every accessor takes one
// key and records what is wrong with it instead of returning it; what no
// accessor has asked for in the end is unknown to this version.
//
// Values are looked up by their exact spelling in a map, since decoding into a
// struct would take PORT for port.
type document struct {
	values   map[string]any
	lines    map[string]int    // where each key stands
	sources  map[string]string // where each reference leads
	asked    map[string]bool
	env      getenv
	problems []Problem
}

// sections are the tables of the file. Their fields stay empty on purpose: see
// keyLines.
type sections struct {
	Database    struct{} `toml:"database"`
	OIDC        struct{} `toml:"oidc"`
	MCP         struct{} `toml:"mcp"`
	Log         struct{} `toml:"log"`
	IFTSTA      struct{} `toml:"iftsta"`
	Frist       struct{} `toml:"frist"`
	Outbox      struct{} `toml:"outbox"`
	Idempotency struct{} `toml:"idempotency"`
	Tracing     struct{} `toml:"tracing"`
	Retention   struct{} `toml:"retention"`
}

// parse reads content. A file that is not TOML, or that has a key twice, is one
// problem with its place.
func parse(content []byte, env getenv) (*document, *Problem) {
	d := &document{lines: keyLines(content), sources: make(map[string]string), asked: make(map[string]bool), env: env}
	err := toml.Unmarshal(content, &d.values)
	if err == nil {
		return d, nil
	}
	problem := &Problem{Text: "not valid TOML"}
	var at *toml.DecodeError
	if errors.As(err, &at) {
		problem.Line, _ = at.Position()
		problem.Key = strings.Join(at.Key(), ".")
		// The library's rendering of the place would show the lines around it,
		// and a number it cannot read is quoted in its text: either may be a
		// secret without its quotes.
		text, _, _ := strings.Cut(strings.TrimPrefix(at.Error(), "toml: "), ": strconv.")
		problem.Text += ": " + text
	}

	return nil, problem
}

// keyLines returns the line of every key and section. A strict decoder reports,
// with its place, each key that its target has no field for: the first target
// has none for anything, the second one for the sections only. A file that does
// not parse has no lines.
func keyLines(content []byte) map[string]int {
	lines := make(map[string]int)
	for _, target := range []any{new(struct{}), new(sections)} {
		var missing *toml.StrictMissingError
		err := toml.NewDecoder(bytes.NewReader(content)).DisallowUnknownFields().Decode(target)
		if !errors.As(err, &missing) {
			continue
		}
		for i := range missing.Errors {
			key := strings.Join(missing.Errors[i].Key(), ".")
			if _, again := lines[key]; !again {
				lines[key], _ = missing.Errors[i].Position()
			}
		}
	}

	return lines
}

func (d *document) report(key, format string, args ...any) {
	d.problems = append(d.problems, Problem{
		Key: key, Line: d.line(key), Source: d.sources[key], Text: fmt.Sprintf(format, args...),
	})
}

// line returns where a key stands, 0 when it does not. A key of an inline table
// stands where the table does, and a section that is written with dotted keys
// where the first of them does.
func (d *document) line(key string) int {
	if line := d.lines[key]; line > 0 {
		return line
	}
	if section, _, nested := strings.Cut(key, "."); nested {
		if _, there := d.find(key); there {
			return d.lines[section]
		}
	}
	first := 0
	for other, line := range d.lines {
		if strings.HasPrefix(other, key+".") && (first == 0 || line < first) {
			first = line
		}
	}

	return first
}

// find returns the value of a key such as "port" or "database.url".
func (d *document) find(key string) (value any, ok bool) {
	values := d.values
	if section, name, nested := strings.Cut(key, "."); nested {
		values, _ = d.values[section].(map[string]any)
		key = name
	}
	value, ok = values[key]

	return value, ok
}

// reportUnknown records every key that no accessor has asked for. A whole
// unknown section is one problem.
func (d *document) reportUnknown() {
	for _, key := range slices.Sorted(maps.Keys(d.values)) {
		isSection := d.askedWithin(key)
		table, isTable := d.values[key].(map[string]any)
		switch {
		case isSection && isTable:
			for _, name := range slices.Sorted(maps.Keys(table)) {
				if full := key + "." + name; !d.asked[full] {
					d.report(full, "unknown key")
				}
			}
		case isSection:
			d.report(key, "must be one section, [%s]", key)
		case !d.asked[key] && isTable:
			d.report(key, "unknown section")
		case !d.asked[key] || strings.Contains(key, "."): // "log.level" in quotes is not level of [log]
			d.report(key, "unknown key")
		}
	}
}

// askedWithin says whether this version knows a section of that name.
func (d *document) askedWithin(section string) bool {
	for key := range d.asked {
		if strings.HasPrefix(key, section+".") {
			return true
		}
	}

	return false
}
