package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// What is odd about an order, but no reason to refuse it, is told of on both ways in.
func TestWarnings_stand_on_orders_of_the_operator_and_of_the_market(t *testing.T) {
	t.Parallel()
	const place = `"treffpunkt":{"strasse":"Lindenallee 7","plz":"10115","ort":"Berlin","land":"DE"}`
	for name, c := range map[string]struct {
		lf, members      string // beside the Marktlokation; of an operator's order and of the data of an event
		operator, market string // in the warning; empty: there is none
	}{
		"a check digit of the BDEW": {"9900012345678", `"fruehestens_am":"2026-10-01"`, "BDEW-Codenummer 9900012345678 has check digit 8, but 9 would fit", "has check digit 8, but 9 would fit"},
		"a check digit of GS1":      {"4012345000024", `"fruehestens_am":"2026-10-01"`, "GLN 4012345000024 has check digit 4, but 3 would fit", "has check digit 4, but 3 would fit"},
		"a right check digit":       {"4012345000023", `"fruehestens_am":"2026-10-01"`, "", ""},
		"no date":                   {"4012345000023", place, "a Sperrung without a date", "neither DTM+203 nor DTM+469"},
		"a day without a place":     {"4012345000023", `"ausfuehrung_am":"2026-10-01"`, "a fixed date without a Treffpunkt", "DTM+203 without a Treffpunkt"},
		"a day with a place":        {"4012345000023", `"ausfuehrung_am":"2026-10-01",` + place, "", ""},
		"a text beyond Latin 1":     {"4012345000023", `"fruehestens_am":"2026-10-01","hinweis":"50 €"`, "(U+20AC)", "(U+20AC)"},
		"a street beyond Latin 1":   {"4012345000023", `"fruehestens_am":"2026-10-01",` + strings.Replace(place, "Lindenallee", "Łódźer Str.", 1), "(U+0141)", "(U+0141)"},
		"Latin 1":                   {"4012345000023", `"fruehestens_am":"2026-10-01","hinweis":"Tür 7, Größe ½ §"`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			fields := fmt.Sprintf(`"malo_id":%q,"lf_mp_id":%q,%s`, malo, c.lf, c.members)
			wantWarning(t, "operator", b.create(t, `{"order_type":"sperrung",`+fields+`}`), c.operator)
			event := fmt.Appendf(nil, `{"specversion":"1.0","id":"e-1","source":"urn:x","type":"de.mako.process.initiated","subject":"%s",
				"makopid":17115,"data":{%s}}`, uuid.NewString(), strings.Replace(fields, malo, maloOf(1), 1))
			wantWarning(t, "market", b.order(t, decode[order](t, b.deliver(t, event), http.StatusCreated).ID), c.market)
		})
	}
}

// wantWarning checks the one warning of an order by a part of its text; empty: it has none.
func wantWarning(t *testing.T, way string, o order, part string) {
	t.Helper()
	if part == "" && len(o.Warnungen) > 0 || part != "" && (len(o.Warnungen) != 1 || !strings.Contains(o.Warnungen[0], part)) {
		t.Errorf("%s: warnings %q, want one with %q, or none where that is empty", way, o.Warnungen, part)
	}
}
