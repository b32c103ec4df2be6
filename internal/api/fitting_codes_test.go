package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// The codes that fit, in the order of the trees' steps.
var (
	disconnected = []string{"A07"}
	notReached   = []string{"A01", "A08", "A02", "A03", "A04", "A05", "A06"}
	reconnected  = []string{"A01"}
	stillOff     = []string{"A02"}
)

// wantFitting fails unless a refuses a report for the fields and names exactly the codes
// that would fit, in its text and as a member.
func wantFitting(t *testing.T, a answer, fitting []string, fields ...string) {
	t.Helper()
	if a.status != http.StatusUnprocessableEntity {
		t.Errorf("%d %s, want 422", a.status, a.body)
		return
	}
	p := wantProblem(t, a, http.StatusUnprocessableEntity, "invalid_report", fields...)
	var extra struct {
		FittingCodes []string `json:"fitting_codes"`
	}
	if err := json.Unmarshal(a.body, &extra); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(extra.FittingCodes, fitting) || strings.Contains(string(a.body), "fitting_codes") != (fitting != nil) {
		t.Errorf("fitting_codes %q, want %q; body %s", extra.FittingCodes, fitting, a.body)
	}
	if text := "for this report fit " + strings.Join(fitting, ", "); fitting != nil && !strings.Contains(p.Detail, text) {
		t.Errorf("detail %q, want %q in it", p.Detail, text)
	}
}

// The same code means the opposite in the other tree: no report gets through with one that
// is not of its own type and outcome.
func TestReport_with_a_code_that_does_not_fit_names_those_that_do(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sperrung, entsperrung := b.market(t, 17115, malo).ID, b.market(t, 17117, "51238696781").ID
	operator := b.create(t, minimal("sperrung")).ID
	executable := map[string][]string{sperrung: disconnected, operator: disconnected, entsperrung: reconnected}
	failing := map[string][]string{sperrung: notReached, operator: notReached, entsperrung: stillOff}
	all := []string{"A01", "A02", "A03", "A04", "A05", "A06", "A07", "A08", "A09", "A11", "A99", "Z14", "a07", "a01", "A07 ", " A07", "A7", "Ａ07", "", "E_0472", `A07\u0000`}
	for id, fitting := range executable {
		for _, code := range all {
			if !slices.Contains(fitting, code) {
				wantFitting(t, b.report(t, id, "execute", `{"pruefschritt_code":"`+code+`"}`), fitting, "pruefschritt_code")
			}
		}
	}
	for id, fitting := range failing {
		for _, code := range all {
			if !slices.Contains(fitting, code) {
				wantFitting(t, b.report(t, id, "fail", `{"reason":"zu","pruefschritt_code":"`+code+`"}`), fitting, "pruefschritt_code")
			}
		}
	}
	for _, id := range []string{sperrung, entsperrung, operator} {
		if o := b.order(t, id); o.Status != "pending" || o.Sperrversuche != 0 {
			t.Errorf("order %+v after refused reports", o)
		}
	}
	if sent := b.makod.Requests(); len(sent) != 0 {
		t.Errorf("%d commands at makod", len(sent))
	}
}

func TestReport_that_closes_a_market_order_needs_a_code_where_several_fit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.market(t, 17115, malo).ID
	wantFitting(t, b.report(t, id, "fail", `{"reason":"zu","endgueltig":true}`), notReached, "pruefschritt_code")
	wantFitting(t, b.report(t, id, "fail", `{"reason":"zu","endgueltig":true,"pruefschritt_code":null}`), notReached, "pruefschritt_code")
	wantStatus(t, b.report(t, id, "fail", `{"reason":"zu"}`), http.StatusAccepted)
	wantFitting(t, b.report(t, id, "fail", `{"reason":"wieder zu"}`), notReached, "pruefschritt_code")
	wantStatus(t, b.report(t, id, "fail", `{"reason":"wieder zu","pruefschritt_code":"A08"}`), http.StatusNoContent)

	operator := b.create(t, minimal("sperrung")).ID
	wantStatus(t, b.report(t, operator, "fail", `{"reason":"zu","endgueltig":true}`), http.StatusNoContent)
	if o := b.order(t, operator); o.Status != "failed" || o.PruefschrittCode != nil {
		t.Errorf("order %+v, want it closed without a code", o)
	}
}

func TestReport_without_a_reason_names_the_codes_too(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sperrung, entsperrung := b.market(t, 17115, malo).ID, b.market(t, 17117, "51238696781").ID
	for _, blank := range []string{``, ` `, ` \t\r\n`, `\u00a0\u2003`, `\u200b`, `\ufeff\u2060`, `\u3164`, `\u00ad`} {
		for _, code := range notReached {
			a := b.report(t, sperrung, "fail", fmt.Sprintf(`{"reason":"%s","pruefschritt_code":"%s"}`, blank, code))
			wantFitting(t, a, notReached, "reason")
			if muss := strings.Contains("A04 A05 A06", code); strings.Contains(string(a.body), "Muss") != muss {
				t.Errorf("%s: %s, says that it is a Muss: want %t", code, a.body, muss)
			}
		}
		wantFitting(t, b.report(t, sperrung, "fail", `{"reason":"`+blank+`"}`), notReached, "reason")
		wantFitting(t, b.report(t, entsperrung, "fail", `{"reason":"`+blank+`","pruefschritt_code":"A02"}`), stillOff, "reason")
		wantFitting(t, b.report(t, entsperrung, "fail", `{"reason":"`+blank+`"}`), stillOff, "reason")
	}
	for _, body := range []string{`{}`, `{"reason":null}`, `{"pruefschritt_code":"A05"}`, `{"reason":"","pruefschritt_code":"A05","endgueltig":true}`} {
		wantFitting(t, b.report(t, sperrung, "fail", body), notReached, "reason")
	}
	for _, id := range []string{sperrung, entsperrung} {
		if o := b.order(t, id); o.Status != "pending" || o.Sperrversuche != 0 {
			t.Errorf("order %+v after refused reports", o)
		}
	}
}

func TestReport_hears_of_all_its_faults_at_once(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.market(t, 17115, malo).ID
	long := strings.Repeat("x", 2561)
	for _, c := range []struct {
		verb, body string
		fitting    []string
		fields     string
	}{
		{"fail", `{"reason":" ","pruefschritt_code":"A07","versuch_am":"gestern"}`, notReached, "versuch_am pruefschritt_code reason"},
		{"fail", `{"reason":" ","endgueltig":true,"versuch_am":"2030-01-01T00:00:00Z"}`, notReached, "versuch_am pruefschritt_code reason"},
		{"fail", `{"reason":"` + long + `","pruefschritt_code":"a01"}`, notReached, "pruefschritt_code reason"},
		{"fail", `{"reason":"a\u0000","pruefschritt_code":"A99"}`, notReached, "pruefschritt_code reason"},
		{"fail", `{"reason":" ","pruefschritt_code":"A05","versuch_am":""}`, notReached, "versuch_am reason"},
		{"fail", `{"reason":"zu","pruefschritt_code":"A05","versuch_am":""}`, nil, "versuch_am"},
		{"fail", `{"reason":"` + long + `","pruefschritt_code":"A05"}`, nil, "reason"},
		{"execute", `{"note":"` + long + `","pruefschritt_code":"A01","executed_at":"2026-09-03"}`, disconnected, "executed_at pruefschritt_code note"},
		{"execute", `{"note":"\u0000","executed_at":"2026-09-03"}`, nil, "executed_at note"},
	} {
		wantFitting(t, b.report(t, id, c.verb, c.body), c.fitting, strings.Fields(c.fields)...)
	}
}

func TestReport_that_was_refused_is_repeated_with_its_codes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.market(t, 17115, malo).ID
	const body = `{"reason":"zu","pruefschritt_code":"A07"}`
	first := b.change(t, id, "fail", body, called(callA))
	wantFitting(t, first, notReached, "pruefschritt_code")
	wantReplay(t, b.change(t, id, "fail", body, called(callB, callA)), first, callB, callA)
}
