package werktag

import "time"

// holiday is one row of the calendar. A day is no Werktag if it is a public
// holiday of at least one Land, or one of the days the market adds itself (GPKE
// Teil 1 Kap. 7, glossary: Werktag).
type holiday struct {
	name string
	day  rule
	// first and last are the years in which the row is in force, both included;
	// 0 sets no bound within the calendar.
	first, last int
	// basis names the Laender whose law makes the holiday, or the market's rule, in
	// the words in which Reason tells it.
	basis string
}

const allLaender = "alle Länder"

// bdewHolidays is the whole calendar beside Saturdays and Sundays. A holiday
// that falls on a weekend is not moved. The Augsburg Friedensfest (8 August) is
// missing on purpose: it is the holiday of a city, not of a Land.
var bdewHolidays = []holiday{
	{name: "Neujahr", day: fixed(time.January, 1), basis: allLaender},
	{name: "Heilige Drei Könige", day: fixed(time.January, 6), basis: "BW, BY, ST"},
	{name: "Internationaler Frauentag", day: fixed(time.March, 8), first: 2019, last: 2022, basis: "BE"},
	{name: "Internationaler Frauentag", day: fixed(time.March, 8), first: 2023, basis: "BE, MV"},
	{name: "Karfreitag", day: easter(-2), basis: allLaender},
	{name: "Ostersonntag", day: easter(0), basis: "BB"},
	{name: "Ostermontag", day: easter(1), basis: allLaender},
	{name: "Tag der Arbeit", day: fixed(time.May, 1), basis: allLaender},
	{name: "Christi Himmelfahrt", day: easter(39), basis: allLaender},
	{name: "Pfingstsonntag", day: easter(49), basis: "BB"},
	{name: "Pfingstmontag", day: easter(50), basis: allLaender},
	{name: "Fronleichnam", day: easter(60), basis: "BW, BY, HE, NW, RP, SL, Teile von SN und TH"},
	{name: "Mariä Himmelfahrt", day: fixed(time.August, 15), basis: "SL, Teile von BY"},
	{name: "Weltkindertag", day: fixed(time.September, 20), first: 2019, basis: "TH"},
	{name: "Tag der Deutschen Einheit", day: fixed(time.October, 3), first: 1990, basis: allLaender},
	{name: "Reformationstag", day: fixed(time.October, 31), basis: "BB, HB, HH, MV, NI, SH, SN, ST, TH"},
	{name: "Allerheiligen", day: fixed(time.November, 1), basis: "BW, BY, NW, RP, SL"},
	{name: "Buß- und Bettag", day: busstag, basis: "SN"},
	{name: "Heiligabend", day: fixed(time.December, 24), basis: "Marktregel"},
	{name: "1. Weihnachtstag", day: fixed(time.December, 25), basis: allLaender},
	{name: "2. Weihnachtstag", day: fixed(time.December, 26), basis: allLaender},
	{name: "Silvester", day: fixed(time.December, 31), basis: "Marktregel"},

	// Days of a single year. The market's special day for the 24-hour supplier
	// switch was first announced for 4 April 2025, which is an ordinary Werktag.
	{name: "75. Jahrestag der Befreiung (nur Berlin; einmalig)", day: fixed(time.May, 8), first: 2020, last: 2020, basis: "BE"},
	{name: "80. Jahrestag der Befreiung (nur Berlin; einmalig)", day: fixed(time.May, 8), first: 2025, last: 2025, basis: "BE"},
	{name: "Sonderfeiertag LFW24 (BDEW; einmalig)", day: fixed(time.June, 6), first: 2025, last: 2025, basis: "BDEW Feiertagskalender"},
	{name: "75. Jahrestag des 17. Juni 1953 (nur Berlin; einmalig)", day: fixed(time.June, 17), first: 2028, last: 2028, basis: "BE"},
}

// in reports whether the row is in force in the given year.
func (h holiday) in(year int) bool {
	return year >= h.first && (h.last == 0 || year <= h.last)
}

// rule gives the day of a holiday in a year.
type rule func(year int) Date

// fixed is the same day every year.
func fixed(month time.Month, day int) rule {
	return func(year int) Date { return NewDate(year, month, day) }
}

// easter is a number of days after Easter Sunday, or before it if negative.
func easter(days int) rule {
	return func(year int) Date { return easterSunday(year).AddDays(days) }
}

// busstag is the last Wednesday before 23 November.
func busstag(year int) Date {
	d := NewDate(year, time.November, 22)
	for d.Weekday() != time.Wednesday {
		d = d.AddDays(-1)
	}
	return d
}

// easterSunday returns the Gregorian Easter Sunday: the Sunday after the
// Paschal full moon, by the Meeus/Jones/Butcher computation.
func easterSunday(year int) Date {
	golden := year % 19
	century, yy := year/100, year%100

	// epact is the distance of the Paschal full moon from 21 March, with the
	// century's solar and lunar corrections.
	lunar := (century - (century+8)/25 + 1) / 3
	epact := (19*golden + century - century/4 - lunar + 15) % 30

	toSunday := (32 + 2*(century%4) + 2*(yy/4) - epact - yy%4) % 7
	late := (golden + 11*epact + 22*toSunday) / 451
	return NewDate(year, time.March, 22).AddDays(epact + toSunday - 7*late)
}
