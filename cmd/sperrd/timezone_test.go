package main

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/postgres/postgrestest"
)

// fristen are the days of an order.
type fristen struct {
	AusfuehrungAm            string `json:"ausfuehrung_am"`
	AusfuehrungFaelligAm     string `json:"ausfuehrung_faellig_am"`
	VorlauffristSpaetesterUT string `json:"vorlauffrist_spaetester_ut"`
	VorlauffristEingehalten  *bool  `json:"vorlauffrist_eingehalten"`
	IFTSTAFaelligAm          string `json:"iftsta_faellig_am"`
}

// Each instant of the test lies in the last two hours of a UTC day, which in
// Berlin are the next one already.
func TestServe_counts_Berlin_days_whatever_the_zone_of_machine_and_database(t *testing.T) {
	t.Parallel()
	kept := false // received on 14 August, and not on the 13th as in UTC
	want := fristen{
		AusfuehrungAm: "2026-08-31", AusfuehrungFaelligAm: "2026-09-08",
		VorlauffristSpaetesterUT: "2026-08-13", VorlauffristEingehalten: &kept,
		IFTSTAFaelligAm: "2026-09-08", // done on Monday 7 September, and not on Sunday
	}
	for name, c := range map[string]struct {
		env      []string
		timezone string
	}{
		"UTC":       {[]string{"TZ=UTC"}, "UTC"},
		"elsewhere": {[]string{"TZ=America/New_York", "ZONEINFO=/nonexistent"}, "Pacific/Auckland"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMarket(t)
			s := setup{port: freePort(t), database: postgrestest.NewURL(t), makod: m.url}
			execSQL(t, s.database, "ALTER DATABASE "+databaseName(t, s.database)+" SET timezone = '"+c.timezone+"'")
			i := startChild(t, s, c.env...)
			i.awaitReady(t)
			id := m.queued(t, i, m.sperrauftrag(t, maloID(1), map[string]any{"ausfuehrung_am": "202608302200+00"}))
			status, body, err := i.call(t.Context(), http.MethodPut, executePath(id), `{"executed_at":"2026-09-06T22:30:00Z"}`)
			if err != nil || status != http.StatusNoContent {
				t.Fatalf("execute: %d %s %v; want 204", status, body, err)
			}
			_, body, err = i.get(t, "/api/v1/sperr-orders/"+id)
			if err != nil {
				t.Fatal(err)
			}
			var got fristen
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Fristen (-want +got):\n%s", diff)
			}
		})
	}
}
