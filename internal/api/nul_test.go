package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
)

const nul = `\u0000`

// wantNoInside fails where an answer shows how the service works inside.
func wantNoInside(t *testing.T, a answer) {
	t.Helper()
	for _, inside := range []string{"SQLSTATE", "22021", "invalid byte sequence", "sperr_orders", "INSERT", "pgx", ".go:", "\\u0000", "\x00"} {
		if strings.Contains(string(a.body), inside) {
			t.Errorf("the answer shows %q: %s", inside, a.body)
		}
	}
}

func TestNUL_in_any_member_of_a_new_order_is_refused_by_name(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	whole := map[string]string{
		"malo_id": "51238696012", "lf_mp_id": "9900012345678", "order_type": "entsperrung", "arbeitszeit": "innerhalb", "hinweis": "Hof",
		"treffpunkt.hinweis": "Keller", "treffpunkt.strasse": "Lindenallee 7", "treffpunkt.plz": "10115", "treffpunkt.ort": "Berlin", "treffpunkt.land": "DE",
	}
	dated := map[string]string{"malo_id": "51238696012", "lf_mp_id": "9900012345678", "order_type": "sperrung"}
	wantStatus(t, b.call(t, http.MethodPost, orders, nested(t, whole, "", "")), http.StatusCreated)
	land := b.call(t, http.MethodPost, orders, nested(t, whole, "treffpunkt.land", "DE"+nul))
	if land.status != http.StatusUnprocessableEntity || !strings.Contains(string(land.body), "treffpunkt.land contains a NUL character") {
		t.Errorf("land: %d %s, want 422", land.status, land.body)
	}
	texts := maps.Clone(whole)
	delete(texts, "treffpunkt.land") // has two faults then
	for field, value := range texts {
		for _, text := range []string{value + nul, nul + value, value[:1] + nul + value[1:], nul} {
			a := b.call(t, http.MethodPost, orders, nested(t, whole, field, text))
			if p := wantProblem(t, a, http.StatusUnprocessableEntity, "invalid_order", field); !strings.Contains(p.Detail, field) {
				t.Errorf("detail %q does not name %s", p.Detail, field)
			}
			wantNoInside(t, a)
		}
	}
	for _, field := range []string{"ausfuehrung_am", "fruehestens_am", "process_id"} {
		for _, text := range []string{"2026-09-07" + nul, nul} {
			a := b.call(t, http.MethodPost, orders, nested(t, dated, field, text))
			wantProblem(t, a, http.StatusUnprocessableEntity, "invalid_order", field)
			wantNoInside(t, a)
		}
	}
	if n := b.orderCount(t); n != 1 {
		t.Errorf("%d orders, want the one without NUL", n)
	}
}

// nested writes the members, of which field has the text as JSON has it.
func nested(t *testing.T, members map[string]string, field, text string) string {
	t.Helper()
	members = maps.Clone(members)
	if field != "" {
		members[field] = "@"
	}
	object := map[string]any{}
	place := map[string]string{}
	for name, value := range members {
		if inner, is := strings.CutPrefix(name, "treffpunkt."); is {
			place[inner] = value
			object["treffpunkt"] = place
		} else {
			object[name] = value
		}
	}
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(string(raw), `"@"`, `"`+text+`"`, 1)
}

func TestNUL_in_any_member_of_a_report_is_refused_by_name_and_changes_nothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create(t, minimal("sperrung")).ID
	for _, c := range []struct{ verb, body, field string }{
		{"execute", `{"note":"a@b"}`, "note"},
		{"execute", `{"note":"@"}`, "note"},
		{"execute", `{"executed_at":"2026-09-03T09:45:00+02:00@"}`, "executed_at"},
		{"execute", `{"executed_at":"@"}`, "executed_at"},
		{"execute", `{"pruefschritt_code":"A07@"}`, "pruefschritt_code"},
		{"execute", `{"pruefschritt_code":"@"}`, "pruefschritt_code"},
		{"fail", `{"reason":"a@b"}`, "reason"},
		{"fail", `{"reason":"@"}`, "reason"},
		{"fail", `{"reason":"zu","pruefschritt_code":"A02@"}`, "pruefschritt_code"},
		{"fail", `{"reason":"zu","versuch_am":"2026-09-03T09:45:00Z@"}`, "versuch_am"},
		{"fail", `{"reason":"zu","endgueltig":true,"versuch_am":"@"}`, "versuch_am"},
		{"cancel", `{"reason":"a@b"}`, "reason"},
	} {
		a := b.report(t, id, c.verb, strings.ReplaceAll(c.body, "@", nul))
		wantProblem(t, a, http.StatusUnprocessableEntity, "invalid_report", c.field)
		wantNoInside(t, a)
	}
	reset := b.call(t, http.MethodPost, orders+"/"+id+"/iftsta/reset", `{"reason":"a`+nul+`"}`)
	wantProblem(t, reset, http.StatusUnprocessableEntity, "invalid_report", "reason")
	if o := b.order(t, id); o.Status != "pending" || o.Sperrversuche != 0 {
		t.Errorf("order %+v after refused reports", o)
	}
	if n := b.count(t, `SELECT count(*) FROM sperr_order_history`); n != 1 {
		t.Errorf("%d history lines, want the one of its creation", n)
	}
}

func TestNUL_in_path_and_query_names_nothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create(t, minimal("sperrung")).ID
	for method, paths := range map[string][]string{
		http.MethodGet:  {orders + "/%00", orders + "/" + id + "%00", orders + "/%00" + id[1:], orders + "/" + id[:35] + "%00/history", rejects + "/" + id[:35] + "%00", orders + "%00", "/health/live%00"},
		http.MethodPut:  {orders + "/" + id + "%00/execute", orders + "/" + id[:35] + "%00/cancel", orders + "/" + id + "/execute%00"},
		http.MethodPost: {orders + "/" + id[:35] + "%00/iftsta/reset", "/webhook%00"},
	} {
		for _, path := range paths {
			a := b.call(t, method, path, "")
			wantProblem(t, a, http.StatusNotFound, "not_found")
			wantNoInside(t, a)
		}
	}
	for _, query := range []string{"malo_id=%00", "malo_id=5123869601%00", "status=%00", "due=true%00", "limit=1%00", "cursor=%00"} {
		field, _, _ := strings.Cut(query, "=")
		a := b.get(t, orders+"?"+query)
		wantProblem(t, a, http.StatusBadRequest, "invalid_parameter", field)
		wantNoInside(t, a)
	}
	a := b.get(t, rejects+"?cursor=%00")
	wantProblem(t, a, http.StatusBadRequest, "invalid_parameter", "cursor")
	if o := b.order(t, id); o.Status != "pending" {
		t.Errorf("the order is %s", o.Status)
	}
}
