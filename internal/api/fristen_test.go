package api_test

import (
	"encoding/csv"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/werktag"
)

const fristen = "/api/v1/fristen"

type frist struct {
	Art    string  `json:"art"`
	Datum  *string `json:"datum"`
	Stored *string `json:"stored"`
	Anchor struct {
		Name  string  `json:"name"`
		Datum *string `json:"datum"`
	} `json:"anchor"`
	MissedFrom       *string `json:"missed_from"`
	Uebertragungstag *string `json:"uebertragungstag"`
	Eingehalten      *bool   `json:"eingehalten"`
	Days             []struct {
		Datum   string  `json:"datum"`
		Counted bool    `json:"counted"`
		Reason  *string `json:"reason"`
	} `json:"days"`
	Note *string `json:"note"`
}

type fristenAnswer struct {
	OrderID string  `json:"order_id"`
	Datum   *string `json:"datum"`
	Art     *string `json:"art"`
	Visit   *struct {
		InWindow *bool   `json:"in_window"`
		Note     *string `json:"note"`
	} `json:"visit"`
	Fristen []frist `json:"fristen"`
}

func (b *bench) fristen(t *testing.T, path string) fristenAnswer {
	t.Helper()
	return decode[fristenAnswer](t, b.get(t, path), http.StatusOK)
}

// days is each Frist of an answer in short: "art datum", "art -".
func (a fristenAnswer) days() []string {
	var list []string
	for _, f := range a.Fristen {
		datum := "-"
		if f.Datum != nil {
			datum = *f.Datum
		}
		list = append(list, f.Art+" "+datum)
	}
	return list
}

func TestFristen_agree_with_the_vectors(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	file, err := os.Open("../sperr/testdata/fristen_vectors.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	arten := map[string]string{
		"ausfuehrung_faellig": "ausfuehrung", "iftsta_faellig": "iftsta", "vorlauf6_spaetester_ut": "vorlauf",
		"vorlauf12_spaetester_ut": "vorlauf_termingebunden", "msb_anfrage_spaetester_ut": "anfrage_msb",
		"msb_antwort_faellig": "antwort_msb", "sperrtermin_untergrenze": "sperrtermin_ohne_zustimmung",
	}
	asked := 0
	for _, row := range rows {
		art, of := arten[row[0]]
		if !of {
			continue
		}
		instant, err := time.Parse(time.RFC3339, row[1])
		if err != nil {
			t.Fatal(err)
		}
		asked++
		a := b.fristen(t, fristen+"?art="+art+"&datum="+werktag.BerlinDay(instant).String())
		if diff := cmp.Diff([]string{art + " " + row[3]}, a.days()); diff != "" || *a.Art != art {
			t.Errorf("%v (-want +got):\n%s", row, diff)
		}
	}
	if asked != 224 {
		t.Errorf("%d vectors were asked for", asked)
	}
}

func TestFristen_without_parameters_tell_all_from_the_Berlin_day(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *settings) { s.options.Now = berlinHalfPastMidnight })
	a := b.fristen(t, fristen)
	want := []string{
		"ausfuehrung 2026-09-16", "iftsta 2026-09-09", "vorlauf 2026-08-31", "vorlauf_termingebunden 2026-08-21", "anfrage_msb 2026-09-03",
		"antwort_msb 2026-09-11", "sperrtermin_ohne_zustimmung 2026-09-16", "sperrtermin_mit_zustimmung 2026-09-08",
	}
	if diff := cmp.Diff(want, a.days()); diff != "" || *a.Datum != "2026-09-08" || a.Art != nil {
		t.Errorf("datum %s, art %v (-want +got):\n%s", *a.Datum, a.Art, diff)
	}
	if head := b.call(t, http.MethodHead, fristen, ""); head.status != http.StatusOK {
		t.Errorf("HEAD: %d", head.status)
	}
}

func TestFristen_say_why_a_day_does_not_count(t *testing.T) {
	t.Parallel()
	a := newBench(t).fristen(t, fristen+"?datum=2026-11-17&art=iftsta")
	days := a.Fristen[0].Days
	if len(days) != 2 || *days[0].Reason != "Buß- und Bettag (SN)" || days[0].Counted || days[1].Reason != nil || !days[1].Counted {
		t.Errorf("days %+v", days)
	}
}

// badDays are what no route takes for a day.
var badDays = []string{
	"infinity", "-infinity", "0001-01-01", "9999-12-31", "2018-12-31", "2036-01-01", "2026-02-30", "20260831", "31.08.2026", "%20",
	"%202026-08-31", "2026-08-31%20", "2026-08-31T00:00:00Z", "today", "%EF%BC%92026-08-31", "10000-01-01", "2026-8-31", "0000-01-01",
}

func TestFristen_refuse_a_day_that_is_none_and_name_the_years(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create(t, minimal("sperrung")).ID
	for _, path := range []string{fristen, orders + "/" + id + "/fristen"} {
		for _, datum := range badDays {
			p := wantProblem(t, b.get(t, path+"?datum="+datum), http.StatusBadRequest, "invalid_parameter", "datum")
			if !strings.Contains(p.Detail, "2019 to 2035") {
				t.Errorf("datum=%s: %s", datum, p.Detail)
			}
		}
		wantProblem(t, b.get(t, path+"?datum="), http.StatusBadRequest, "invalid_parameter", "datum")
		wantProblem(t, b.get(t, path+"?datum=2026-08-31&datum=2026-08-31"), http.StatusBadRequest, "invalid_parameter", "datum")
		wantProblem(t, b.get(t, path+"?tag=2026-08-31"), http.StatusBadRequest, "invalid_parameter", "tag")
	}
	wantProblem(t, b.get(t, orders+"/"+id+"/fristen?art=iftsta"), http.StatusBadRequest, "invalid_parameter", "art")
}

func TestFristen_refuse_an_unknown_art_and_list_those_there_are(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, art := range []string{"storno", "Ausfuehrung", "ausf%C3%BChrung", "%20", "iftsta,vorlauf"} {
		p := wantProblem(t, b.get(t, fristen+"?art="+art), http.StatusBadRequest, "invalid_parameter", "art")
		const list = "ausfuehrung, iftsta, vorlauf, vorlauf_termingebunden, anfrage_msb, antwort_msb, sperrtermin_ohne_zustimmung, sperrtermin_mit_zustimmung"
		if !strings.Contains(p.Detail, list) {
			t.Errorf("art=%s: %s", art, p.Detail)
		}
	}
}

func TestOrderFristen_are_those_of_the_order(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := strings.NewReplacer(`"ausfuehrung_am":"2026-09-07"`, `"ausfuehrung_am":null`, `"fruehestens_am":null`, `"fruehestens_am":"2026-09-07"`)
	id := b.create(t, body.Replace(fullOrder)).ID
	a := b.fristen(t, orders+"/"+id+"/fristen?datum=2026-09-16")
	want := []string{
		"ausfuehrung 2026-09-15", "anfrage_msb 2026-09-11", "sperrtermin_ohne_zustimmung 2026-09-11", "sperrtermin_mit_zustimmung 2026-09-07",
	}
	if diff := cmp.Diff(want, a.days()); diff != "" || a.OrderID != id || *a.Fristen[0].Stored != "2026-09-15" {
		t.Errorf("order %s (-want +got):\n%s", a.OrderID, diff)
	}
	if *a.Datum != "2026-09-16" || a.Visit == nil || *a.Visit.InWindow {
		t.Errorf("asked for %v, visit %+v; want one outside the window", a.Datum, a.Visit)
	}
	if plain := b.fristen(t, orders+"/"+id+"/fristen"); plain.Visit != nil || plain.Datum != nil {
		t.Errorf("visit %+v without a question", plain.Visit)
	}
}

func TestOrderFristen_follow_the_order_to_its_Abschluss(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.market(t, 17117, malo).ID
	path := orders + "/" + id + "/fristen"
	if diff := cmp.Diff([]string{"ausfuehrung -", "iftsta -"}, b.fristen(t, path).days()); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
	wantStatus(t, b.report(t, id, "execute", `{"executed_at":"2026-09-02T22:30:00Z"}`), http.StatusNoContent)
	a := b.fristen(t, path)
	if diff := cmp.Diff([]string{"ausfuehrung -", "iftsta 2026-09-04"}, a.days()); diff != "" {
		t.Errorf("executed (-want +got):\n%s", diff)
	}
	if f := a.Fristen[1]; *f.Stored != "2026-09-04" || *f.Anchor.Datum != "2026-09-03" || *f.MissedFrom != "2026-09-04T22:00:00Z" {
		t.Errorf("iftsta %+v", f)
	}
}

func TestOrderFristen_bring_the_verdict_on_the_Vorlauf(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.market(t, 17115, malo).ID // undated
	if _, err := b.pool.Exec(t.Context(), `UPDATE sperr_orders SET fruehestens_am = '2026-09-14', vorlauffrist_spaetester_ut = '2026-09-03',
		vorlauffrist_eingehalten = false, uebertragungstag = '2026-09-04' WHERE id = $1`, id); err != nil {
		t.Fatal(err)
	}
	f := b.fristen(t, orders+"/"+id+"/fristen").Fristen[1]
	if f.Art != "vorlauf" || *f.Datum != "2026-09-04" || *f.Stored != "2026-09-03" || *f.Eingehalten || *f.Uebertragungstag != "2026-09-04" ||
		!strings.Contains(*f.Note, "es gilt der Tag, den der Auftrag trägt: 2026-09-03") {
		t.Errorf("vorlauf %+v, note %v", f, f.Note)
	}
}

func TestOrderFristen_of_no_order_are_not_found(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create(t, minimal("sperrung")).ID
	if _, err := b.pool.Exec(t.Context(), `UPDATE sperr_orders SET tenant = '9900000000001' WHERE id = $1`, id); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{id, "0b7c1e2a-1111-4000-8000-000000000009", "x", "%00"} {
		wantProblem(t, b.get(t, orders+"/"+name+"/fristen"), http.StatusNotFound, "not_found")
	}
}
