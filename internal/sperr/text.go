package sperr

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// nullable is nil for the empty string.
func nullable(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// text is the empty string for nil.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// truncate keeps the first n characters of s.
func truncate(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

// maxFreeText is the room of one FTX segment: DE4440 an..512, five times (C108).
const maxFreeText = 2560

// checkText refuses what cannot be stored (NUL) or sent (too long). Limits are
// characters, not bytes.
func checkText(v *ValidationError, field, s string, limit int) {
	if strings.ContainsRune(s, 0) {
		v.add(field, "contains a NUL character")
	}
	if n := utf8.RuneCountInString(s); n > limit {
		v.add(field, fmt.Sprintf("has %d characters, at most %d fit into the message", n, limit))
	}
}

// cleanMarketText makes a text of a market event storable: NUL is removed, what
// is too long is cut, and a warning tells of each.
func cleanMarketText(field, s string, limit int) (string, []string) {
	var warnings []string
	if strings.ContainsRune(s, 0) {
		s = strings.ReplaceAll(s, "\x00", "")
		warnings = append(warnings, "NUL characters were removed from "+field)
	}
	if n := utf8.RuneCountInString(s); n > limit {
		s = string([]rune(s)[:limit])
		warnings = append(warnings, fmt.Sprintf("%s had %d characters and was cut to %d", field, n, limit))
	}
	return s, append(warnings, latin1Warning(field, s)...)
}

// isBlank reports whether nobody sees anything in s: blanks, control characters and the
// like are no reason.
func isBlank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) && !isInvisible(r) })
}

// latin1Warning names the characters that EDIFACT will not carry. EDI@Energy uses syntax
// UNOC version 3, which is ISO 8859-1, and that has no control characters; line ends and
// tabs are for the converter to place.
func latin1Warning(field, s string) []string {
	var outside, controls []string
	seen := map[rune]bool{}
	for _, r := range s {
		switch {
		case seen[r] || r == '\t' || r == '\r' || r == '\n':
		case unicode.IsControl(r):
			controls = append(controls, fmt.Sprintf("%U", r))
		case r > 0xFF:
			outside = append(outside, shownRune(r))
		}
		seen[r] = true
	}
	var warnings []string
	if outside != nil {
		warnings = append(warnings, field+" has characters outside ISO 8859-1, which EDIFACT does not carry: "+firstOf(outside))
	}
	if controls != nil {
		warnings = append(warnings, field+" has control characters, which EDIFACT does not carry: "+firstOf(controls))
	}
	return warnings
}

// firstOf lists the first ten, and how many more there are.
func firstOf(list []string) string {
	const most = 10
	if more := len(list) - most; more > 0 {
		list = append(list[:most:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
}

// shownRune is r as a warning names it: with its code point, and as itself only where that
// neither hides nor turns the text around it.
func shownRune(r rune) string {
	if !unicode.IsPrint(r) || isInvisible(r) || unicode.In(r, unicode.M) || runsLeft(r) {
		return fmt.Sprintf("%U", r)
	}
	return fmt.Sprintf("%q (%U)", string(r), r)
}

// isInvisible reports whether r shows nothing although Unicode counts it as graphic:
// fillers, selectors and what else is to be ignored where it is not known.
func isInvisible(r rune) bool {
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) || r == '\u2800' // a Braille cell without dots
}

// runsLeft reports whether r is of a script written from right to left, by the blocks
// that Unicode keeps for those.
func runsLeft(r rune) bool {
	return 0x590 <= r && r <= 0x8FF || 0xFB1D <= r && r <= 0xFDFF || 0xFE70 <= r && r <= 0xFEFF ||
		0x10800 <= r && r <= 0x10FFF || 0x1E800 <= r && r <= 0x1EFFF
}
