package sperr

import (
	"fmt"
	"time"
)

const (
	clockSkew = 30 * time.Second    // a field device may run this far ahead
	longAgo   = 30 * 24 * time.Hour // a report about an older visit is unusual
)

// fieldTime reads when a visit took place: RFC 3339 with an offset, never guessed,
// not after now. A device up to clockSkew ahead is taken for now, so that the
// completion never lies after the document (IFTSTA AHB 2.1, condition [495]). Nil is now.
func fieldTime(invalid *ValidationError, field string, value *string, now time.Time) time.Time {
	if value == nil {
		return now
	}
	t, err := parseRFC3339(*value)
	if err != nil || t.UTC().Year() < 1 {
		invalid.add(field, fmt.Sprintf("%q is no RFC 3339 time with an offset, such as 2026-11-30T12:00:00+01:00", truncate(*value, 40)))
		return now
	}
	if t.After(now.Add(clockSkew)) {
		invalid.add(field, fmt.Sprintf("lies more than %d s ahead of the clock of this service (Date of the answer): correct the time and report again", clockSkew/time.Second))
		return now
	}
	if t.After(now) {
		t = now
	}
	return t.UTC()
}

// fieldTimeWarnings are what is odd, but possible, about the time of a visit.
func fieldTimeWarnings(field string, at, now time.Time, o Order) []string {
	var warnings []string
	if at.Before(o.CreatedAt) {
		warnings = append(warnings, fmt.Sprintf("%s lies before the arrival of the order", field))
	}
	if now.Sub(at) > longAgo {
		warnings = append(warnings, fmt.Sprintf("%s lies more than 30 days before the report", field))
	}
	return warnings
}
