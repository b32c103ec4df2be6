package sperr

import (
	"fmt"
	"time"

	"sperrd/internal/werktag"
)

// termin is a DTM value: the Berlin day, and the instant where the value carried
// a time of day.
type termin struct {
	day     werktag.Date
	instant *time.Time
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
	t, err := parseInstant(s)
	if err != nil {
		return termin{}, err
	}
	t = t.UTC()
	return termin{day: werktag.BerlinDay(t), instant: &t}, nil
}

func parseInstant(s string) (time.Time, error) {
	const minutes = len("202608302200")
	if len(s) >= minutes && digits(s[:minutes], minutes) {
		if len(s) == minutes {
			return time.Parse("200601021504", s)
		}
		return time.Parse("200601021504-07", s)
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("is no date")
}
