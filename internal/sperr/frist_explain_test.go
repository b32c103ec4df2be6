package sperr

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/werktag"
)

// explained is the one Frist of art from day.
func explained(t *testing.T, cal *werktag.Calendar, art FristArt, day werktag.Date) Frist {
	t.Helper()
	all := ExplainFristen(cal, day, art)
	if len(all.Fristen) != 1 || all.Fristen[0].Art != art || all.Datum != day || *all.Art != art {
		t.Fatalf("%s from %s: %+v", art, day, all)
	}
	return all.Fristen[0]
}

// vectorArten says which clock a rule of the vector file is about.
var vectorArten = map[string]FristArt{
	"ausfuehrung_faellig": FristAusfuehrung, "iftsta_faellig": FristIFTSTA, "msb_anfrage_spaetester_ut": FristAnfrageMSB,
	"msb_antwort_faellig": FristAntwortMSB, "sperrtermin_untergrenze": FristSperrterminOhneZustimmung,
	"vorlauf6_spaetester_ut": FristVorlauf, "vorlauf12_spaetester_ut": FristVorlaufTermingebunden,
	"vorlauf6_eingehalten": FristVorlauf, "vorlauf12_eingehalten": FristVorlaufTermingebunden,
	"berlin_day": FristSperrterminMitZustimmung, // the day itself
}

func TestExplanations_agree_with_the_vectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/fristen_vectors.csv")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(rows) != 273 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, row := range rows[1:] {
		from := berlinDayOf(t, row[1])
		verdict := strings.HasSuffix(row[0], "_eingehalten")
		if verdict { // received on the first instant for the second
			from = berlinDayOf(t, row[2])
		}
		f := explained(t, werktag.BDEW(), vectorArten[row[0]], from)
		if f.Datum == nil {
			t.Fatalf("%v is not counted: %s", row, *f.Note)
		}
		got := f.Datum.String()
		if verdict {
			got = strconv.FormatBool(!berlinDayOf(t, row[1]).After(*f.Datum))
		}
		if got != row[3] {
			t.Errorf("%v: %s", row, got)
		}
	}
}

// Every clock from every day that the calendar knows: the day list is the count.
func TestExplanation_days_are_the_count_of_the_calendar(t *testing.T) {
	t.Parallel()
	builtIn := werktag.BDEW()
	extra := []werktag.Date{werktag.NewDate(2026, time.December, 28), werktag.NewDate(2030, time.July, 1)}
	for _, cal := range []*werktag.Calendar{builtIn, builtIn.With(extra)} {
		for from := werktag.NewDate(werktag.FirstYear, 1, 1); from.Year() <= werktag.LastYear; from = from.AddDays(1) {
			for _, f := range ExplainFristen(cal, from, "").Fristen {
				if problem := wrongCount(cal, from, f); problem != "" {
					t.Fatalf("%s from %s: %s: %+v", f.Art, from, problem, f)
				}
			}
		}
	}
}

// wrongCount says what is wrong with the count of f from a day of the calendar.
func wrongCount(cal *werktag.Calendar, from werktag.Date, f Frist) string {
	count, step := cal.Add, 1
	if f.Direction == FristBackward {
		count, step = cal.Sub, -1
	}
	want, err := count(from, f.Werktage)
	if err != nil {
		if f.Datum != nil || len(f.Days) != 0 || f.MissedFrom != nil || f.Note == nil || !strings.Contains(*f.Note, "Nicht gezählt") {
			return "leads outside the calendar and is counted"
		}
		return ""
	}
	if f.Datum == nil || *f.Datum != want || *f.Anchor.Datum != from {
		return "is not " + want.String()
	}
	n, d := 0, from
	for _, day := range f.Days {
		d = d.AddDays(step)
		werktag, _ := cal.IsWerktag(d)
		if werktag {
			n++
		}
		if day.Datum != d || day.Wochentag != d.Wochentag() || day.Counted != werktag || text(day.Reason) != cal.Reason(d) ||
			werktag && day.Werktag != n || !werktag && day.Werktag != 0 {
			return "has a wrong day " + d.String()
		}
	}
	if d != want || n != f.Werktage {
		return "has days that do not lead there"
	}
	return ""
}

func TestExplanation_says_how_each_clock_runs(t *testing.T) {
	t.Parallel()
	want := map[FristArt][]string{
		FristAusfuehrung:               {"2026-09-08", "2026-09-08T22:00:00Z", "forward", "6 WT nach dem frühestmöglichen Sperrtermin", "GPKE Teil 2 § 3.5.1.2 Nr. 1"},
		FristIFTSTA:                    {"2026-09-01", "2026-09-01T22:00:00Z", "forward", "1 WT nach dem Abschluss", "GPKE Teil 2 § 3.5.1.2 Nr. 5 (Sperrung), § 3.5.2.2 Nr. 4 (Entsperrung)"},
		FristVorlauf:                   {"2026-08-21", "2026-08-21T22:00:00Z", "backward", "6 WT vor dem frühestmöglichen Sperrtermin", "GPKE Teil 2 § 3.5.1.2 Nr. 1"},
		FristVorlaufTermingebunden:     {"2026-08-13", "2026-08-13T22:00:00Z", "backward", "12 WT vor dem festen Sperrtermin", "GPKE Teil 2 § 3.5.1.2 Nr. 1"},
		FristAnfrageMSB:                {"2026-08-26", "2026-08-26T22:00:00Z", "backward", "3 WT vor dem Sperrtermin", "GPKE Teil 2 § 3.5.1.2 Nr. 3"},
		FristAntwortMSB:                {"2026-09-03", "2026-09-03T22:00:00Z", "forward", "3 WT nach dem ÜT der Anfrage", "GPKE Teil 2 § 3.5.1.2, Antwort auf Nr. 3"},
		FristSperrterminOhneZustimmung: {"2026-09-08", "", "forward", "6 WT nach dem Tag der Festlegung", "GPKE Teil 2 § 3.5.1.2 Nr. 2"},
		FristSperrterminMitZustimmung:  {"2026-08-31", "", "none", "kein Vorlauf: der Tag selbst", "GPKE Teil 2 § 3.5.1.2 Nr. 2"},
	}
	got := map[FristArt][]string{}
	for _, f := range ExplainFristen(werktag.BDEW(), day("2026-08-31"), "").Fristen {
		missed := ""
		if f.MissedFrom != nil {
			missed = f.MissedFrom.Format(time.RFC3339)
		}
		got[f.Art] = []string{f.Datum.String(), missed, string(f.Direction), f.Rule, f.Paragraph}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(FristArten()) != len(want) || FristArt("").Valid() || FristArt("storno").Valid() || !FristIFTSTA.Valid() {
		t.Errorf("arten %v", FristArten())
	}
}

func TestExplanation_notes_a_day_itself_that_is_no_Werktag(t *testing.T) {
	t.Parallel()
	f := explained(t, werktag.BDEW(), FristSperrterminMitZustimmung, day("2026-10-03"))
	if f.Datum.String() != "2026-10-03" || !strings.Contains(*f.Note, "kein Werktag: Samstag; Tag der Deutschen Einheit (alle Länder)") {
		t.Errorf("%+v, note %s", f, *f.Note)
	}
}

// The first days of the years and the last ones are answered like any other, and at once.
func TestExplanation_guesses_nothing_outside_the_calendar(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"0001-01-01", "2018-12-31", "2036-01-01", "9999-12-31"} {
		for _, f := range ExplainFristen(werktag.BDEW(), day(from), "").Fristen {
			if f.Datum != nil || f.MissedFrom != nil || len(f.Days) != 0 || !strings.Contains(*f.Note, from+" liegt außerhalb des Kalenders, der 2019 bis 2035 kennt") {
				t.Errorf("%s from %s: %+v", f.Art, from, f)
			}
		}
	}
	for from, art := range map[string]FristArt{"2035-12-18": FristAusfuehrung, "2035-12-28": FristIFTSTA, "2019-01-02": FristAnfrageMSB} {
		f := explained(t, werktag.BDEW(), art, day(from))
		if f.Datum != nil || !strings.Contains(*f.Note, "führt aus dem Kalender hinaus") {
			t.Errorf("%s from %s: %+v", f.Art, from, f)
		}
	}
	if f := explained(t, werktag.BDEW(), FristAusfuehrung, werktag.Date{}); f.Datum != nil || f.Anchor.Datum != nil {
		t.Errorf("from no day: %+v", f)
	}
}

func TestExplanation_lists_are_never_null(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		ExplainFristen(werktag.BDEW(), day("2036-01-01"), ""), ExplainFristen(werktag.BDEW(), day("2026-01-01"), "storno"),
		ExplainOrder(werktag.BDEW(), Order{OrderType: TypeEntsperrung}, day("2026-01-01"), nil),
	} {
		text, err := json.Marshal(v)
		if err != nil || strings.Contains(string(text), `"days":null`) || strings.Contains(string(text), `"fristen":null`) {
			t.Errorf("%s, %v", text, err)
		}
	}
}

func TestExplanations_are_golden(t *testing.T) {
	t.Parallel()
	wantGolden(t, "frist.busstag", explained(t, werktag.BDEW(), FristAusfuehrung, day("2026-11-13")))
	wantGolden(t, "frist.weihnachten", explained(t, werktag.BDEW(), FristVorlauf, day("2027-01-05")))
}
