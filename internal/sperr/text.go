package sperr

import (
	"fmt"
	"strings"
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

// latin1Warning names the characters that EDIFACT will not carry: EDI@Energy
// uses syntax UNOC version 3, which is ISO 8859-1.
func latin1Warning(field, s string) []string {
	var outside []string
	seen := map[rune]bool{}
	for _, r := range s {
		if r > 0xFF && !seen[r] {
			seen[r] = true
			outside = append(outside, fmt.Sprintf("%q (%U)", string(r), r))
		}
	}
	if outside == nil {
		return nil
	}
	const most = 10
	if more := len(outside) - most; more > 0 {
		outside = append(outside[:most], fmt.Sprintf("and %d more", more))
	}
	return []string{fmt.Sprintf("%s has characters outside ISO 8859-1, which EDIFACT does not carry: %s", field, strings.Join(outside, ", "))}
}
