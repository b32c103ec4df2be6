package config

import (
	"fmt"
	"time"

	"sperrd/internal/werktag"
)

const extraHolidays = "frist.extra_holidays"

func (d *document) frist() Frist {
	return Frist{
		ScanInterval:  d.interval("frist.scan_interval", time.Minute),
		ExtraHolidays: d.extraHolidays(),
	}
}

// extraHolidays returns the days of the list; none when the key is missing. A day
// that does not count as it is meant moves every Frist around it, so that nothing
// here is taken for something similar.
func (d *document) extraHolidays() []werktag.Date {
	raw, ok := d.lookup(extraHolidays)
	if !ok {
		return nil
	}
	list, isList := raw.([]any)
	if !isList {
		d.report(extraHolidays, `must be a list of days, such as ["2026-12-28"]`)
		return nil
	}
	var days []werktag.Date
	first := make(map[werktag.Date]int) // where each day stands first
	for i, entry := range list {
		element := fmt.Sprintf("%s[%d]", extraHolidays, i)
		d.lines[element] = d.line(extraHolidays)
		day, ok := d.extraHoliday(element, entry)
		if !ok {
			continue
		}
		if before, again := first[day]; again {
			d.report(element, "is the same day as %s[%d]", extraHolidays, before)
			continue
		}
		first[day] = i
		days = append(days, day)
	}

	return days
}

// extraHoliday returns one day, from the raw value of key.
func (d *document) extraHoliday(key string, raw any) (day werktag.Date, ok bool) {
	text, ok := d.resolveText(key, raw)
	if !ok {
		return werktag.Date{}, false
	}
	day, err := werktag.ParseDate(text)
	switch {
	case err != nil:
		d.report(key, "must be a day that exists, written YYYY-MM-DD")
	case !day.InCalendar():
		d.report(key, "must lie in the years of the calendar, %d to %d", werktag.FirstYear, werktag.LastYear)
	default:
		return day, true
	}

	return werktag.Date{}, false
}
