package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

func TestDryRun_shows_the_command_and_changes_nothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	o := b.market(t, 17115, malo)
	a := b.preview(t, o.ID, "execute", `{"note":"Siegel <4711> & Foto","executed_at":"2026-09-03T09:45:30+02:00"}`)
	wantStatus(t, a, http.StatusOK)
	want := `{"dry_run":true,"acceptable":true,"errors":[],"status":"executed","sperrversuche":0,"pruefschritt_code":"A07",` +
		`"iftsta_geschuldet":true,"iftsta_faellig_am":"2026-09-04","ausfuehrung_faellig_am":null,` +
		`"command":{"name":"gpke.sperrung.bestaetigen","idempotency_key":"sperrd-iftsta-` + o.ID + `","marktrolle":"NB",` +
		`"payload":{"malo_id":"` + malo + `","lf_mp_id":"` + lf + `","process_id":"` + *o.ProcessID + `",` +
		`"auftragsstatus_qualifier":"Z37","auftragsstatus_code":"Z14","pruefschritt_code":"A07",` +
		`"fertigstellung":"2026-09-03T07:45:00Z","note":"Siegel \u003c4711\u003e \u0026 Foto"}},` +
		`"warnungen":["executed_at lies before the arrival of the order"],"advice":null}`
	if diff := cmp.Diff(want, string(a.body)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := a.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type %q", got)
	}
}

func TestDryRun_of_a_first_visit_sends_nothing_and_advises(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.market(t, 17115, malo).ID
	a := b.preview(t, id, "fail", `{"reason":"Zugang verwehrt durch Dritte","pruefschritt_code":"A04"}`)
	got := decode[dryRun](t, a, http.StatusOK)
	if !got.Acceptable || *got.Status != "pending" || *got.Sperrversuche != 1 || *got.PruefschrittCode != "A04" ||
		got.IFTSTAGeschuldet || got.Command != nil || got.Advice == nil || !strings.Contains(*got.Advice, "endgueltig: true") {
		t.Errorf("%s", a.body)
	}
}

// What a report lacks is the content of this answer, and no failure of the call.
func TestDryRun_tells_what_the_422_would(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.market(t, 17115, malo).ID
	body := `{"reason":" ","endgueltig":true,"versuch_am":"gestern"}`
	a := b.preview(t, id, "fail", body)
	got := decode[dryRun](t, a, http.StatusOK)
	refused := decode[refusal](t, b.report(t, id, "fail", body), http.StatusUnprocessableEntity)
	if diff := cmp.Diff(refused, got.refusal); diff != "" || len(got.Errors) != 3 || len(got.FittingCodes) == 0 {
		t.Errorf("refused for (-422 +dry run):\n%s%s", diff, a.body)
	}
	if got.Acceptable || got.Status != nil || got.Sperrversuche != nil || got.PruefschrittCode != nil || got.Command != nil || got.IFTSTAGeschuldet {
		t.Errorf("%s", a.body)
	}
}

// The same ids serve the dry run and the report after it: nothing remembers the first.
func TestDryRun_uses_up_no_transactionId(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, verb := range []string{"execute", "fail"} {
		id := b.market(t, 17115, maloOf(len(verb))).ID
		one := uuid.NewString()
		body := `{"reason":"niemand da","pruefschritt_code":"A08"}`
		if verb == "execute" {
			body = `{}`
		}
		for range 2 {
			a := b.preview(t, id, verb, body, called(one)...)
			wantFirst(t, a, http.StatusOK, one, one)
			if got, there := a.header[contentLocation]; there {
				t.Errorf("%s %q", contentLocation, got)
			}
		}
		first := b.change(t, id, verb+"?dry_run=false", body, called(one))
		wantFirst(t, first, map[string]int{"execute": http.StatusNoContent, "fail": http.StatusAccepted}[verb], one, one)
		// false is as good as absent: it makes no other operation of a repeated call.
		two := uuid.NewString()
		wantReplay(t, b.change(t, id, verb, body, called(two, one)), first, two, one)
		if verb == "fail" { // pending: what is asked now is a second visit
			got := decode[dryRun](t, b.preview(t, id, verb, body, called(one)...), http.StatusOK)
			if *got.Status != "failed" || *got.Sperrversuche != 2 || got.Command == nil {
				t.Errorf("a second visit: %+v", got)
			}
		}
	}
}

func TestDryRun_takes_true_and_false_alone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create(t, minimal("sperrung")).ID
	before := b.everything(t)
	for _, verb := range []string{"execute", "fail"} {
		for _, query := range []string{
			"dry_run=TRUE", "dry_run=1", "dry_run=", "dry_run", "dry_run=true&dry_run=true", "dry_run=true&dry_run=false", "dry_run=yes", "dry_run=%20true",
		} {
			a := b.call(t, http.MethodPut, orders+"/"+id+"/"+verb+"?"+query, `{"reason":"zu"}`)
			wantProblem(t, a, http.StatusBadRequest, "invalid_parameter", "dry_run")
		}
		for _, query := range []string{"Dry_run=true", "dry-run=true", "dry_run=true&x=1"} {
			a := b.call(t, http.MethodPut, orders+"/"+id+"/"+verb+"?"+query, `{"reason":"zu"}`)
			if a.status != http.StatusBadRequest || codeOf(a) != "invalid_parameter" {
				t.Errorf("%s: %d %s", query, a.status, a.body)
			}
		}
	}
	if diff := cmp.Diff(before, b.everything(t)); diff != "" {
		t.Errorf("a refused dry run has changed the database:\n%s", diff)
	}
}

func TestDryRun_is_answered_like_the_report_where_none_is_taken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.market(t, 17115, malo).ID
	other := b.tenanted(t, "9900000000002")
	for verb, body := range map[string]string{"execute": "", "fail": `{"reason":"zu"}`} {
		wantProblem(t, other.preview(t, id, verb, body), http.StatusNotFound, "not_found")
		wantProblem(t, b.preview(t, uuid.NewString(), verb, body), http.StatusNotFound, "not_found")
		wantProblem(t, b.preview(t, "x", verb, body), http.StatusNotFound, "not_found")
		wantProblem(t, b.preview(t, id, verb, `{"x":1}`), http.StatusBadRequest, "invalid_body", "x")
		wantProblem(t, b.preview(t, id, verb, `{`), http.StatusBadRequest, "invalid_json")
		wantProblem(t, b.preview(t, id, verb, body, "Idempotency-Key", "ä"), http.StatusBadRequest, "invalid_transaction_header", "Idempotency-Key")
	}
	wantStatus(t, b.report(t, id, "execute", ""), http.StatusNoContent)
	for verb, body := range map[string]string{"execute": "", "fail": `{"reason":"zu"}`} {
		a := b.preview(t, id, verb, body)
		wantProblem(t, a, http.StatusConflict, "order_not_pending")
		var state struct {
			Status string `json:"order_status"`
		}
		if err := json.Unmarshal(a.body, &state); err != nil || state.Status != "executed" {
			t.Errorf("%s: %s", verb, a.body)
		}
	}
}

func TestDryRun_needs_the_permission_of_the_report(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	id := g.create(t, minimal("sperrung"))
	path := orders + "/" + id + "/execute?dry_run=true"
	wantProblem(t, g.call(t, http.MethodPut, path, ""), http.StatusUnauthorized, "unauthenticated")
	wantProblem(t, g.as(t, claims{"mako_roles": []string{"LF"}}, http.MethodPut, path, ""), http.StatusForbidden, "forbidden")
	wantStatus(t, g.as(t, nil, http.MethodPut, path, ""), http.StatusOK)
}

func TestDryRun_needs_no_ids_where_reports_do(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *settings) { s.options.IdempotencyRequired = true })
	created := b.call(t, http.MethodPost, orders, minimal("sperrung"), called(uuid.NewString())...)
	id := decode[order](t, created, http.StatusCreated).ID
	wantStatus(t, b.preview(t, id, "execute", ""), http.StatusOK)
	for _, query := range []string{"", "?dry_run=false", "?dry_run=TRUE", "?dry_run=true&dry_run=true"} {
		a := b.call(t, http.MethodPut, orders+"/"+id+"/execute"+query, "")
		wantProblem(t, a, http.StatusBadRequest, "invalid_transaction_header", "transactionId")
	}
	wantProblem(t, b.call(t, http.MethodPut, orders+"/"+id+"/cancel?dry_run=true", ""), http.StatusBadRequest, "invalid_parameter", "dry_run")
	if got := b.order(t, id).Status; got != "pending" {
		t.Errorf("the order is %s", got)
	}
}

func TestDryRun_says_in_the_log_that_it_is_one(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create(t, minimal("sperrung")).ID
	one := uuid.NewString()
	wantStatus(t, b.preview(t, id, "execute", "", called(one)...), http.StatusOK)
	wantStatus(t, b.preview(t, uuid.NewString(), "execute", ""), http.StatusNotFound)
	wantStatus(t, b.report(t, id, "execute", ""), http.StatusNoContent)
	lines := b.log.requests(t)
	lines = lines[len(lines)-3:]
	if lines[0]["dry_run"] != true || lines[0]["transaction_id"] != one || lines[0]["order_id"] != id || lines[1]["dry_run"] != true {
		t.Errorf("of the dry runs: %v %v", lines[0], lines[1])
	}
	if _, there := lines[2]["dry_run"]; there {
		t.Errorf("of the report: %v", lines[2])
	}
}

// After a 503 nobody has to look whether a dry run took effect.
func TestDryRun_never_takes_effect_without_a_database(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create(t, minimal("sperrung")).ID
	b.pool.Close()
	for _, header := range [][]string{nil, called(uuid.NewString())} {
		a := b.call(t, http.MethodPut, orders+"/"+id+"/execute?dry_run=true", "", header...)
		if p := wantProblem(t, a, http.StatusServiceUnavailable, "unavailable"); strings.Contains(p.Detail, "may have taken effect") {
			t.Errorf("detail %q", p.Detail)
		}
	}
}
