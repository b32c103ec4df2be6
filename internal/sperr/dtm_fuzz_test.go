package sperr

import (
	"strings"
	"testing"
	"time"

	"sperrd/internal/werktag"
)

// strictRFC3339 reads RFC 3339 as the standard library does, which is lenient, and takes
// what it would write itself.
func strictRFC3339(s string) (at time.Time, ok bool) {
	at, err := time.Parse(time.RFC3339, s)
	if err != nil || !strings.HasPrefix(s, at.Format("2006-01-02T15:04:05")) || strings.Contains(s, ",") {
		return at, false
	}
	if _, offset := at.Zone(); offset != 0 {
		return at, offset > -24*60*60 && offset < 24*60*60 && strings.HasSuffix(s, at.Format("-07:00"))
	}
	return at, strings.HasSuffix(s, "Z") || strings.HasSuffix(s, "+00:00") || strings.HasSuffix(s, "-00:00")
}

// FuzzParseDTM: what is accepted is ASCII and has a day, and where the standard library
// reads the same form, both read the same.
func FuzzParseDTM(f *testing.F) {
	for _, s := range []string{
		"20260831", "2026-08-31", "202608302200", "202608302200+00", "202608310000+02", "2026-08-30T22:00:00Z", "2026-08-31T00:00:00+02:00",
		"2026-08-30T22:00:00", "202603290100", "202610250030+01", "20260230", "2026-02-30", "202608302460", "2026083022", "202608302200+0",
		"2026-08-30T22:00:00,5Z", "2026-08-30T2:00:00Z", "2026-08-30T22:00:60Z", "2026-08-30T22:00:00+24:00", "2026-08-30T22:00:00+01:60", "2026-08-30T22:00:00-00:00", "2026-08-30t22:00:00z",
		"２０２６０８３１", "٢٠٢٦٠٨٣١٢٢٠٠", "0000-01-01", "0000-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "infinity", "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := parseDTM(s)
		if err != nil {
			if _, read := strictRFC3339(s); read {
				t.Errorf("%q is RFC 3339 and was not read: %v", s, err)
			}
			if _, err := time.Parse("200601021504", s); err == nil && digits(s, 12) {
				t.Errorf("%q is a DTM in minutes and was not read", s)
			}
			return
		}
		if strings.ContainsFunc(s, func(r rune) bool { return r > 0x7E || r <= ' ' }) {
			t.Errorf("%q was read", s)
		}
		wantDay(t, s, got)
	})
}

// wantDay checks a DTM that was read against another reading of its text.
func wantDay(t *testing.T, s string, got termin) {
	t.Helper()
	if got.instant == nil {
		day := strings.ReplaceAll(s, "-", "")
		if want, err := time.Parse("20060102", day); err != nil || got.day != werktag.NewDate(want.Date()) || got.day.IsZero() {
			t.Errorf("%q is the day %q, want %v, %v", s, got.day, want, err)
		}
		return
	}
	if at := *got.instant; at.Location() != time.UTC || got.day != werktag.BerlinDay(at) {
		t.Errorf("%q is %v on %s", s, at, got.day)
	}
	// The years 1 to 9999 have days; what lies beside them is in no calendar.
	if year := got.instant.In(werktag.Berlin()).Year(); got.day.IsZero() != (year < 1 || year > 9999) || got.day.IsZero() && got.day.InCalendar() {
		t.Errorf("%q is on %q", s, got.day)
	}
	want, read := strictRFC3339(s)
	if !read {
		want, read = strictRFC3339(s + "Z")
	}
	var err error
	if digits(s, 12) {
		want, err = time.Parse("200601021504", s)
	} else if !read {
		want, err = time.Parse("200601021504-07", s)
	}
	if err != nil || !got.instant.Equal(want) {
		t.Errorf("%q is %v, want %v, %v", s, got.instant, want, err)
	}
}

// FuzzFieldTime: the time of a visit is RFC 3339 with an offset, and never after now.
func FuzzFieldTime(f *testing.F) {
	for _, s := range []string{
		"2026-09-03T08:00:00Z", "2026-09-03T10:00:00+02:00", "2026-09-02T21:00:00-11:00", "2026-09-03T08:00:29.999999999Z", "2026-09-03T08:00:30Z",
		"2026-09-03T08:00:31Z", "2026-09-03T08:01:00Z", "2026-09-03", "2026-09-03T10:00:00", "2026-09-03T24:00:00Z", "2026-09-03T07:59:60Z",
		"2026-09-03t07:00:00z", "2026-02-30T07:00:00Z", "2026-09-03T07:00:00.1234567891Z", "0000-12-31T23:00:00-23:00", "0001-01-01T00:00:00Z", "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		invalid := &ValidationError{Subject: SubjectReport}
		got := fieldTime(invalid, "executed_at", &s, testNow)
		err := invalid.err()
		want, read := strictRFC3339(s)
		want = want.UTC()
		allowed := read && want.Year() >= 1 && !want.After(testNow.Add(clockSkew))
		if want.After(testNow) {
			want = testNow
		}
		if (err == nil) != allowed || allowed && (!got.Equal(want) || got.Location() != time.UTC) {
			t.Errorf("%q = %v, %v; want %v, read: %v", s, got, err, want, allowed)
		}
		if err != nil {
			wantInvalid(t, err, SubjectReport, "executed_at")
		}
	})
}
