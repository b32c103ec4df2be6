package sperr

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// falseClaims are the two statements that contradict GPKE Teil 2 § 3.5.1.2 Nr. 1,
// which gives the physical act six Werktage: that the window is a shorter one of
// two, and that the Festlegung leaves it open.
var falseClaims = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(2|zwei|two)[- ]?(Werktage?|WT)[- ]?(window|Fenster|Frist|deadline|limit)\b`),
	regexp.MustCompile(`(?i)\b(within|innerhalb von|binnen|window of|Frist von|at most|spätestens nach)\s+(2|zwei|two)[- ]?(Werktagen?|WT)\b`),
	regexp.MustCompile(`(?i)\b(2|zwei)[- ]Werktage\b`),
	regexp.MustCompile(`(?i)\b(GPKE|Festlegung)\b[^.\n]{0,60}\b(fix|set|state|name|prescribe|define|specif|impose|publish|give|know)\w*\s+(no|none|neither)\b`),
	regexp.MustCompile(`(?i)\b(GPKE|Festlegung)\b[^.\n]{0,60}\b(nennt|setzt|kennt|bestimmt|gibt|enthält|regelt)\b[^.\n]{0,30}\bkeine\b`),
	regexp.MustCompile(`(?i)\bno\b[^.\n]{0,30}\b(window|deadline|Frist)\b[^.\n]{0,30}\b(in|by|from)\b[^.\n]{0,10}\bGPKE\b`),
}

func claimsIn(text string) []string {
	var found []string
	for _, claim := range falseClaims {
		found = append(found, claim.FindAllString(text, -1)...)
	}
	return found
}

func TestNothingClaimsAFalseExecutionWindow(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	read := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			// Beside the project's own folders a user may keep others here, a whole module cache.
			own := path == root || filepath.Dir(path) != root || slices.Contains([]string{"cmd", "docs", "internal", "migrations", "policies"}, name)
			if !own {
				return filepath.SkipDir
			}
			return nil
		}
		isText := slices.Contains([]string{".go", ".md", ".sql", ".toml", ".yaml", ".yml", ".json", ".cedar", ".csv", ".txt", ".html"}, filepath.Ext(name))
		if !isText && name != "Makefile" && name != "Dockerfile" || name == "claims_test.go" {
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read++
		for _, claim := range claimsIn(string(raw)) {
			t.Errorf("%s claims %q", path, claim)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < 50 {
		t.Errorf("only %d files were read", read)
	}
}

func TestTheGuardKnowsAFalseClaim(t *testing.T) {
	t.Parallel()
	for _, claim := range []string{
		"executed within two Werktage of its arrival", "the 2-Werktage window", "a 2 WT window", "innerhalb von 2 WT",
		"GPKE fixes none", "GPKE Teil 2 sets no deadline for the act", "die GPKE nennt für die Ausführung keine Frist",
		"there is no WT window in GPKE",
	} {
		if claimsIn(claim) == nil {
			t.Errorf("%q passes", claim)
		}
	}
	for _, truth := range []string{
		"6 WT nach dem frühestmöglichen Sperrtermin", "termingebunden: 12 WT", "1 WT, then 2 replicas",
		"§ 3.5.2 names no Werktag count for an Entsperrung", strings.Repeat("two visits ", 2),
	} {
		if found := claimsIn(truth); found != nil {
			t.Errorf("%q is refused for %q", truth, found)
		}
	}
}
