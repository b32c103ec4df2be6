package api

import (
	"strings"
	"unicode"
)

// A spreadsheet computes a cell that begins with one of these, whoever has written it. The
// wide and small forms become the plain ones in some of them.
const formulaSigns = "=+-@" + "\uFF1D\uFF0B\uFF0D\uFF20" + "\uFE66\uFE62\uFE63\uFE6B" + "\u2212"

// cellEnds are where a spreadsheet that is told so, or set to another country, cuts a line
// into cells, quoted or not.
const cellEnds = ",;|"

// cell makes text of the market fit for a spreadsheet and one line. Line ends and other
// control characters become a blank. An apostrophe stands before a cell that would be a
// formula, and before the sign of one wherever another cell might begin: a spreadsheet
// takes the rest for text then.
func cell(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ReplaceAll(text, "\r\n", "\n"))
	var safe strings.Builder
	first, begun, written := true, false, 0
	for i, r := range text {
		switch {
		case strings.ContainsRune(cellEnds, r):
			first, begun = false, false
		case begun || isUnseen(r):
		case strings.ContainsRune(formulaSigns, r):
			if !first {
				safe.WriteString(text[written:i])
				written = i
			}
			safe.WriteByte('\'')
			begun = true
		default:
			begun = true
		}
	}
	safe.WriteString(text[written:])
	return safe.String()
}

// isUnseen reports whether a spreadsheet may skip r where it looks for a formula: blanks,
// quotes, and what shows nothing.
func isUnseen(r rune) bool {
	return unicode.IsSpace(r) || unicode.In(r, unicode.Pi, unicode.Pf, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point) ||
		strings.ContainsRune("\"'`\u201A\u201E\u00B4", r)
}
