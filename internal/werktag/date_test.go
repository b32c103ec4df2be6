package werktag

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// day reads a date that the test itself wrote down.
func day(t *testing.T, s string) Date {
	t.Helper()
	d, err := ParseDate(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestParseDate_accepts_real_days_only(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"2026-08-31", "2028-02-29", "2000-02-29", "0001-01-01", "9999-12-31"} {
		if d, err := ParseDate(s); err != nil || d.String() != s {
			t.Errorf("ParseDate(%q) = %q, %v", s, d, err)
		}
	}
	for _, s := range []string{
		"", "2026-02-30", "2026-02-29", "1900-02-29", "2026-04-31", "2026-13-01", "2026-00-10", "2026-01-00",
		"2026-01-32", "0000-01-01", "10000-01-01", "2026-8-31", "26-08-31", "20260831", "2026-0831-", "2026/08/31",
		" 2026-08-31", "2026-08-31 ", "2026-08-31T00:00:00Z", "+026-08-31", "-026-08-31", "2026-08-3１", "٢٠٢٦-٠٨-٣١",
		"infinity", "2026-08-3\x00", "2026-aa-31",
	} {
		if d, err := ParseDate(s); err == nil || !d.IsZero() {
			t.Errorf("ParseDate(%q) = %q, %v; want an error", s, d, err)
		}
	}
}

func TestNewDate_gives_no_date_for_an_impossible_day(t *testing.T) {
	t.Parallel()
	if got := NewDate(2028, time.February, 29); got.String() != "2028-02-29" {
		t.Errorf("NewDate of a leap day = %q", got)
	}
	for _, got := range []Date{
		NewDate(2026, time.February, 29), NewDate(2026, 13, 1), NewDate(2026, time.May, 0), NewDate(2026, time.May, -1),
		NewDate(0, time.May, 1), NewDate(10_000, time.May, 1), NewDate(math.MinInt, math.MaxInt, math.MaxInt),
	} {
		if !got.IsZero() {
			t.Errorf("impossible day became %s", got)
		}
	}
}

func TestDate_fields_and_weekday(t *testing.T) {
	t.Parallel()
	d := day(t, "2026-08-31")
	got := fmt.Sprint(d.Year(), d.Month(), d.Day(), d.Weekday())
	if want := "2026 August 31 Monday"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDate_order_is_the_calendar_order(t *testing.T) {
	t.Parallel()
	sorted := []Date{
		{}, day(t, "0001-01-01"), day(t, "2025-12-31"), day(t, "2026-01-31"), day(t, "2026-02-01"), day(t, "2026-02-02"),
	}
	for i, a := range sorted {
		for j, b := range sorted {
			got := []any{a.Compare(b), a.Before(b), a.After(b), a.Equal(b), a == b}
			want := []any{sign(i - j), i < j, i > j, i == j, i == j}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q against %q (-want +got):\n%s", a, b, diff)
			}
		}
	}
}

func sign(n int) int {
	return max(-1, min(1, n))
}

func TestAddDays_counts_days_and_leaves_no_range_silently(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		start string
		n     int
		want  string
	}{
		{"2026-03-28", 1, "2026-03-29"}, // into and over the day with 23 hours
		{"2026-03-29", 1, "2026-03-30"},
		{"2026-10-25", 1, "2026-10-26"}, // over the day with 25 hours
		{"2026-10-26", -1, "2026-10-25"},
		{"2028-02-28", 1, "2028-02-29"},
		{"2026-12-31", 1, "2027-01-01"},
		{"2026-08-31", 0, "2026-08-31"},
		{"2019-01-01", 6209, "2036-01-01"},
		{"0001-01-01", 3652058, "9999-12-31"},
		{"9999-12-31", 1, ""},
		{"0001-01-01", -1, ""},
		{"2026-08-31", math.MaxInt, ""},
		{"2026-08-31", math.MinInt, ""},
	} {
		if got := day(t, tc.start).AddDays(tc.n).String(); got != tc.want {
			t.Errorf("%s plus %d days = %q, want %q", tc.start, tc.n, got, tc.want)
		}
	}
	if got := (Date{}).AddDays(1000); !got.IsZero() {
		t.Errorf("no date plus 1000 days = %s", got)
	}
}

func TestDate_in_JSON_is_text_and_absence_is_null(t *testing.T) {
	t.Parallel()
	type body struct {
		Required Date  `json:"required"`
		Optional *Date `json:"optional"`
	}
	const text = `{"required":"2026-08-31","optional":null}`
	var got body
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(body{Required: day(t, "2026-08-31")}, got); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
	if out, err := json.Marshal(got); err != nil || string(out) != text {
		t.Errorf("encoded %s, %v; want %s", out, err, text)
	}
	if out, err := json.Marshal(Date{}); err != nil || string(out) != `""` {
		t.Errorf("zero Date encoded as %s, %v", out, err)
	}
}

func TestDate_in_JSON_refuses_what_is_no_day(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`""`, `"2026-02-30"`, `"2026-08-30T22:00:00Z"`, `20260831`, `{}`} {
		d := day(t, "2026-01-07")
		if err := json.Unmarshal([]byte(text), &d); err == nil {
			t.Errorf("%s decoded to %q", text, d)
		}
		if d != day(t, "2026-01-07") {
			t.Errorf("%s changed the date to %q although it was refused", text, d)
		}
	}
}
