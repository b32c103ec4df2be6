package werktag

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestBerlinDay_is_the_day_of_legal_German_time(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ instant, want string }{
		// Around midnight, in summer and in winter.
		{"2026-08-30T21:30:00Z", "2026-08-30"},
		{"2026-08-30T21:59:59.999999999Z", "2026-08-30"},
		{"2026-08-30T22:00:00Z", "2026-08-31"},
		{"2026-08-30T22:30:00Z", "2026-08-31"},
		{"2026-12-31T22:59:59Z", "2026-12-31"},
		{"2026-12-31T23:00:00Z", "2027-01-01"},
		// The same instant in three offsets.
		{"2026-08-31T00:30:00+02:00", "2026-08-31"},
		{"2026-08-30T11:30:00-11:00", "2026-08-31"},
		{"2026-08-31T12:30:00+14:00", "2026-08-31"},
		// The day with 23 hours and the day with 25.
		{"2026-03-28T22:59:59Z", "2026-03-28"},
		{"2026-03-28T23:00:00Z", "2026-03-29"},
		{"2026-03-29T00:59:59Z", "2026-03-29"},
		{"2026-03-29T01:00:00Z", "2026-03-29"},
		{"2026-03-29T21:59:59Z", "2026-03-29"},
		{"2026-03-29T22:00:00Z", "2026-03-30"},
		{"2026-10-24T21:59:59Z", "2026-10-24"},
		{"2026-10-24T22:00:00Z", "2026-10-25"},
		{"2026-10-25T00:30:00Z", "2026-10-25"},
		{"2026-10-25T01:30:00Z", "2026-10-25"},
		{"2026-10-25T22:59:59Z", "2026-10-25"},
		{"2026-10-25T23:00:00Z", "2026-10-26"},
	} {
		instant, err := time.Parse(time.RFC3339Nano, tc.instant)
		if err != nil {
			t.Fatal(err)
		}
		if got := BerlinDay(instant); got.String() != tc.want {
			t.Errorf("BerlinDay(%s) = %s, want %s", tc.instant, got, tc.want)
		}
	}
}

// The embedded zone is compared with the rule of the Sommerzeitverordnung,
// worked out here by itself: the clocks change at 01:00 UTC on the last Sunday
// of March and of October.
func TestBerlin_changes_the_clocks_when_the_law_does(t *testing.T) {
	t.Parallel()
	for year := 1996; year <= LastYear+5; year++ {
		summer, winter := lastSunday(year, time.March), lastSunday(year, time.October)
		for _, tc := range []struct {
			instant time.Time
			want    string
		}{
			{summer.Add(-time.Second), "CET +0100"},
			{summer, "CEST +0200"},
			{winter.Add(-time.Second), "CEST +0200"},
			{winter, "CET +0100"},
		} {
			if got := tc.instant.In(Berlin()).Format("MST -0700"); got != tc.want {
				t.Errorf("%s is %s, want %s", tc.instant, got, tc.want)
			}
		}
	}
}

func lastSunday(year int, month time.Month) time.Time {
	end := time.Date(year, month, 31, 1, 0, 0, 0, time.UTC)
	return end.AddDate(0, 0, -int(end.Weekday()))
}

func TestStart_is_midnight_in_Berlin(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		date, want string
		hours      float64
	}{
		{"2026-08-31", "2026-08-30T22:00:00Z", 24},
		{"2026-12-31", "2026-12-30T23:00:00Z", 24},
		{"2026-03-29", "2026-03-28T23:00:00Z", 23},
		{"2026-10-25", "2026-10-24T22:00:00Z", 25},
	} {
		d := day(t, tc.date)
		if got := d.Start().UTC().Format(time.RFC3339); got != tc.want {
			t.Errorf("%s starts %s, want %s", d, got, tc.want)
		}
		if got := d.AddDays(1).Start().Sub(d.Start()).Hours(); got != tc.hours {
			t.Errorf("%s has %v hours, want %v", d, got, tc.hours)
		}
		if BerlinDay(d.Start()) != d || BerlinDay(d.Start().Add(-time.Nanosecond)) != d.AddDays(-1) {
			t.Errorf("%s does not begin at its start", d)
		}
	}
	if got := (Date{}).Start(); !got.IsZero() {
		t.Errorf("no date starts at %s", got)
	}
}

// The tests of days and counts run again in a process whose environment points
// to no zone data, and in one whose zone data is a lie. ZONEINFO comes before
// every other source in package time, so a program that believed the machine
// would show it here.
func TestResults_do_not_depend_on_the_machines_zone(t *testing.T) {
	t.Parallel()
	lies := t.TempDir()
	writeZone(t, filepath.Join(lies, "Europe", "Berlin"), -10*time.Hour)
	for name, env := range map[string][]string{
		"no zone data":    {"ZONEINFO=/nonexistent", "TZ=America/New_York"},
		"wrong zone data": {"ZONEINFO=" + lies, "TZ=Pacific/Kiritimati"},
		"no zone":         {"ZONEINFO=", "TZ="},
		"broken zone":     {"ZONEINFO=" + os.DevNull, "TZ=:/nonexistent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checks := []string{
				"TestBerlinDay_is_the_day_of_legal_German_time", "TestBerlin_changes_the_clocks_when_the_law_does",
				"TestStart_is_midnight_in_Berlin", "TestCalendar_agrees_with_the_vectors",
				"TestHolidays_are_exactly_the_pinned_table",
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^("+strings.Join(checks, "|")+")$")
			cmd.Env = append(os.Environ(), env...)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, check := range checks {
				if !strings.Contains(string(out), "--- PASS: "+check) {
					t.Errorf("%s did not run", check)
				}
			}
		})
	}
}

// writeZone writes the smallest zone file there is: one offset for all time.
func writeZone(t *testing.T, path string, offset time.Duration) {
	t.Helper()
	zone := append([]byte("TZif"), make([]byte, 16)...)
	for _, count := range []uint32{0, 0, 0, 0, 1, 4} { // one kind of time, four bytes of names
		zone = binary.BigEndian.AppendUint32(zone, count)
	}
	zone = binary.BigEndian.AppendUint32(zone, uint32(int32(offset.Seconds())))
	zone = append(zone, 0, 0, 'L', 'I', 'E', 0)
	if _, err := time.LoadLocationFromTZData("Europe/Berlin", zone); err != nil {
		t.Fatalf("the lie does not parse: %v", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, zone, 0o600); err != nil {
		t.Fatal(err)
	}
}
