package werktag

import (
	_ "embed"
	"time"
)

// berlinZone is the compiled Europe/Berlin entry of the IANA time zone
// database, release 2025c. It is part of the program because time.LoadLocation
// prefers what ZONEINFO or the machine offers, and neither a missing nor an
// outdated zone file may move a Frist.
//
//go:embed berlin.tzif
var berlinZone []byte

// The error is dropped because it cannot differ from one run to the next: the
// bytes are compiled in, and the tests fail if they do not parse.
var berlin, _ = time.LoadLocationFromTZData("Europe/Berlin", berlinZone)

// Berlin returns the zone of legal German time. It never returns nil.
func Berlin() *time.Location { return berlin }

// BerlinDay returns the day to which an instant belongs in legal German time,
// whatever zone t is written in. In the last one (winter) or two (summer) hours
// of a UTC day that is already the next day.
func BerlinDay(t time.Time) Date {
	return dateOf(t.In(berlin))
}

// Start returns the instant at which d begins, 00:00 in legal German time. The
// day ends where d.AddDays(1) starts, which is 23 or 25 hours later on the days
// on which the clocks change. The zero Date starts at the zero time.Time.
func (d Date) Start() time.Time {
	if d.IsZero() {
		return time.Time{}
	}
	return time.Date(d.year, d.month, d.day, 0, 0, 0, 0, berlin)
}
