package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pruefschritt is an element of the list of codes.
type pruefschritt struct {
	Code          string  `json:"code"`
	OrderType     string  `json:"order_type"`
	Outcome       string  `json:"outcome"`
	EBD           string  `json:"ebd"`
	FormatVersion string  `json:"format_version"`
	ValidFrom     string  `json:"valid_from"`
	ValidTo       *string `json:"valid_to"`
	Bedeutung     string  `json:"bedeutung"`
	TextRequired  bool    `json:"text_required"`
	FirstVisit    string  `json:"first_visit"`
	FilledIn      bool    `json:"filled_in"`
}

func codes(list []pruefschritt) string {
	var names []string
	for _, p := range list {
		names = append(names, p.EBD[4:]+p.Code)
	}
	return strings.Join(names, " ")
}

func (b *bench) codes(t *testing.T, query string) []pruefschritt {
	t.Helper()
	return decode[[]pruefschritt](t, b.get(t, pruefschritte+query), http.StatusOK)
}

func TestPruefschritte_are_those_of_today_in_the_order_of_the_trees_steps(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for query, want := range map[string]string{
		"":                                                     "72A01 72A08 72A02 72A03 72A04 72A05 72A06 72A07 99A01 99A02",
		"?order_type=sperrung":                                 "72A01 72A08 72A02 72A03 72A04 72A05 72A06 72A07",
		"?order_type=sperrung&outcome=failed":                  "72A01 72A08 72A02 72A03 72A04 72A05 72A06",
		"?outcome=executed":                                    "72A07 99A01",
		"?order_type=entsperrung&outcome=failed":               "99A02",
		"?datum=2025-06-06&outcome=executed":                   "72A07 99A01",
		"?datum=2035-01-01&order_type=entsperrung":             "99A01 99A02",
		"?datum=2025-06-05":                                    "",
		"?datum=0001-01-01&order_type=sperrung":                "",
		"?outcome=failed&order_type=sperrung&datum=9999-12-31": "72A01 72A08 72A02 72A03 72A04 72A05 72A06",
	} {
		a := b.get(t, pruefschritte+query)
		if got := codes(decode[[]pruefschritt](t, a, http.StatusOK)); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
		if want == "" && string(a.body) != "[]" {
			t.Errorf("%s: body %s, want an empty array", query, a.body)
		}
	}
	for date, want := range map[string]string{
		"": "FV2604", "2025-06-06": "FV2504", "2025-09-30": "FV2504", "2025-10-01": "FV2510", "2026-03-31": "FV2510", "2026-04-01": "FV2604",
		"2026-09-30": "FV2604", "2026-10-01": "FV2610",
	} {
		query := ""
		if date != "" {
			query = "?datum=" + date
		}
		for _, p := range b.codes(t, query) {
			if p.FormatVersion != want || date != "" && p.ValidFrom > date || p.ValidTo != nil && *p.ValidTo < date {
				t.Errorf("%s: %s of %s, want %s", date, p.Code, p.FormatVersion, want)
			}
		}
	}
}

func TestPruefschritte_say_what_each_code_needs_and_does(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.get(t, pruefschritte+"?order_type=sperrung")
	list := decode[[]json.RawMessage](t, a, http.StatusOK)
	for i, want := range map[int]string{
		2: `{"code":"A02","order_type":"sperrung","outcome":"failed","ebd":"E_0472","format_version":"FV2604","valid_from":"2026-04-01",` +
			`"valid_to":"2026-09-30","auftragsstatus":"Z37","iftsta_code":"Z13","cluster":"gescheitert","step":3,` +
			`"bedeutung":"Zutritt aktiv verweigert, z. B. durch Drohung oder Versperren des Weges","text_required":false,"first_visit":"closes","filled_in":false}`,
		7: `{"code":"A07","order_type":"sperrung","outcome":"executed","ebd":"E_0472","format_version":"FV2604","valid_from":"2026-04-01",` +
			`"valid_to":"2026-09-30","auftragsstatus":"Z37","iftsta_code":"Z14","cluster":"erfolgreich","step":7,` +
			`"bedeutung":"Sperrung durchgeführt","text_required":false,"first_visit":"closes","filled_in":true}`,
	} {
		if diff := cmp.Diff(want, string(list[i])); diff != "" {
			t.Errorf("element %d (-want +got):\n%s", i, diff)
		}
	}
	if got := b.get(t, pruefschritte+"?order_type=entsperrung&outcome=failed&datum=2026-10-01"); !strings.Contains(string(got.body), `"valid_to":null,"auftragsstatus":"Z38"`) {
		t.Errorf("body %s, want valid_to null", got.body)
	}
}

func TestPruefschritte_refuse_a_bad_value_and_name_the_good_ones(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for query, c := range map[string]struct{ field, detail string }{
		"order_type=Sperrung":               {"order_type", "sperrung or entsperrung"},
		"order_type=17115":                  {"order_type", "sperrung or entsperrung"},
		"order_type=":                       {"order_type", "empty"},
		"outcome=Z13":                       {"outcome", "executed or failed"},
		"outcome=pending":                   {"outcome", "executed or failed"},
		"outcome=cancelled":                 {"outcome", "executed or failed"},
		"datum=heute":                       {"datum", "must be a day, written YYYY-MM-DD"},
		"datum=2026-02-30":                  {"datum", "must be a day, written YYYY-MM-DD"},
		"datum=20260903":                    {"datum", "must be a day, written YYYY-MM-DD"},
		"datum=2026-09-03T00:00Z":           {"datum", "must be a day, written YYYY-MM-DD"},
		"datum=%00":                         {"datum", "not text"},
		"datum=%ff":                         {"datum", "not text"},
		"day=2026-09-03":                    {"day", "not a parameter"},
		"datum=2026-09-03&datum=2026-09-03": {"datum", "more than once"},
	} {
		p := wantProblem(t, b.get(t, pruefschritte+"?"+query), http.StatusBadRequest, "invalid_parameter", c.field)
		if !strings.Contains(p.Detail, c.detail) {
			t.Errorf("%s: detail %q, want %q in it", query, p.Detail, c.detail)
		}
	}
	wantProblem(t, b.call(t, http.MethodPost, pruefschritte, "{}"), http.StatusMethodNotAllowed, "method_not_allowed")
	g := newGuarded(t)
	wantProblem(t, g.get(t, pruefschritte), http.StatusUnauthorized, "unauthenticated")
}

// What the list says of a code is what a report with it does.
func TestPruefschritte_are_exactly_what_reports_of_market_orders_take(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pids := map[string]int{"sperrung": 17115, "entsperrung": 17117}
	listed := b.codes(t, "")
	for n, p := range listed {
		id := b.market(t, pids[p.OrderType], maloOf(n)).ID
		verb, body := "execute", `{"pruefschritt_code":"`+p.Code+`"}`
		if p.Outcome == "failed" {
			verb, body = "fail", `{"reason":"siehe Protokoll","pruefschritt_code":"`+p.Code+`"}`
		}
		a := b.report(t, id, verb, body)
		closed := b.order(t, id).Status == p.Outcome
		if closed != (p.FirstVisit == "closes") || !closed && a.status != http.StatusAccepted || closed && a.status != http.StatusNoContent {
			t.Errorf("%s %s: %d, closed %t, listed as %s", p.EBD, p.Code, a.status, closed, p.FirstVisit)
		}
		if advised := strings.Contains(string(a.body), "endgueltig: true"); advised != (p.FirstVisit == "advise_endgueltig") {
			t.Errorf("%s %s: advised %t, listed as %s", p.EBD, p.Code, advised, p.FirstVisit)
		}
	}
	for i, p := range []struct{ orderType, outcome, verb string }{
		{"sperrung", "executed", "execute"}, {"sperrung", "failed", "fail"}, {"entsperrung", "executed", "execute"}, {"entsperrung", "failed", "fail"},
	} {
		fitting := b.codes(t, "?order_type="+p.orderType+"&outcome="+p.outcome)
		id := b.market(t, pids[p.orderType], maloOf(100+i)).ID
		body := `{}`
		if p.verb == "fail" {
			body = `{"reason":"zu","endgueltig":true}`
		}
		a := b.report(t, id, p.verb, body)
		if fitting[0].FilledIn {
			wantStatus(t, a, http.StatusNoContent)
			if got := b.order(t, id).PruefschrittCode; got == nil || *got != fitting[0].Code {
				t.Errorf("%s %s: code %v, want %s filled in", p.verb, p.orderType, got, fitting[0].Code)
			}
			continue
		}
		var named []string
		for _, f := range fitting {
			named = append(named, f.Code)
		}
		wantFitting(t, a, named, "pruefschritt_code")
	}
}
