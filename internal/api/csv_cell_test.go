package api_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"sperrd/internal/api"
)

func TestCell_is_one_line_and_no_formula(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         "",
		"Lindenallee 7":            "Lindenallee 7",
		"01067":                    "01067",
		"2026-09-07":               "2026-09-07",
		"Müller - Hof = links @ 2": "Müller - Hof = links @ 2",
		"a+b=c":                    "a+b=c",
		"d'Ester-Straße 3":         "d'Ester-Straße 3",

		`=HYPERLINK("http://x","y")`: `'=HYPERLINK("http://x","y")`,
		"=1+1":                       "'=1+1",
		"+49 30 1234":                "'+49 30 1234",
		"-2":                         "'-2",
		"-":                          "'-",
		"@SUM(A1)":                   "'@SUM(A1)",
		"  =1":                       "'  =1",
		"\t=1":                       "' =1",
		"\r=1":                       "' =1",
		"\n\n=1":                     "'  =1",
		"\"=1":                       "'\"=1",
		"'=1":                        "''=1",
		"„=1":                        "'„=1",
		"\u00A0=1":                   "'\u00A0=1",
		"\u200B=1":                   "'\u200B=1",
		"\uFEFF+1":                   "'\uFEFF+1",
		"\u202E=1":                   "'\u202E=1",
		"＝1":                         "'＝1",
		"＋1":                         "'＋1",
		"－1":                         "'－1",
		"＠A1":                        "'＠A1",
		"﹦1":                         "'﹦1",
		"−1":                         "'−1",

		"a;=1":             "a;'=1",
		"a, -1. Etage":     "a, '-1. Etage",
		"Tel., +49 30":     "Tel., '+49 30",
		"x | =1":           "x | '=1",
		"a;;@b":            "a;;'@b",
		";=1":              ";'=1",
		"=1;=2;\"=3,b,+4":  "'=1;'=2;\"'=3,b,'+4",
		"a\n=1":            "a =1",
		"Tor 2\r\nHof\vx":  "Tor 2 Hof x",
		"a\u2028b\u2029c":  "a b c",
		"a\u0085b\x1b[31m": "a b [31m",
	} {
		if got := api.Cell(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// wantNoFormula cuts a line as no reader of CSV would: by each separator that a spreadsheet
// may be set to, wherever it stands.
func wantNoFormula(t *testing.T, line string) {
	t.Helper()
	for _, separator := range []string{",", ";", "|", "\t", "\r", "\n"} {
		for part := range strings.SplitSeq(line, separator) {
			shown := strings.TrimLeftFunc(part, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '"' })
			if shown != "" && strings.ContainsRune("=+-@＝＋－＠", []rune(shown)[0]) {
				t.Fatalf("cut by %q, the line %q has a formula", separator, line)
			}
		}
	}
}

func TestCell_is_no_formula_wherever_a_line_is_cut(t *testing.T) {
	t.Parallel()
	alphabet := []rune("=+-@＝＋－＠,;|\"' \t\r\n\u200B\u00A0aä1")
	for range 20_000 {
		text := make([]rune, rand.IntN(12))
		for i := range text {
			text[i] = alphabet[rand.IntN(len(alphabet))]
		}
		wantNoFormula(t, strings.ReplaceAll(api.Cell(string(text)), `"`, `""`))
		wantNoFormula(t, `"`+strings.ReplaceAll(api.Cell(string(text)), `"`, `""`)+`"`)
	}
}
