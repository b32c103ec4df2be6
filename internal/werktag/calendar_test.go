package werktag

import (
	"bytes"
	"encoding/csv"
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// readCSV returns the rows of a file in testdata without its header.
func readCSV(t *testing.T, name string) [][]string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("%s: %d rows, %v", name, len(rows), err)
	}
	return rows[1:]
}

func TestCalendar_agrees_with_the_vectors(t *testing.T) {
	t.Parallel()
	c := BDEW()
	functions := map[string]func(Date, int) (string, error){
		"add": func(d Date, n int) (string, error) { r, err := c.Add(d, n); return r.String(), err },
		"sub": func(d Date, n int) (string, error) { r, err := c.Sub(d, n); return r.String(), err },
		"next_werktag": func(d Date, _ int) (string, error) {
			r, err := c.Next(d)
			return r.String(), err
		},
		"is_werktag": func(d Date, _ int) (string, error) {
			r, err := c.IsWerktag(d)
			return strconv.FormatBool(r), err
		},
	}
	for _, row := range readCSV(t, "werktage_vectors.csv") {
		f, ok := functions[row[0]]
		if !ok {
			t.Fatalf("unknown function %q", row[0])
		}
		n, err := strconv.Atoi("0" + row[2])
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f(day(t, row[1]), n); err != nil || got != row[3] {
			t.Errorf("%s: %s(%s, %s) = %s, %v; want %s", row[4], row[0], row[1], row[2], got, err, row[3])
		}
	}
}

func TestHolidays_are_exactly_the_pinned_table(t *testing.T) {
	t.Parallel()
	want := map[string]string{}
	for _, row := range readCSV(t, "holidays.csv") {
		want[row[0]] = row[1]
	}
	got := map[string]string{}
	for d := NewDate(FirstYear-2, 1, 1); d.Year() <= LastYear+2; d = d.AddDays(1) {
		if name, ok := BDEW().Holiday(d); ok {
			got[d.String()] = name
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("holidays (-want +got):\n%s", diff)
	}
}

func TestInCalendar_is_what_the_calendar_counts(t *testing.T) {
	t.Parallel()
	for _, d := range []Date{
		{},
		day(t, "0001-01-01"), day(t, "2018-12-31"), day(t, "2019-01-01"), day(t, "2026-08-31"), day(t, "2035-12-31"),
		day(t, "2036-01-01"), day(t, "9999-12-31"),
	} {
		if _, err := BDEW().IsWerktag(d); d.InCalendar() != (err == nil) || d.InCalendar() != (d.Year() >= 2019 && d.Year() <= 2035) {
			t.Errorf("%q is in the calendar: %t, counting says %v", d, d.InCalendar(), err)
		}
	}
}

func TestHolidays_say_why_they_count(t *testing.T) {
	t.Parallel()
	for _, row := range bdewHolidays {
		if row.basis == "" {
			t.Errorf("%s has no basis", row.name)
		}
	}
}

// Holidays that calendars of other trades get wrong, and the change of clocks.
func TestAdd_survives_the_known_traps(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		start string
		n     int
		want  string
		why   string
	}{
		{"2027-10-01", 1, "2027-10-04", "a holiday on Sunday is not moved to Monday"},
		{"2026-12-23", 1, "2026-12-28", "24 December is no Werktag"},
		{"2026-12-30", 1, "2027-01-04", "31 December is no Werktag"},
		{"2026-11-17", 1, "2026-11-19", "Buß- und Bettag of one Land counts everywhere"},
		{"2027-08-06", 1, "2027-08-09", "the Augsburg holiday is not in the calendar"},
		{"2028-08-07", 1, "2028-08-08", "the Augsburg holiday is a Werktag"},
		{"2025-06-05", 1, "2025-06-10", "special day of the supplier switch, then Pfingstmontag"},
		{"2025-04-03", 1, "2025-04-04", "the special day was moved away from here"},
		{"2025-05-07", 1, "2025-05-09", "one-off holiday in Berlin"},
		{"2020-05-07", 1, "2020-05-11", "one-off holiday in Berlin"},
		{"2026-12-22", 6, "2027-01-05", "over the turn of the year"},
		{"2026-03-27", 6, "2026-04-08", "over the day with 23 hours"},
		{"2026-10-23", 6, "2026-11-02", "over the day with 25 hours"},
	} {
		if got, err := BDEW().Add(day(t, tc.start), tc.n); err != nil || got.String() != tc.want {
			t.Errorf("%s: %s plus %d = %s, %v; want %s", tc.why, tc.start, tc.n, got, err, tc.want)
		}
	}
}

// Every count from every day of two years against one that walks day by day.
func TestCounts_agree_with_walking_day_by_day(t *testing.T) {
	t.Parallel()
	c := BDEW()
	walk := func(d Date, step, n int) Date {
		for n > 0 {
			d = d.AddDays(step)
			_, holiday := c.Holiday(d)
			if weekday := d.Weekday(); !holiday && weekday != time.Saturday && weekday != time.Sunday {
				n--
			}
		}
		return d
	}
	for d := NewDate(2025, 1, 1); d.Year() < 2027; d = d.AddDays(1) {
		for n := range 14 {
			after, errAfter := c.Add(d, n)
			before, errBefore := c.Sub(d, n)
			count, errCount := c.Count(d, after)
			if err := errors.Join(errAfter, errBefore, errCount); err != nil {
				t.Fatal(err)
			}
			want := []string{walk(d, 1, n).String(), walk(d, -1, n).String(), strconv.Itoa(n)}
			if diff := cmp.Diff(want, []string{after.String(), before.String(), strconv.Itoa(count)}); diff != "" {
				t.Errorf("%d Werktage from %s: add, sub, count (-want +got):\n%s", n, d, diff)
			}
		}
	}
}

func TestCount_excludes_the_start_and_includes_the_end(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"2026-08-31", "2026-08-31", 0},
		{"2026-08-31", "2026-09-01", 1},
		{"2026-08-28", "2026-08-30", 0}, // Friday to Sunday
		{"2026-08-30", "2026-08-31", 1},
		{"2026-12-23", "2027-01-07", 6},
		{"2026-09-01", "2026-08-31", 0}, // an empty interval
		{"2019-01-01", "2035-12-31", len(BDEW().werktage)},
	} {
		if got, err := BDEW().Count(day(t, tc.a), day(t, tc.b)); err != nil || got != tc.want {
			t.Errorf("Werktage in (%s, %s] = %d, %v; want %d", tc.a, tc.b, got, err, tc.want)
		}
	}
}

func TestCounts_reach_the_edges_of_the_calendar(t *testing.T) {
	t.Parallel()
	c := BDEW()
	all := len(c.werktage)
	for name, f := range map[string]func() (Date, error){
		"2035-12-28": func() (Date, error) { return c.Add(day(t, "2035-12-27"), 1) },
		"2019-01-02": func() (Date, error) { return c.Sub(day(t, "2019-01-03"), 1) },
		// From the first day to the last Werktag, and back.
		"2035-12-28 from the start": func() (Date, error) { return c.Add(day(t, "2019-01-01"), all) },
		"2019-01-02 from the end":   func() (Date, error) { return c.Sub(day(t, "2035-12-31"), all) },
		"2035-12-28 itself":         func() (Date, error) { return c.Next(day(t, "2035-12-28")) },
		"2035-12-31 itself":         func() (Date, error) { return c.Add(day(t, "2035-12-31"), 0) },
	} {
		if got, err := f(); err != nil || got.String() != name[:10] {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
	}
}

func TestOutside_the_calendar_is_an_error_that_names_the_date(t *testing.T) {
	t.Parallel()
	c := BDEW()
	methods := map[string]func(Date, int) error{
		"Add":   func(d Date, n int) error { _, err := c.Add(d, n); return err },
		"Sub":   func(d Date, n int) error { _, err := c.Sub(d, n); return err },
		"Next":  func(d Date, _ int) error { _, err := c.Next(d); return err },
		"Count": func(d Date, _ int) error { _, err := c.Count(d, day(t, "2026-01-07")); return err },
		"count": func(d Date, _ int) error { _, err := c.Count(day(t, "2026-01-07"), d); return err },
		"Is":    func(d Date, _ int) error { _, err := c.IsWerktag(d); return err },
	}
	for name, method := range methods {
		for _, start := range []string{"0001-01-01", "2018-12-31", "2036-01-01", "9999-12-31"} {
			for _, n := range []int{0, 1, math.MaxInt} {
				err := method(day(t, start), n)
				if !errors.Is(err, ErrOutsideCalendar) || !strings.Contains(err.Error(), start) {
					t.Errorf("%s(%s, %d): %v", name, start, n, err)
				}
			}
		}
		if err := method(Date{}, 1); !errors.Is(err, ErrOutsideCalendar) || !strings.Contains(err.Error(), "no date") {
			t.Errorf("%s without a date: %v", name, err)
		}
	}
}

func TestCounts_that_leave_the_calendar_are_errors(t *testing.T) {
	t.Parallel()
	c := BDEW()
	for _, tc := range []struct {
		f     func(Date, int) (Date, error)
		start string
		n     int
	}{
		{c.Add, "2035-12-28", 1},
		{c.Add, "2035-12-31", 1},
		{c.Add, "2035-12-20", 6},
		{c.Add, "2026-01-07", math.MaxInt},
		{c.Add, "2019-01-01", len(c.werktage) + 1},
		{c.Sub, "2019-01-02", 1},
		{c.Sub, "2019-01-01", 1},
		{c.Sub, "2026-01-07", math.MaxInt},
		{c.Sub, "2035-12-31", len(c.werktage) + 1},
		{func(d Date, _ int) (Date, error) { return c.Next(d) }, "2035-12-29", 0},
	} {
		got, err := tc.f(day(t, tc.start), tc.n)
		if !errors.Is(err, ErrOutsideCalendar) || !strings.Contains(err.Error(), tc.start) || !got.IsZero() {
			t.Errorf("%d Werktage from %s = %q, %v", tc.n, tc.start, got, err)
		}
	}
}

func TestCounts_refuse_a_negative_number(t *testing.T) {
	t.Parallel()
	for _, f := range []func(Date, int) (Date, error){BDEW().Add, BDEW().Sub} {
		for _, n := range []int{-1, math.MinInt} {
			if got, err := f(day(t, "2026-01-07"), n); !errors.Is(err, errNegativeCount) || !got.IsZero() {
				t.Errorf("%d Werktage = %q, %v", n, got, err)
			}
		}
	}
}

// Years in which the computation needs its corrections, and the two extremes.
func TestEaster_is_right_in_the_exceptional_years(t *testing.T) {
	t.Parallel()
	for _, want := range []string{
		"1818-03-22", "1943-04-25", "1954-04-18", "1981-04-19", "2000-04-23", "2026-04-05", "2038-04-25", "2049-04-18", "2076-04-19",
	} {
		if got := easterSunday(day(t, want).Year()); got.String() != want {
			t.Errorf("Easter = %s, want %s", got, want)
		}
	}
}
