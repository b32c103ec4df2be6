package werktag

import (
	"cmp"
	"fmt"
	"time"
)

// The years a Date can hold: those with four digits, which ISO 8601 text and a
// PostgreSQL date both carry.
const (
	minYear = 1
	maxYear = 9999
)

// Date is a civil day without time and zone. Dates are comparable with ==, and
// the zero value is no date at all; it sorts before every day.
type Date struct {
	year  int
	month time.Month
	day   int
}

// NewDate returns the given day, or the zero Date if there is no such day in
// the years 1 to 9999. Unlike time.Date it does not turn 30 February into
// 2 March, because a mistaken day must not become a plausible one.
func NewDate(year int, month time.Month, day int) Date {
	if year < minYear || year > maxYear {
		return Date{}
	}
	d := Date{year, month, day}
	if y, m, dd := d.utc().Date(); (Date{y, m, dd}) != d {
		return Date{}
	}
	return d
}

// ParseDate reads exactly YYYY-MM-DD in ASCII digits. Another layout, a day
// that does not exist and the year 0000 are errors.
func ParseDate(s string) (Date, error) {
	const layout = "0000-00-00"
	if len(s) != len(layout) {
		return Date{}, fmt.Errorf("date %.20q: want YYYY-MM-DD", s)
	}
	for i := range len(layout) {
		digit := s[i] >= '0' && s[i] <= '9'
		if digit != (layout[i] == '0') || (!digit && s[i] != '-') {
			return Date{}, fmt.Errorf("date %q: want YYYY-MM-DD", s)
		}
	}
	d := NewDate(number(s[0:4]), time.Month(number(s[5:7])), number(s[8:10]))
	if d.IsZero() {
		return Date{}, fmt.Errorf("date %q: no such day", s)
	}
	return d, nil
}

// number returns the value of a short text of ASCII digits.
func number(digits string) int {
	n := 0
	for i := range len(digits) {
		n = n*10 + int(digits[i]-'0')
	}
	return n
}

// dateOf returns the day that t shows in its own location.
func dateOf(t time.Time) Date {
	return NewDate(t.Date())
}

// utc returns midnight UTC of d, the scale on which days are numbered: UTC has
// no day of 23 or 25 hours.
func (d Date) utc() time.Time {
	return time.Date(d.year, d.month, d.day, 0, 0, 0, 0, time.UTC)
}

// dayNumber counts days from 1 January 1970.
func (d Date) dayNumber() int {
	return int(d.utc().Unix() / (24 * 60 * 60))
}

// String returns d as YYYY-MM-DD, and the empty string for the zero Date.
func (d Date) String() string {
	if d.IsZero() {
		return ""
	}
	return fmt.Sprintf("%04d-%02d-%02d", d.year, d.month, d.day)
}

// Year returns the year of d.
func (d Date) Year() int { return d.year }

// Month returns the month of d.
func (d Date) Month() time.Month { return d.month }

// Day returns the day of the month of d.
func (d Date) Day() int { return d.day }

// Weekday returns the day of the week of d. It means nothing for the zero Date.
func (d Date) Weekday() time.Weekday { return d.utc().Weekday() }

// IsZero reports whether d is no date.
func (d Date) IsZero() bool { return d == Date{} }

// AddDays returns the day n calendar days after d, or before d if n is
// negative. It is the zero Date if d is, or if the result leaves the years 1 to
// 9999.
func (d Date) AddDays(n int) Date {
	// More days than the whole range has would overflow time.Date.
	const whole = (maxYear + 1) * 366
	if d.IsZero() || n > whole || n < -whole {
		return Date{}
	}
	return dateOf(d.utc().AddDate(0, 0, n))
}

// Compare returns -1 if d is earlier than e, 0 if they are the same day, and
// +1 if d is later.
func (d Date) Compare(e Date) int {
	return cmp.Or(cmp.Compare(d.year, e.year), cmp.Compare(d.month, e.month), cmp.Compare(d.day, e.day))
}

// Before reports whether d is earlier than e.
func (d Date) Before(e Date) bool { return d.Compare(e) < 0 }

// After reports whether d is later than e.
func (d Date) After(e Date) bool { return d.Compare(e) > 0 }

// Equal reports whether d and e are the same day. It is ==, under the name that
// comparing packages look for.
func (d Date) Equal(e Date) bool { return d == e }
