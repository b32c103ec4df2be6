package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// A name in another case, or with a look-alike that folds to the same letters, is
// another name: what it holds is not the field's.
func TestStructured_mode_takes_a_case_variant_for_an_unknown_member(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const head = `{"specversion":"1.0","id":"e-1","source":"urn:x","type":"de.mako.process.initiated","makopid":17115,"subject":"p-`
	for name, c := range map[string]struct{ data, field string }{
		"upper case": {`"MALO_ID":"51238696012","lf_mp_id":"9900012345678"`, "malo_id"},
		"mixed case": {`"Malo_Id":"51238696012","lf_mp_id":"9900012345678"`, "malo_id"},
		"long s":     {`"malo_id":"51238696012","` + "\u017F" + `ender":"9900012345678"`, "lf_mp_id"},
	} {
		a := b.deliver(t, []byte(head+name+`","data":{`+c.data+`}}`))
		wantProblem(t, a, http.StatusUnprocessableEntity, "unusable_event", c.field)
	}
	for name, member := range map[string]string{
		"date": `"Ausfuehrung_am":"20260907"`, "text": `"hinwei` + "\u017F" + `":"x"`, "place": `"TREFFPUNKT":{"strasse":"x"}`,
	} {
		a := b.deliver(t, []byte(head+name+`","data":{"malo_id":"51238696012","lf_mp_id":"9900012345678",`+member+`}}`))
		id := decode[map[string]string](t, a, http.StatusCreated)["id"]
		if o := b.order(t, id); o.AusfuehrungAm != nil || o.Hinweis != nil || o.TreffpunktOrt != nil {
			t.Errorf("%s: order %+v has what the variant holds", name, o)
		}
	}
}

func TestReport_bodies_refuse_doubles_variants_and_what_trails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create(t, minimal("sperrung")).ID
	for _, c := range []struct{ verb, body, code, field string }{
		{"execute", `{"note":"a","note":"b"}`, "invalid_body", "note"},
		{"execute", `{"note":"a","NOTE":"b"}`, "invalid_body", "NOTE"},
		{"execute", `{"note":"a"}{"note":"b"}`, "invalid_json", ""},
		{"execute", `{"no\u0074e":"a","note":"b"}`, "invalid_body", "note"},
		{"fail", `{"reason":"zu","endgueltig":false,"endgueltig":true}`, "invalid_body", "endgueltig"},
		{"fail", `{"reason":"zu","Endgueltig":true}`, "invalid_body", "Endgueltig"},
		{"fail", `{"rea` + "\u017F" + `on":"zu"}`, "invalid_body", "rea\u017Fon"},
		{"fail", `{"reason":"zu"}]`, "invalid_json", ""},
		{"cancel", `{"reason":"a","reason":"a"}`, "invalid_body", "reason"},
		{"cancel", `{"grund":"a"}`, "invalid_body", "grund"},
		{"cancel", `{} null`, "invalid_json", ""},
	} {
		wantProblem(t, b.report(t, id, c.verb, c.body), http.StatusBadRequest, c.code, strings.Fields(c.field)...)
	}
	reset := b.call(t, http.MethodPost, orders+"/"+id+"/iftsta/reset", `{"reason":"a","REASON":"b"}`)
	wantProblem(t, reset, http.StatusBadRequest, "invalid_body", "REASON")
	if o := b.order(t, id); o.Status != "pending" || o.Sperrversuche != 0 {
		t.Errorf("order %+v after refused reports", o)
	}
}
