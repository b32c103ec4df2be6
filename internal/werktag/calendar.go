package werktag

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"
)

// The years the calendar covers, both included. A Land can make a new holiday
// at any time, so the end is where today's law stops being a good forecast.
const (
	FirstYear = 2019
	LastYear  = 2035
)

// ErrOutsideCalendar tells that a date, or the result of a count, lies outside
// FirstYear to LastYear. The error that wraps it names the date.
var ErrOutsideCalendar = fmt.Errorf("outside the BDEW calendar %d to %d", FirstYear, LastYear)

var errNegativeCount = errors.New("negative count of Werktage")

// Calendar says which days are Werktage and counts them. In every count the
// start day itself is not counted, and it may be a day that is no Werktag: from
// a Saturday the first Werktag after it is Monday.
//
// A Calendar never changes and is safe for concurrent use. Every method takes
// constant time, however large the count.
type Calendar struct {
	holidays map[Date]holiday
	// werktage holds all Werktage in order.
	werktage []Date
	// before[i] is the number of Werktage before the i-th day of the calendar;
	// it has one entry more than there are days.
	before []int
}

// BDEW returns the built-in calendar of the BDEW market processes.
func BDEW() *Calendar { return bdew() }

var bdew = sync.OnceValue(func() *Calendar { return newCalendar(bdewHolidays) })

func newCalendar(rows []holiday) *Calendar {
	holidays := make(map[Date]holiday)
	for year := FirstYear; year <= LastYear; year++ {
		for _, row := range rows {
			if row.in(year) {
				holidays[row.day(year)] = row
			}
		}
	}
	return calendarOf(holidays)
}

func calendarOf(holidays map[Date]holiday) *Calendar {
	c := &Calendar{holidays: holidays}
	for d := firstDay(); d.year <= LastYear; d = d.AddDays(1) {
		c.before = append(c.before, len(c.werktage))
		if _, free := c.holidays[d]; !free && d.Weekday() != time.Saturday && d.Weekday() != time.Sunday {
			c.werktage = append(c.werktage, d)
		}
	}
	c.before = append(c.before, len(c.werktage))
	return c
}

// extraHoliday is the row of a day that the operator of the service adds.
var extraHoliday = holiday{name: "Zusatzfeiertag (Konfiguration)"}

// With returns the calendar with further holidays, which leaves c as it is. A day
// that is a holiday already keeps its name. Days outside the calendar are left
// out: nothing is counted there anyway.
func (c *Calendar) With(days []Date) *Calendar {
	holidays := maps.Clone(c.holidays)
	for _, d := range days {
		_, err := c.index(d)
		if _, taken := holidays[d]; err == nil && !taken {
			holidays[d] = extraHoliday
		}
	}
	return calendarOf(holidays)
}

// InCalendar reports whether d lies in FirstYear to LastYear, of which alone every
// calendar knows. The zero Date does not.
func (d Date) InCalendar() bool { return d.year >= FirstYear && d.year <= LastYear }

func firstDay() Date { return NewDate(FirstYear, time.January, 1) }

// index returns the place of d among the days of the calendar.
func (c *Calendar) index(d Date) (int, error) {
	switch {
	case d.IsZero():
		return 0, fmt.Errorf("no date: %w", ErrOutsideCalendar)
	case !d.InCalendar():
		return 0, fmt.Errorf("%s: %w", d, ErrOutsideCalendar)
	}
	return d.dayNumber() - firstDay().dayNumber(), nil
}

// IsWerktag reports whether d is a Werktag. Outside the calendar it returns
// ErrOutsideCalendar, as all counts do.
func (c *Calendar) IsWerktag(d Date) (bool, error) {
	i, err := c.index(d)
	if err != nil {
		return false, err
	}
	return c.before[i+1] > c.before[i], nil
}

// Holiday returns the name of the holiday on d. Weekends are no holidays, and
// outside the calendar there are none.
func (c *Calendar) Holiday(d Date) (name string, ok bool) {
	h, ok := c.holidays[d]
	return h.name, ok
}

// start returns the place of d, from which n Werktage are to be counted.
func (c *Calendar) start(d Date, n int) (int, error) {
	i, err := c.index(d)
	if err == nil && n < 0 {
		err = fmt.Errorf("%d Werktage from %s: %w", n, d, errNegativeCount)
	}
	return i, err
}

// Add returns the n-th Werktag after d, and d itself for n = 0. A negative n is
// an error.
func (c *Calendar) Add(d Date, n int) (Date, error) {
	i, err := c.start(d, n)
	if err != nil {
		return Date{}, err
	}
	if n == 0 {
		return d, nil
	}
	done := c.before[i+1]
	// Not done+n > len: a huge n would overflow.
	if n > len(c.werktage)-done {
		return Date{}, fmt.Errorf("%d Werktage after %s: %w", n, d, ErrOutsideCalendar)
	}
	return c.werktage[done+n-1], nil
}

// Sub returns the n-th Werktag before d, and d itself for n = 0. A negative n
// is an error. Sub undoes Add only if d is a Werktag.
func (c *Calendar) Sub(d Date, n int) (Date, error) {
	i, err := c.start(d, n)
	if err != nil {
		return Date{}, err
	}
	if n == 0 {
		return d, nil
	}
	if n > c.before[i] {
		return Date{}, fmt.Errorf("%d Werktage before %s: %w", n, d, ErrOutsideCalendar)
	}
	return c.werktage[c.before[i]-n], nil
}

// Next returns d if it is a Werktag, else the first Werktag after it.
func (c *Calendar) Next(d Date) (Date, error) {
	i, err := c.index(d)
	if err != nil {
		return Date{}, err
	}
	if c.before[i] == len(c.werktage) {
		return Date{}, fmt.Errorf("next Werktag from %s: %w", d, ErrOutsideCalendar)
	}
	return c.werktage[c.before[i]], nil
}

// Count returns the number of Werktage after a up to and including b. It is 0
// if b is not after a.
func (c *Calendar) Count(a, b Date) (int, error) {
	i, err := c.index(a)
	if err != nil {
		return 0, err
	}
	j, err := c.index(b)
	if err != nil {
		return 0, err
	}
	return max(0, c.before[j+1]-c.before[i+1]), nil
}
