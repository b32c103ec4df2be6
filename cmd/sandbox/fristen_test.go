package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"sperrd/internal/sperr"
	"sperrd/internal/werktag"
)

// The chapter counts on its own: on weekends, around Christmas, across two months and
// where the calendar ends it agrees with what the service explains.
func TestStory_explains_why_this_day_on_every_day(t *testing.T) {
	t.Parallel()
	service := newFristService()
	server := httptest.NewServer(service)
	defer server.Close()
	n := beside(t, server.URL)
	for _, span := range [][2]werktag.Date{
		{werktag.NewDate(2026, time.January, 1), werktag.NewDate(2027, time.January, 31)},
		{werktag.NewDate(2035, time.December, 1), werktag.NewDate(2035, time.December, 30)},
	} {
		for today := span[0]; !today.After(span[1]); today = today.AddDays(1) {
			s := newStory(n, today)
			service.tells(s)
			s.whyThisDay(t.Context())
			if s.err != nil {
				t.Errorf("%s: %v", today, s.err)
			}
		}
	}
}

// A service that explains a Frist wrong ends the story, in whichever way it does.
func TestStory_stops_at_a_wrong_explanation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after, says string }{
		"another day":           {`"datum":"2027-01-04"`, `"datum":"2027-01-05"`, "ausfuehrung is 2027-01-05, not 2027-01-04"},
		"a day without reason":  {`"reason":"Heiligabend (Marktregel)"`, `"reason":null`, "counts 2026-12-24 as false"},
		"a holiday that counts": {`"datum":"2026-12-25","wochentag":"Freitag","counted":false`, `"datum":"2026-12-25","wochentag":"Freitag","counted":true`, "counts 2026-12-25 as true"},
		"another anchor":        {`"datum":"2026-12-21"}`, `"datum":"2026-12-22"}`, "runs from 2026-12-22, not from 2026-12-21"},
		"another paragraph":     {"3.5.1.2 Nr. 1", "3.5.1.2 Nr. 9", "Nr. 9"},
		"a Vorlauf kept":        {`"eingehalten":false`, `"eingehalten":true`, "the Vorlauf is kept true"},
		"a visit in the window": {`"in_window":false`, `"in_window":true`, "not told to be outside the window"},
		"another Lieferant":     {`"lf_mp_id":"` + anotherLieferant, `"lf_mp_id":"` + lieferant, "does not name the Lieferant " + anotherLieferant},
		"another delay":         {`"werktage_zu_spaet":3`, `"werktage_zu_spaet":4`, "this one by 4 Werktage"},
		"a code too few":        {`["A01","A08",`, `["A08",`, "the refusal [A08"},
		"nobody to go again":    {`"stays_open"`, `"closes"`, "the list has no A08"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFristService()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				said := httptest.NewRecorder()
				service.ServeHTTP(said, r)
				for name, values := range said.Header() {
					w.Header()[name] = values
				}
				w.WriteHeader(said.Code)
				_, _ = w.Write([]byte(strings.ReplaceAll(said.Body.String(), c.before, c.after)))
			}))
			defer server.Close()
			s := newStory(beside(t, server.URL), werktag.NewDate(2026, time.December, 21))
			service.tells(s)
			s.whyThisDay(t.Context())
			if s.err == nil || !strings.Contains(s.err.Error(), c.says) {
				t.Errorf("the story ends with %v, want %q", s.err, c.says)
			}
		})
	}
}

// fristService answers what the chapter asks, with the explanations of the service itself
// on the day of a story.
type fristService struct {
	*http.ServeMux
	today  werktag.Date
	order  sperr.Order
	report sperr.VorlauffristReport
}

func newFristService() *fristService {
	f := &fristService{ServeMux: http.NewServeMux()}
	tell := func(w http.ResponseWriter, value any) { _ = json.NewEncoder(w).Encode(value) }
	f.HandleFunc("GET "+ordersPath+"/{id}", func(w http.ResponseWriter, _ *http.Request) { tell(w, f.order) })
	f.HandleFunc("GET "+ordersPath+"/{id}/fristen", func(w http.ResponseWriter, r *http.Request) {
		var visit *werktag.Date
		if day, err := werktag.ParseDate(r.URL.Query().Get("datum")); err == nil {
			visit = &day
		}
		tell(w, sperr.ExplainOrder(werktag.BDEW(), f.order, f.today, visit))
	})
	f.HandleFunc("PUT "+ordersPath+"/{id}/fail", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(headerTransactionID, r.Header.Get(headerTransactionID))
		w.Header().Set(headerReferenceID, r.Header.Get(headerTransactionID))
		w.WriteHeader(http.StatusUnprocessableEntity)
		tell(w, fields{"fitting_codes": []string{"A01", "A08", "A02", "A03", "A04", "A05", "A06"}})
	})
	f.HandleFunc("GET "+pruefschrittePath, func(w http.ResponseWriter, _ *http.Request) {
		list, _ := sperr.Pruefschritte(f.today, sperr.TypeSperrung, sperr.StatusFailed)
		tell(w, list)
	})
	f.HandleFunc("GET "+vorlauffristPath, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("monat") != f.report.Monat {
			tell(w, sperr.VorlauffristReport{})
			return
		}
		tell(w, f.report)
	})
	return f
}

// tells makes the late order of a story, as the service would have queued it.
func (f *fristService) tells(s *story) {
	cal, came, process := werktag.BDEW(), s.came(), "p"
	id := uuid.New()
	f.today = s.today
	f.order = sperr.Order{
		ID: id, OrderType: sperr.TypeSperrung, Status: sperr.StatusPending, ProcessID: &process, LieferantID: anotherLieferant,
		FruehestensAm: &s.due, Uebertragungstag: &came,
	}
	if day, err := sperr.AusfuehrungFaelligAm(cal, s.due); err == nil {
		f.order.AusfuehrungFaelligAm = &day
	}
	verdict, err := sperr.JudgeVorlauffrist(cal, s.due, false, came)
	s.try(err)
	f.order.VorlauffristEingehalten, f.order.VorlauffristSpaetesterUT = &verdict.Eingehalten, &verdict.SpaetesterUT
	late, err := cal.Count(verdict.SpaetesterUT, came)
	s.try(err)
	f.report = sperr.VorlauffristReport{Monat: came.String()[:7], Lieferanten: []sperr.LieferantVorlauffrist{
		{LieferantID: anotherLieferant, Orders: 1, Judged: 1, Late: 1, LateOrders: []sperr.LateOrder{{ID: id, WerktageZuSpaet: &late}}},
	}}
	text, err := json.Marshal(f.order)
	s.try(err)
	s.try(json.Unmarshal(text, &s.earliest))
}
