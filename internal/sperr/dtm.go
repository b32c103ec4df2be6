package sperr

import (
	"errors"
	"regexp"
	"time"

	"sperrd/internal/werktag"
)

// termin is a DTM value: the Berlin day, and the instant where the value carried
// a time of day.
type termin struct {
	day     werktag.Date
	instant *time.Time
	guessed bool // a form that is to name an offset names none, and was read as UTC
}

// parseDTM reads the value of a DTM+203 or DTM+469 in every form a market event
// uses: a local day (20260901, 2026-09-01), which is taken as it stands, or an
// instant (202608302200, 202608302200+00, RFC 3339), whose day is the Berlin day.
// An instant without zone is UTC, as EDI@Energy has it (AHB condition [931]).
func parseDTM(s string) (termin, error) {
	switch {
	case digits(s, 8):
		day, err := werktag.ParseDate(s[:4] + "-" + s[4:6] + "-" + s[6:])
		return termin{day: day}, err
	case len(s) == len("2026-09-01"):
		day, err := werktag.ParseDate(s)
		return termin{day: day}, err
	}
	guessed := len(s) == len("2026-08-30T22:00:00") && s[10] == 'T'
	t, err := parseInstant(s)
	if err != nil {
		return termin{}, err
	}
	t = t.UTC()
	return termin{day: werktag.BerlinDay(t), instant: &t, guessed: guessed}, nil
}

func parseInstant(s string) (time.Time, error) {
	const minutes = len("202608302200")
	if len(s) >= minutes && digits(s[:minutes], minutes) {
		if len(s) == minutes {
			return time.Parse("200601021504", s)
		}
		return time.Parse("200601021504-07", s)
	}
	if len(s) == len("2026-08-30T22:00:00") {
		s += "Z"
	}
	return parseRFC3339(s)
}

// rfc3339 is strict where time.Parse is not: it has no hour of one digit, no comma and
// no offset of a day.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

func parseRFC3339(s string) (time.Time, error) {
	if !rfc3339.MatchString(s) {
		return time.Time{}, errors.New("is no RFC 3339 time with an offset")
	}
	return time.Parse(time.RFC3339, s)
}
