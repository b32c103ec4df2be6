package werktag

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// laender is on what each holiday of the pinned table rests. A name that ends in a
// bracket says it itself.
var laender = map[string]string{
	"Neujahr": "alle Länder", "Heilige Drei Könige": "BW, BY, ST", "Internationaler Frauentag": "BE, MV",
	"Karfreitag": "alle Länder", "Ostersonntag": "BB", "Ostermontag": "alle Länder", "Tag der Arbeit": "alle Länder",
	"Christi Himmelfahrt": "alle Länder", "Pfingstsonntag": "BB", "Pfingstmontag": "alle Länder",
	"Fronleichnam": "BW, BY, HE, NW, RP, SL, Teile von SN und TH", "Mariä Himmelfahrt": "SL, Teile von BY",
	"Weltkindertag": "TH", "Tag der Deutschen Einheit": "alle Länder",
	"Reformationstag": "BB, HB, HH, MV, NI, SH, SN, ST, TH", "Allerheiligen": "BW, BY, NW, RP, SL", "Buß- und Bettag": "SN",
	"Heiligabend": "Marktregel", "1. Weihnachtstag": "alle Länder", "2. Weihnachtstag": "alle Länder", "Silvester": "Marktregel",
}

func TestReason_names_every_holiday_of_the_pinned_table(t *testing.T) {
	t.Parallel()
	for _, row := range readCSV(t, "holidays.csv") {
		d, want := day(t, row[0]), row[1]
		if basis, regular := laender[want]; regular {
			if want == "Internationaler Frauentag" && d.Year() < 2023 {
				basis = "BE" // MV made it one in 2023
			}
			want += " (" + basis + ")"
		} else if !strings.HasSuffix(want, ")") {
			t.Errorf("nobody knows on what %s rests", want)
		}
		switch d.Weekday() {
		case time.Saturday:
			want = "Samstag; " + want
		case time.Sunday:
			want = "Sonntag; " + want
		}
		if got := BDEW().Reason(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

func TestReason_in_its_forms(t *testing.T) {
	t.Parallel()
	for date, want := range map[string]string{
		"2026-08-31": "",
		"2026-08-29": "Samstag",
		"2026-08-30": "Sonntag",
		"2026-01-01": "Neujahr (alle Länder)",
		"2026-11-18": "Buß- und Bettag (SN)",
		"2026-12-24": "Heiligabend (Marktregel)",
		"2026-10-03": "Samstag; Tag der Deutschen Einheit (alle Länder)",
		"2025-06-06": "Sonderfeiertag LFW24 (BDEW; einmalig)",
		"2028-06-17": "Samstag; 75. Jahrestag des 17. Juni 1953 (nur Berlin; einmalig)",
		"2018-12-31": "außerhalb des Kalenders 2019 bis 2035",
		"2036-01-01": "außerhalb des Kalenders 2019 bis 2035",
		"9999-12-31": "außerhalb des Kalenders 2019 bis 2035",
	} {
		if got := BDEW().Reason(day(t, date)); got != want {
			t.Errorf("%s: %q, want %q", date, got, want)
		}
	}
	if got := BDEW().Reason(Date{}); got == "" {
		t.Error("no date passes for a Werktag")
	}
}

func TestReason_is_empty_on_Werktage_and_on_no_other_day(t *testing.T) {
	t.Parallel()
	for d := firstDay(); d.Year() <= LastYear; d = d.AddDays(1) {
		werktag, err := BDEW().IsWerktag(d)
		if reason := BDEW().Reason(d); err != nil || werktag != (reason == "") {
			t.Errorf("%s: Werktag %t, %v, reason %q", d, werktag, err, reason)
		}
	}
}

func TestWochentag_is_German(t *testing.T) {
	t.Parallel()
	want := []string{"Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"}
	var got []string
	for d := day(t, "2026-08-31"); len(got) < 7; d = d.AddDays(1) {
		got = append(got, d.Wochentag())
	}
	if !slices.Equal(got, want) || (Date{}).Wochentag() != "" {
		t.Errorf("week from a Monday: %q; no date: %q", got, (Date{}).Wochentag())
	}
}

func TestWith_takes_the_days_out_of_every_count(t *testing.T) {
	t.Parallel()
	extra := day(t, "2026-12-28")
	c := BDEW().With([]Date{extra, extra})
	for _, tc := range []struct {
		name string
		f    func(Date, int) (Date, error)
		from string
		n    int
		want string
	}{
		{"Add", c.Add, "2026-12-23", 1, "2026-12-29"},
		{"Add", c.Add, "2026-12-22", 6, "2027-01-07"},
		{"Sub", c.Sub, "2026-12-29", 1, "2026-12-23"},
		{"Next", func(d Date, _ int) (Date, error) { return c.Next(d) }, "2026-12-28", 0, "2026-12-29"},
	} {
		if got, err := tc.f(day(t, tc.from), tc.n); err != nil || got.String() != tc.want {
			t.Errorf("%s(%s, %d) = %s, %v; want %s", tc.name, tc.from, tc.n, got, err, tc.want)
		}
	}
	if n, err := c.Count(day(t, "2026-12-23"), day(t, "2026-12-30")); n != 2 || err != nil {
		t.Errorf("Count = %d, %v; want 2", n, err)
	}
	if werktag, err := c.IsWerktag(extra); werktag || err != nil {
		t.Errorf("the extra holiday is a Werktag: %t, %v", werktag, err)
	}
	const name = "Zusatzfeiertag (Konfiguration)"
	if got, ok := c.Holiday(extra); got != name || !ok || c.Reason(extra) != name {
		t.Errorf("holiday %q, %t, reason %q; want %q", got, ok, c.Reason(extra), name)
	}
}

func TestWith_changes_nothing_but_its_days(t *testing.T) {
	t.Parallel()
	base := BDEW()
	c := base.With([]Date{day(t, "2026-12-28"), day(t, "2026-12-25"), day(t, "2026-10-10")})
	for d := firstDay(); d.Year() <= LastYear; d = d.AddDays(1) {
		if d.String() != "2026-12-28" && d.String() != "2026-10-10" && c.Reason(d) != base.Reason(d) {
			t.Errorf("%s: %q became %q", d, base.Reason(d), c.Reason(d))
		}
	}
	if got := c.Reason(day(t, "2026-10-10")); got != "Samstag; Zusatzfeiertag (Konfiguration)" {
		t.Errorf("extra holiday on a Saturday: %q", got)
	}
	if got := BDEW().Reason(day(t, "2026-12-28")); got != "" {
		t.Errorf("the built-in calendar has learnt %q", got)
	}
}

func TestWith_leaves_out_what_lies_outside(t *testing.T) {
	t.Parallel()
	c := BDEW().With([]Date{{}, day(t, "0001-01-01"), day(t, "2018-12-31"), day(t, "2036-01-02"), day(t, "9999-12-31")})
	if len(c.holidays) != len(BDEW().holidays) || len(c.werktage) != len(BDEW().werktage) {
		t.Error("a day outside the calendar has become a holiday")
	}
	if _, err := c.IsWerktag(day(t, "2036-01-02")); !errors.Is(err, ErrOutsideCalendar) {
		t.Errorf("the calendar has grown: %v", err)
	}
}
