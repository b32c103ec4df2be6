package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/werktag"
)

func TestExtraHolidays_are_days(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "day")
	if err := os.WriteFile(path, []byte("2035-12-31\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	first, second, last := werktag.NewDate(2019, 1, 1), werktag.NewDate(2026, 12, 28), werktag.NewDate(2035, 12, 31)
	for list, want := range map[string][]werktag.Date{
		`[]`:                           nil,
		`["2026-12-28"]`:               {second},
		`["2026-12-28", "2019-01-01"]`: {second, first},
		"[\n  \"2026-12-28\", # a Monday\n  \"env:DAY\",\n  \"file:" + path + "\",\n]": {second, first, last},
	} {
		c := mustLoad(t, minimal+"[frist]\nextra_holidays = "+list, env("DAY", "2019-01-01"))
		if diff := cmp.Diff(want, c.Frist.ExtraHolidays); diff != "" {
			t.Errorf("%s (-want +got):\n%s", list, diff)
		}
	}
	if c := mustLoad(t, minimal, env()); c.Frist.ExtraHolidays != nil {
		t.Errorf("without the key: %v", c.Frist.ExtraHolidays)
	}
}

func TestExtraHolidays_every_wrong_entry_is_named_at_once(t *testing.T) {
	t.Parallel()
	got := problems(t, minimal+`[frist]
extra_holidays = ["2026-12-28", 2026-12-29, 20261230, "", "30.12.2026", "2026-02-30", "2018-12-31", "2036-01-01",
  "2026-12-28", " 2026-12-31", "2026-12-31T00:00:00Z", "infinity", "２０２６-12-31", "0001-01-01", "9999-12-31", ["2027-01-04"],
  "2026-12-28", "env:NO_DAY"]
`, env())
	const (
		at       = "line 10: frist.extra_holidays["
		noText   = "must be a string in quotes"
		noDay    = "must be a day that exists, written YYYY-MM-DD"
		noYear   = "must lie in the years of the calendar, 2019 to 2035"
		sameDay  = "is the same day as frist.extra_holidays[0]"
		notThere = " (environment variable NO_DAY): is not set"
	)
	want := []string{
		at + "1]: " + noText, at + "2]: " + noText, at + "3]: is blank", at + "4]: " + noDay, at + "5]: " + noDay,
		at + "6]: " + noYear, at + "7]: " + noYear, at + "8]: " + sameDay, at + "9]: " + noDay, at + "10]: " + noDay,
		at + "11]: " + noDay, at + "12]: " + noDay, at + "13]: " + noYear, at + "14]: " + noYear, at + "15]: " + noText,
		at + "16]: " + sameDay, at + "17]" + notThere,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestExtraHolidays_are_a_list(t *testing.T) {
	t.Parallel()
	const want = `: frist.extra_holidays: must be a list of days, such as ["2026-12-28"]`
	for _, value := range []string{`"2026-12-28"`, `2026-12-28`, `true`, `{ }`, `""`} {
		got := problems(t, minimal+"[frist]\nextra_holidays = "+value, env())
		if diff := cmp.Diff([]string{"line 10" + want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", value, diff)
		}
		got = problems(t, with(`frist.extra_holidays = `+value), env())
		if diff := cmp.Diff([]string{"line 1" + want}, got); diff != "" {
			t.Errorf("dotted, %s (-want +got):\n%s", value, diff)
		}
	}
}
