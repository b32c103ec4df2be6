package api_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestBody_that_cannot_be_read_is_named_and_changes_nothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const valid = `"malo_id":"51238696012","lf_mp_id":"9900012345678","order_type":"sperrung"`
	for name, c := range map[string]struct{ body, code, field string }{
		"blank":               {" ", "invalid_json", ""},
		"cut":                 {`{` + valid, "invalid_json", ""},
		"single quotes":       {`{'malo_id':1}`, "invalid_json", ""},
		"trailing value":      {`{` + valid + `} {}`, "invalid_json", ""},
		"trailing text":       {`{` + valid + `}x`, "invalid_json", ""},
		"latin-1":             {`{` + valid + `,"hinweis":"M` + "\xfc" + `ller"}`, "invalid_json", ""},
		"lone surrogate":      {`{` + valid + `,"hinweis":"\ud800"}`, "invalid_json", ""},
		"control character":   {`{` + valid + `,"hinweis":"` + "\x01" + `"}`, "invalid_json", ""},
		"null":                {`null`, "invalid_body", ""},
		"array":               {`[{` + valid + `}]`, "invalid_body", ""},
		"string":              {`"x"`, "invalid_body", ""},
		"unknown member":      {`{` + valid + `,"note":"x"}`, "invalid_body", "note"},
		"unknown inside":      {`{` + valid + `,"treffpunkt":{"stadt":"Berlin"}}`, "invalid_body", "treffpunkt.stadt"},
		"duplicate":           {`{` + valid + `,"malo_id":"51238696781"}`, "invalid_body", "malo_id"},
		"duplicate inside":    {`{` + valid + `,"treffpunkt":{"ort":"A","ort":"B"}}`, "invalid_body", "treffpunkt.ort"},
		"upper case":          {`{"MALO_ID":"51238696012","lf_mp_id":"9900012345678","order_type":"sperrung"}`, "invalid_body", "MALO_ID"},
		"case variant beside": {`{` + valid + `,"Malo_Id":"51238696781"}`, "invalid_body", "Malo_Id"},
		"long s":              {`{` + valid + `,"hinwei` + "\u017F" + `":"x"}`, "invalid_body", "hinwei\u017F"},
		"number for text":     {`{"malo_id":51238696012,"lf_mp_id":"9900012345678","order_type":"sperrung"}`, "invalid_body", "malo_id"},
		"array for object":    {`{` + valid + `,"treffpunkt":[]}`, "invalid_body", "treffpunkt"},
		"number inside":       {`{` + valid + `,"treffpunkt":{"plz":10115}}`, "invalid_body", "treffpunkt.plz"},
		"number for process":  {`{` + valid + `,"process_id":5}`, "invalid_body", "process_id"},
		"empty name":          {`{` + valid + `,"":"x"}`, "invalid_body", `""`},
		"NUL in a name":       {`{` + valid + `,"a\u0000b":"x"}`, "invalid_body", "a\uFFFDb"},
	} {
		a := b.call(t, http.MethodPost, orders, c.body)
		if a.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s, want 400", name, a.status, a.body)
			continue
		}
		wantProblem(t, a, http.StatusBadRequest, c.code, strings.Fields(c.field)...)
	}
	if n := b.orderCount(t); n != 0 {
		t.Errorf("%d orders from bodies that were refused", n)
	}
}

func TestBody_of_a_report_is_as_strict(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := orders + "/" + b.create(t, minimal("sperrung")).ID
	for _, c := range []struct{ verb, body, field string }{
		{"execute", `{"notes":"x"}`, "notes"},
		{"execute", `{"executed_at":1756888000}`, "executed_at"},
		{"fail", `{"reason":"zu","endgueltig":false,"ENDGUELTIG":true}`, "ENDGUELTIG"},
		{"fail", `{"reason":"zu","endg` + "\u00fc" + `ltig":true}`, "endg\u00fcltig"},
		{"fail", `{"reason":"zu","endgueltig":"true"}`, "endgueltig"},
		{"fail", `{"reason":"zu","reason":"auf"}`, "reason"},
		{"cancel", `{"Reason":"x"}`, "Reason"},
	} {
		wantProblem(t, b.call(t, http.MethodPut, path+"/"+c.verb, c.body), http.StatusBadRequest, "invalid_body", c.field)
	}
	if got := b.order(t, path[len(orders)+1:]); got.Status != "pending" || got.Sperrversuche != 0 {
		t.Errorf("order %+v after refused reports", got)
	}
}

func TestBody_must_be_JSON_by_its_content_type(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, contentType := range []string{
		"application/json", "application/json; charset=utf-8", `Application/JSON;charset="UTF-8"`, "application/json; version=1",
	} {
		wantStatus(t, b.call(t, http.MethodPost, orders, fullOrder, "Content-Type", contentType), http.StatusCreated)
	}
	for _, contentType := range []string{
		"", "text/plain", "application/xml", "application/json; charset=iso-8859-1", "application/json; charset",
		"application/cloudevents+json", "application/merge-patch+json", "json",
	} {
		a := b.call(t, http.MethodPost, orders, fullOrder, "Content-Type", contentType)
		wantProblem(t, a, http.StatusUnsupportedMediaType, "unsupported_media_type")
	}
	for _, header := range []http.Header{
		{},
		{"Content-Type": {"application/json", "application/json"}},
		{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}},
		{"Content-Type": {"application/json"}, "Content-Encoding": {"identity", "br"}},
	} {
		a := b.send(t, http.MethodPost, orders, strings.NewReader(fullOrder), header)
		wantProblem(t, a, http.StatusUnsupportedMediaType, "unsupported_media_type")
	}
	identity := http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"identity"}}
	wantStatus(t, b.send(t, http.MethodPost, orders, strings.NewReader(fullOrder), identity), http.StatusCreated)
}

func TestBody_may_be_absent_from_execute_and_cancel_alone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, verb := range []string{"execute", "cancel"} {
		for _, header := range []http.Header{{}, {"Content-Type": {"text/plain"}}, {"Transfer-Encoding": {"chunked"}}} {
			path := orders + "/" + b.create(t, minimal("sperrung")).ID + "/" + verb
			wantStatus(t, b.send(t, http.MethodPut, path, http.NoBody, header), http.StatusNoContent)
		}
		path := orders + "/" + b.create(t, minimal("sperrung")).ID + "/" + verb
		wantProblem(t, b.call(t, http.MethodPut, path, "{}", "Content-Type", "text/plain"), http.StatusUnsupportedMediaType, "unsupported_media_type")
		wantStatus(t, b.call(t, http.MethodPut, path, "{}"), http.StatusNoContent)
	}
	path := orders + "/" + b.create(t, minimal("sperrung")).ID + "/fail"
	wantProblem(t, b.call(t, http.MethodPut, path, ""), http.StatusBadRequest, "invalid_body")
	wantProblem(t, b.call(t, http.MethodPost, orders, ""), http.StatusBadRequest, "invalid_body")
}

func TestBody_has_a_limit_on_every_route(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create(t, minimal("sperrung")).ID
	fill := func(size int) string { // a good body of exactly size bytes
		return strings.Repeat(" ", size-len(fullOrder)) + fullOrder
	}
	wantStatus(t, b.call(t, http.MethodPost, orders, fill(1<<20)), http.StatusCreated)
	wantStatus(t, b.send(t, http.MethodPost, orders, unsized(fill(1<<20)), http.Header{"Content-Type": {"application/json"}}), http.StatusCreated)
	for method, path := range map[string]string{
		http.MethodPost: orders, http.MethodPut: orders + "/" + id + "/execute",
	} {
		wantProblem(t, b.call(t, method, path, fill(1<<20+1)), http.StatusRequestEntityTooLarge, "body_too_large")
		a := b.send(t, method, path, unsized(fill(1<<20+1)), http.Header{"Content-Type": {"application/json"}})
		wantProblem(t, a, http.StatusRequestEntityTooLarge, "body_too_large")
	}
	for _, verb := range []string{"fail", "cancel"} {
		a := b.call(t, http.MethodPut, orders+"/"+id+"/"+verb, fill(1<<20+1))
		wantProblem(t, a, http.StatusRequestEntityTooLarge, "body_too_large")
	}
}
