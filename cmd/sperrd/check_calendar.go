package main

import (
	"fmt"
	"time"

	"sperrd/internal/config"
	"sperrd/internal/werktag"
)

// calendar warns in the last two years, in which Fristen begin to run out of it, and of
// extra holidays without effect, which are most likely mistyped.
func (f *findings) calendar(cfg *config.Config, now time.Time) {
	const what = "calendar"
	text := fmt.Sprintf("BDEW-Werktage until the end of %d", werktag.LastYear) + extraHolidays(cfg.Frist.ExtraHolidays, werktag.BerlinDay(now))
	left := werktag.LastYear - now.In(werktag.Berlin()).Year()
	switch {
	case left < 0:
		f.fail(what, text, "no Frist can be counted any more, install a newer version")
	case left < 2:
		f.warn(what, text, "install a newer version before then")
	default:
		f.ok(what, text)
	}
	for _, day := range cfg.Frist.ExtraHolidays {
		if reason := werktag.BDEW().Reason(day); reason != "" {
			f.warn(what, fmt.Sprintf("frist.extra_holidays: %s is no Werktag anyway: %s", day, reason), "correct it, or remove it")
		}
	}
}

// extraHolidays says how many there are. Those that lie behind still count wherever a Frist
// around them is explained.
func extraHolidays(days []werktag.Date, today werktag.Date) string {
	past := 0
	for _, day := range days {
		if day.Before(today) {
			past++
		}
	}
	var text string
	switch len(days) {
	case 0:
		return ""
	case 1:
		text = ", and 1 extra holiday"
	default:
		text = fmt.Sprintf(", and %d extra holidays", len(days))
	}
	if past > 0 {
		text += fmt.Sprintf(", %d in the past", past)
	}
	return text
}

// zoneName is the zone of legal German time.
const zoneName = "Europe/Berlin"

// berlin looks at the zone that this program counts its days in.
func (f *findings) berlin() { f.zone(werktag.Berlin()) }

func (f *findings) zone(zone *time.Location) {
	const what = "zone"
	_, winter := time.Date(2026, time.January, 15, 12, 0, 0, 0, zone).Zone()
	_, summer := time.Date(2026, time.July, 15, 12, 0, 0, 0, zone).Zone()
	if zone.String() != zoneName || winter != 3600 || summer != 7200 {
		f.fail(what, fmt.Sprintf("this program takes %s for legal German time, %d s ahead of UTC in winter and %d s in summer", zone, winter, summer),
			"install another build, days and Fristen are wrong")
		return
	}
	f.ok(what, "this program counts days in "+zoneName)
}

// zoneSamples are instants at which two releases of the zone data may differ: the middle of
// winter and summer, and each change of the clocks to the second.
func zoneSamples(first, last int) []time.Time {
	var samples []time.Time
	for year := first; year <= last; year++ {
		for _, month := range []time.Month{time.January, time.July} {
			samples = append(samples, time.Date(year, month, 1, 12, 0, 0, 0, time.UTC))
		}
		// The last Sunday, 01:00 UTC: directive 2000/84/EC, articles 2 and 3.
		for _, month := range []time.Month{time.March, time.October} {
			change := time.Date(year, month, 31, 1, 0, 0, 0, time.UTC)
			change = change.AddDate(0, 0, -int(change.Weekday()))
			samples = append(samples, change.Add(-time.Second), change)
		}
	}
	return samples
}

// sameZone judges what the database knows of the zone, in which the reset of an outcome by
// SQL finds today.
func (f *findings) sameZone(samples []time.Time, offsets []time.Duration) {
	const what = "zone"
	for i, at := range samples {
		_, ours := at.In(werktag.Berlin()).Zone()
		if theirs := offsets[i]; theirs != time.Duration(ours)*time.Second {
			f.warn(what, fmt.Sprintf("the database is %s ahead of UTC in %s at %s, this program %s", theirs, zoneName, at.Format(time.RFC3339), time.Duration(ours)*time.Second),
				"update the server's time zone data (tzdata) and restart it")
			return
		}
	}
	f.ok(what, fmt.Sprintf("the database has the same %s from %d to %d", zoneName, werktag.FirstYear, werktag.LastYear))
}
