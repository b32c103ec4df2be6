package sperr

import (
	"bytes"
	"encoding/csv"
	"errors"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/werktag"
)

func fristDay(t *testing.T, s string) werktag.Date {
	t.Helper()
	d, err := werktag.ParseDate(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// berlinDayOf reads an RFC 3339 instant as the Fristen see it, and no instant as
// no day.
func berlinDayOf(t *testing.T, instant string) werktag.Date {
	t.Helper()
	if instant == "" {
		return werktag.Date{}
	}
	at, err := time.Parse(time.RFC3339, instant)
	if err != nil {
		t.Fatal(err)
	}
	return werktag.BerlinDay(at)
}

// fristRules names each rule of the vector file. a and b are the Berlin days of
// the file's one or two instants.
var fristRules = map[string]func(cal *werktag.Calendar, a, b werktag.Date) (string, error){
	"berlin_day": func(_ *werktag.Calendar, a, _ werktag.Date) (string, error) { return a.String(), nil },

	"ausfuehrung_faellig":       dayRule(AusfuehrungFaelligAm),
	"iftsta_faellig":            dayRule(IFTSTAFaelligAm),
	"msb_anfrage_spaetester_ut": dayRule(AnfrageSpaetesterUT),
	"msb_antwort_faellig":       dayRule(MSBAntwortFaelligAm),
	"sperrtermin_untergrenze":   dayRule(SperrterminUntergrenze),

	"vorlauf6_spaetester_ut":  spaetesterUT(false),
	"vorlauf12_spaetester_ut": spaetesterUT(true),
	"vorlauf6_eingehalten":    eingehalten(false),
	"vorlauf12_eingehalten":   eingehalten(true),
}

func dayRule(frist func(*werktag.Calendar, werktag.Date) (werktag.Date, error)) func(*werktag.Calendar, werktag.Date, werktag.Date) (string, error) {
	return func(cal *werktag.Calendar, a, _ werktag.Date) (string, error) {
		d, err := frist(cal, a)
		return d.String(), err
	}
}

func spaetesterUT(termingebunden bool) func(*werktag.Calendar, werktag.Date, werktag.Date) (string, error) {
	return func(cal *werktag.Calendar, t0, _ werktag.Date) (string, error) {
		v, err := JudgeVorlauffrist(cal, t0, termingebunden, t0)
		return v.SpaetesterUT.String(), err
	}
}

func eingehalten(termingebunden bool) func(*werktag.Calendar, werktag.Date, werktag.Date) (string, error) {
	return func(cal *werktag.Calendar, ut, t0 werktag.Date) (string, error) {
		v, err := JudgeVorlauffrist(cal, t0, termingebunden, ut)
		return strconv.FormatBool(v.Eingehalten), err
	}
}

func TestFristen_agree_with_the_vectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/fristen_vectors.csv")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, row := range rows[1:] {
		rule, ok := fristRules[row[0]]
		if !ok {
			t.Fatalf("unknown rule %q", row[0])
		}
		seen[row[0]] = true
		got, err := rule(werktag.BDEW(), berlinDayOf(t, row[1]), berlinDayOf(t, row[2]))
		if err != nil || got != row[3] {
			t.Errorf("%s(%s, %s) = %s, %v; want %s", row[0], row[1], row[2], got, err, row[3])
		}
	}
	if len(seen) != len(fristRules) {
		t.Errorf("the vectors name %d of %d rules", len(seen), len(fristRules))
	}
}

// Half past midnight in Berlin is still the day before in UTC.
func TestIFTSTAFaelligAm_runs_from_the_Berlin_day_of_the_Abschluss(t *testing.T) {
	t.Parallel()
	for executedAt, want := range map[string]string{
		"2026-08-30T21:30:00Z":      "2026-08-31", // Sunday 23:30
		"2026-08-30T22:30:00Z":      "2026-09-01", // Monday 00:30
		"2026-08-31T00:30:00+02:00": "2026-09-01", // the same instant
	} {
		got, err := IFTSTAFaelligAm(werktag.BDEW(), berlinDayOf(t, executedAt))
		if err != nil || got.String() != want {
			t.Errorf("done %s: due %s, %v; want %s", executedAt, got, err, want)
		}
	}
}

func TestAusfuehrungFaelligAm_ignores_the_change_of_clocks(t *testing.T) {
	t.Parallel()
	for t0, want := range map[string]string{"2026-03-27": "2026-04-08", "2026-10-23": "2026-11-02"} {
		got, err := AusfuehrungFaelligAm(werktag.BDEW(), fristDay(t, t0))
		if err != nil || got.String() != want {
			t.Errorf("T0 %s: due %s, %v; want %s", t0, got, err, want)
		}
	}
}

// Where one of the two days is no Werktag, counting forward from the receipt
// would turn each of these verdicts round.
func TestJudgeVorlauffrist_counts_backwards_from_the_Sperrtermin(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		ut, t0         string
		termingebunden bool
		want           Vorlauffrist
	}{
		{"2026-02-21", "2026-03-02", false, Vorlauffrist{fristDay(t, "2026-02-20"), false}},
		{"2026-02-15", "2026-03-03", true, Vorlauffrist{fristDay(t, "2026-02-13"), false}},
		{"2026-02-27", "2026-03-07", false, Vorlauffrist{fristDay(t, "2026-02-27"), true}},
		{"2026-02-19", "2026-03-07", true, Vorlauffrist{fristDay(t, "2026-02-19"), true}},
	} {
		got, err := JudgeVorlauffrist(werktag.BDEW(), fristDay(t, tc.t0), tc.termingebunden, fristDay(t, tc.ut))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("received %s for %s (-want +got):\n%s", tc.ut, tc.t0, diff)
		}
	}
}

func TestFristen_outside_the_calendar_are_errors(t *testing.T) {
	t.Parallel()
	cal := werktag.BDEW()
	known := fristDay(t, "2026-08-31")
	for name, frist := range map[string]func(werktag.Date) (werktag.Date, error){
		"AusfuehrungFaelligAm":   func(d werktag.Date) (werktag.Date, error) { return AusfuehrungFaelligAm(cal, d) },
		"IFTSTAFaelligAm":        func(d werktag.Date) (werktag.Date, error) { return IFTSTAFaelligAm(cal, d) },
		"AnfrageSpaetesterUT":    func(d werktag.Date) (werktag.Date, error) { return AnfrageSpaetesterUT(cal, d) },
		"MSBAntwortFaelligAm":    func(d werktag.Date) (werktag.Date, error) { return MSBAntwortFaelligAm(cal, d) },
		"SperrterminUntergrenze": func(d werktag.Date) (werktag.Date, error) { return SperrterminUntergrenze(cal, d) },
		"JudgeVorlauffrist of T0": func(d werktag.Date) (werktag.Date, error) {
			v, err := JudgeVorlauffrist(cal, d, false, known)
			return v.SpaetesterUT, err
		},
		"JudgeVorlauffrist of the receipt": func(d werktag.Date) (werktag.Date, error) {
			v, err := JudgeVorlauffrist(cal, known, false, d)
			return v.SpaetesterUT, err
		},
	} {
		for _, d := range []werktag.Date{{}, werktag.NewDate(1, 1, 1), werktag.NewDate(2018, 12, 31), werktag.NewDate(2036, 1, 1)} {
			if got, err := frist(d); !errors.Is(err, werktag.ErrOutsideCalendar) || !got.IsZero() {
				t.Errorf("%s from %q = %q, %v", name, d, got, err)
			}
		}
	}
}

// An order of the last days of 2035 has no Frist that the calendar knows.
func TestFristen_that_lead_outside_the_calendar_are_errors(t *testing.T) {
	t.Parallel()
	cal := werktag.BDEW()
	for t0, want := range map[string]string{"2035-12-17": "2035-12-28", "2035-12-18": ""} {
		got, err := AusfuehrungFaelligAm(cal, fristDay(t, t0))
		if got.String() != want || errors.Is(err, werktag.ErrOutsideCalendar) != (want == "") {
			t.Errorf("T0 %s: due %q, %v; want %q", t0, got, err, want)
		}
	}
	if _, err := JudgeVorlauffrist(cal, fristDay(t, "2019-01-08"), false, fristDay(t, "2019-01-02")); !errors.Is(err, werktag.ErrOutsideCalendar) {
		t.Errorf("Vorlauf that begins before the calendar: %v", err)
	}
}

// Two claims about the physical act go round that GPKE Teil 2 § 3.5.1.2 Nr. 1
// contradicts: a much shorter window, and that there is none at all.
func TestFristen_documentation_repeats_no_false_window(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/fristen.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, claim := range []string{
		`(?i)\b(2|two|zwei)[ -]*(WT|Werktag\w*|working days?)\b`,
		`(?i)GPKE[^.|]*\b(fix|set|name|state|know|define|prescribe)\w*\s+(none|no\b)`,
	} {
		if found := regexp.MustCompile(claim).Find(text); found != nil {
			t.Errorf("docs/fristen.md says %q", found)
		}
	}
}
