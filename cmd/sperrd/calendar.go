package main

import (
	"fmt"
	"time"

	"sperrd/internal/config"
	"sperrd/internal/werktag"
)

// calendarOf is the calendar that every Frist of this service is counted on.
func calendarOf(c *config.Config) *werktag.Calendar {
	return werktag.BDEW().With(c.Frist.ExtraHolidays)
}

// calendar warns in the last two years, in which Fristen begin to run out of it, and of
// extra holidays without effect, which are most likely mistyped.
func (f *findings) calendar(cfg *config.Config, now time.Time) {
	const what = "calendar"
	text := fmt.Sprintf("BDEW-Werktage until the end of %d", werktag.LastYear)
	switch extra := len(cfg.Frist.ExtraHolidays); extra {
	case 0:
	case 1:
		text += ", and 1 extra holiday"
	default:
		text += fmt.Sprintf(", and %d extra holidays", extra)
	}
	left := werktag.LastYear - now.In(werktag.Berlin()).Year()
	switch {
	case left < 0:
		f.fail(what, text+": no Frist can be counted any more, install a newer version")
	case left < 2:
		f.warn(what, text+": install a newer version before then")
	default:
		f.ok(what, text)
	}
	for _, day := range cfg.Frist.ExtraHolidays {
		if reason := werktag.BDEW().Reason(day); reason != "" {
			f.warn(what, fmt.Sprintf("frist.extra_holidays: %s is no Werktag anyway: %s", day, reason))
		}
	}
}
