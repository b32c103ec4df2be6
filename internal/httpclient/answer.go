package httpclient

import (
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Clean makes a text from outside safe to store and to show on one line: valid
// UTF-8, no control or invisible formatting characters, blanks collapsed, at most
// limit characters, the last of which is … if the text was longer. limit is at
// least 1. A secret has to be removed before: once it is cut or its blanks are
// collapsed, nobody recognises it.
func Clean(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}

// RetryAfter reads the value of a Retry-After header, seconds or an HTTP date
// (RFC 9110, 10.2.3), as the wait from now. A date that has passed is a wait of 0.
// An absent or unreadable value is no wish at all: not ok. A wait can be many
// years; what is reasonable, the caller knows.
func RetryAfter(value string, now time.Time) (wait time.Duration, ok bool) {
	value = strings.TrimSpace(value)
	// 31 bits of seconds, 68 years, fit into a Duration.
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return max(at.Sub(now), 0), true
}
