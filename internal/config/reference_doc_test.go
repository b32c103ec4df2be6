package config

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// referenceRows are the rows of the reference: the text of the default by key.
func referenceRows(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	name := regexp.MustCompile("`([a-z_.]+)`")
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.HasPrefix(line, "| `") {
			continue
		}
		keys, defaults := name.FindAllStringSubmatch(cells[1], -1), strings.Split(cells[2], ", ")
		for i, key := range keys {
			if _, twice := rows[key[1]]; twice {
				t.Errorf("%s has two rows", key[1])
			}
			value := strings.Trim(cells[2], " `")
			if len(keys) > 1 && len(defaults) == len(keys) {
				value = strings.Trim(defaults[i], " `")
			}
			rows[key[1]] = value
		}
	}
	return rows
}

var exampleDefault = regexp.MustCompile(`(?m)^#?\[([a-z]+)\]$|^#?([a-z_]+) += +([^#\n]+?) *$`)

func TestReference_has_every_key_once_with_its_true_default(t *testing.T) {
	t.Parallel()
	d, problem := parse([]byte(shown.ReplaceAllString(exampleFile(t), "$1")), env())
	if problem != nil {
		t.Fatal(problem)
	}
	d.config()
	rows := referenceRows(t)
	for _, key := range slices.Sorted(maps.Keys(d.asked)) {
		if _, there := rows[key]; !there {
			t.Errorf("docs/configuration.md has no row for %s", key)
		}
	}
	for key := range rows {
		if !d.asked[key] {
			t.Errorf("docs/configuration.md has a row for %s, which nobody reads", key)
		}
	}
	// The example shows true defaults: another test holds it to that.
	section := ""
	compared := 0
	for _, line := range exampleDefault.FindAllStringSubmatch(exampleFile(t), -1) {
		if line[1] != "" {
			section = line[1] + "."
			continue
		}
		key, value := section+line[2], line[3]
		said, there := rows[key]
		if !there || strings.HasPrefix(said, "required") || said == "none" || strings.HasPrefix(said, "required,") {
			continue
		}
		if compared++; said != value {
			t.Errorf("%s: the reference says %s, the default is %s", key, said, value)
		}
	}
	if compared < 20 {
		t.Errorf("only %d defaults were compared", compared)
	}
}
