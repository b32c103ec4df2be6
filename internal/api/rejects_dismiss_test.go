package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func TestDismiss_settles_for_a_reason_and_makes_no_order(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	kept := g.refused(t, sample(t, "17115-fixed-date.json"))
	a := g.asCalled(t, sub(somebody), http.MethodPost, rejects+"/"+kept+"/dismiss", `{"reason":" Testlauf von makod "}`, called(callA))
	wantFirst(t, a, http.StatusNoContent, callA, callA)
	if len(a.body) != 0 || a.header.Get(contentLocation) != "" {
		t.Errorf("body %s, header %v", a.body, a.header)
	}
	r := decode[reject](t, g.as(t, nil, http.MethodGet, rejects+"/"+kept, ""), http.StatusOK)
	got := [4]string{*r.Settlement, *r.SettledAt, *r.SettledBy, *r.SettlementReason}
	if want := [4]string{"dismissed", "2026-09-03T08:00:00Z", somebody, "Testlauf von makod"}; got != want || r.OrderID != nil {
		t.Errorf("settled as %q, order %v; want %q", got, r.OrderID, want)
	}
	g.wantTraces(t, traces{Settled: 1, Records: 1, Calls: 1})
}

func TestDismiss_needs_a_reason_that_can_be_kept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	kept := b.refused(t, sample(t, "17115-fixed-date.json"))
	before := b.reject(t, kept)
	for body, code := range map[string]string{
		`{}`: "invalid_report", `{"reason":""}`: "invalid_report", `{"reason":" \t "}`: "invalid_report", `{"reason":"\u200b\u2060"}`: "invalid_report", `{"reason":null}`: "invalid_report",
		`{"reason":"a\u0000b"}`: "invalid_report", `{"reason":"` + strings.Repeat("ä", 2561) + `"}`: "invalid_report",
		`{"reason":1}`: "invalid_body", `{"grund":"x"}`: "invalid_body", `{"reason":"x","reason":"y"}`: "invalid_body", `[]`: "invalid_body", `{`: "invalid_json",
	} {
		status, field := http.StatusUnprocessableEntity, "reason"
		if code != "invalid_report" {
			status = http.StatusBadRequest
		}
		a := b.dismiss(t, kept, body)
		if p := decode[problem](t, a, status); p.Code != code || code == "invalid_report" && (len(p.Errors) != 1 || p.Errors[0].Field != field) {
			t.Errorf("%.40s: %s, want %s", body, a.body, code)
		}
		b.wantOpen(t, before)
	}
	wantProblem(t, b.dismiss(t, kept, ""), http.StatusBadRequest, "invalid_body")
	for _, body := range []string{`{"reason":1}`, `{"grund":"x"}`} {
		wantStatus(t, b.replay(t, kept, body), http.StatusBadRequest)
	}
	wantStatus(t, b.call(t, http.MethodPost, rejects+"/"+kept+"/replay?force=true", ""), http.StatusBadRequest)
	b.wantOpen(t, before)
	wantStatus(t, b.dismiss(t, kept, `{"reason":"`+strings.Repeat("ä", 2560)+`"}`), http.StatusNoContent)
}

// The settlement that stands is told, but not whose it was.
func TestSettled_delivery_says_how_it_stands(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	replayed, dismissed := g.refused(t, sample(t, "17115-fixed-date.json")), g.refused(t, sample(t, "17117.json"))
	path := func(id, verb string) string { return rejects + "/" + id + "/" + verb }
	id := wantQueued(t, g.as(t, sub(somebody), http.MethodPost, path(replayed, "replay"), ""))
	wantStatus(t, g.as(t, sub(somebody), http.MethodPost, path(dismissed, "dismiss"), `{"reason":"geheim"}`), http.StatusNoContent)
	for kept, want := range map[string]map[string]any{
		replayed:  {"settlement": "replayed", "settled_at": "2026-09-03T08:00:00Z", "order_id": id},
		dismissed: {"settlement": "dismissed", "settled_at": "2026-09-03T08:00:00Z", "order_id": nil},
	} {
		for _, verb := range []string{"replay", "dismiss"} {
			a := g.as(t, sub(stranger), http.MethodPost, path(kept, verb), `{"reason":"x"}`)
			p := wantProblem(t, a, http.StatusConflict, "reject_settled")
			var told map[string]any
			if err := json.Unmarshal(a.body, &told); err != nil {
				t.Fatal(err)
			}
			for name, value := range want {
				if told[name] != value {
					t.Errorf("%s of %s: %s is %v, want %v", verb, want["settlement"], name, told[name], value)
				}
			}
			if !strings.Contains(p.Detail, want["settlement"].(string)) || !strings.Contains(p.Detail, "2026-09-03T08:00:00Z") {
				t.Errorf("detail %q", p.Detail)
			}
			if text := string(a.body); strings.Contains(text, somebody) || strings.Contains(text, "geheim") {
				t.Errorf("%s tells whose settlement it was", text)
			}
		}
	}
}
