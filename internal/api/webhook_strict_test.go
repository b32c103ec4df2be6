package api_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// envelope is a structured 17117 with the members added at the top and in data.
func envelope(process, top, data string) []byte {
	return fmt.Appendf(nil, `{"specversion":"1.0","id":"e-1","source":"urn:x","type":"de.mako.process.initiated","subject":"%s",%s
		"data":{"malo_id":"51238696012","lf_mp_id":"9900012345678"%s}}`, process, top, data)
}

func TestStructured_mode_refuses_and_keeps_JSON_that_reads_two_ways(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const pid = `"makopid":17117,`
	cases := map[string]struct {
		body        []byte
		code, field string
	}{
		"duplicate attribute":   {envelope("p", pid+`"makopid":17115,`, ""), "invalid_body", "makopid"},
		"duplicate in data":     {envelope("p", pid, `,"malo_id":"51238696781"`), "invalid_body", "data.malo_id"},
		"case variant in data":  {envelope("p", pid, `,"MALO_ID":"51238696781"`), "invalid_body", "data.MALO_ID"},
		"long s in data":        {envelope("p", pid, `,"hinweis":"a","hinwei`+"\u017F"+`":"b"`), "invalid_body", "data.hinwei\u017F"},
		"deep duplicate":        {envelope("p", pid, `,"x":[[{"a":{"b":1,"B":2}}]]`), "invalid_body", "data.x.0.0.a.B"},
		"duplicate data":        {envelope("p", pid+`"data":{},`, ""), "invalid_body", "data"},
		"upper-case attribute":  {envelope("p", `"makoPid":17117,`, ""), "invalid_body", "makoPid"},
		"upper-case beside":     {envelope("p", pid+`"MAKOPID":17115,`, ""), "invalid_body", "MAKOPID"},
		"underscore":            {envelope("p", pid+`"mako_erc":"x",`, ""), "invalid_body", "mako_erc"},
		"empty name":            {envelope("p", pid+`"":"x",`, ""), "invalid_body", `""`},
		"escaped duplicate":     {envelope("p", pid+`"mako\u0070id":17115,`, ""), "invalid_body", "makopid"},
		"PID fraction":          {envelope("p", `"makopid":17117.9,`, ""), "invalid_body", "makopid"},
		"PID exponent":          {envelope("p", `"makopid":1.7117e4,`, ""), "invalid_body", "makopid"},
		"PID negative":          {envelope("p", `"makopid":-0,`, ""), "invalid_body", "makopid"},
		"PID boolean":           {envelope("p", `"makopid":true,`, ""), "invalid_body", "makopid"},
		"PID object":            {envelope("p", `"makopid":{"x":1},`, ""), "invalid_body", "makopid"},
		"PID too large":         {envelope("p", `"makopid":99999999999,`, ""), "invalid_body", "makopid"},
		"workflow boolean":      {envelope("p", pid+`"makoworkflow":true,`, ""), "invalid_body", "makoworkflow"},
		"workflow number":       {envelope("p", pid+`"makoworkflow":7,`, ""), "invalid_body", "makoworkflow"},
		"attribute array":       {envelope("p", pid+`"makoerc":["x"],`, ""), "invalid_body", "makoerc"},
		"bad time":              {envelope("p", pid+`"time":"yesterday",`, ""), "invalid_body", ""},
		"base64 number":         {[]byte(`{"specversion":"1.0","id":"e","source":"urn:x","type":"t","data_base64":1}`), "invalid_body", "data_base64"},
		"base64 null":           {[]byte(`{"specversion":"1.0","data_base64":null,"id":"e","source":"urn:x","type":"t"}`), "invalid_body", "data_base64"},
		"base64 of a duplicate": {inBase64(`{"malo_id":"51238696012","MALO_ID":"51238696781"}`), "invalid_body", "MALO_ID"},
		"text of a duplicate":   {[]byte(`{"specversion":"1.0","id":"e","source":"urn:x","type":"t","datacontenttype":"text/plain","data":"{\"a\":1,\"a\":2}"}`), "invalid_body", "a"},
		"latin-1":               {envelope("p", pid, `,"hinweis":"`+"\xfc"+`"`), "invalid_json", ""},
		"lone surrogate":        {envelope("p", pid, `,"hinweis":"\udc00"`), "invalid_json", ""},
		"trailing value":        {append(envelope("p", pid, ""), " {}"...), "invalid_json", ""},
		"cut":                   {envelope("p", pid, "")[:100], "invalid_json", ""},
		"nothing":               {[]byte{}, "invalid_json", ""},
		"array":                 {[]byte(`[]`), "invalid_body", ""},
		"null":                  {[]byte(`null`), "invalid_body", ""},
		"no specversion":        {[]byte(`{"id":"e","source":"urn:x","type":"t"}`), "invalid_body", "specversion"},
		"unknown specversion":   {[]byte(`{"specversion":"2.0","id":"e","source":"urn:x","type":"t"}`), "invalid_body", "specversion"},
		"old specversion":       {[]byte(`{"specversion":"0.3","id":"e","source":"urn:x","type":"t"}`), "invalid_body", "specversion"},
		"data twice":            {[]byte(`{"specversion":"1.0","id":"e","source":"urn:x","type":"t","data":{},"data_base64":"e30="}`), "invalid_body", "data_base64"},
		"33 bits":               {[]byte(`{"specversion":"1.0","id":"e","source":"urn:x","type":"t","makoconvid":99999999999}`), "invalid_body", "makoconvid"},
		"no source":             {[]byte(`{"specversion":"1.0","id":"e","type":"t"}`), "invalid_body", "source"},
		"no id, no type":        {[]byte(`{"specversion":"1.0","source":"urn:x"}`), "invalid_body", "id type"},
		"a name with NUL":       {envelope("p", pid, `,"a\u0000":1,"A\u0000":2`), "invalid_body", "data.A\uFFFD"},
		"very deep":             {[]byte(strings.Repeat("[", 200000)), "invalid_json", ""},
	}
	for name, c := range cases {
		a := b.deliver(t, c.body)
		if a.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s, want 400", name, a.status, a.body)
			continue
		}
		wantProblem(t, a, http.StatusBadRequest, c.code, strings.Fields(c.field)...)
	}
	if n, kept := b.orderCount(t), len(b.kept(t)); n != 0 || kept != len(cases) {
		t.Errorf("%d orders and %d kept deliveries, want 0 and %d", n, kept, len(cases))
	}
}

// inBase64 is an event whose data comes as base64.
func inBase64(data string) []byte {
	return fmt.Appendf(nil, `{"specversion":"1.0", "data_base64" : "%s","id":"e-1","source":"urn:x","subject":"p-64","makopid":17117,
		"type":"de.mako.process.initiated"}`, strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte(data)), "/", `\/`))
}

func TestStructured_mode_takes_what_reads_one_way(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, body := range map[string][]byte{
		"PID as a string":        envelope("p-1", `"makopid":"17117",`, ""),
		"PID in data alone":      envelope("p-2", "", `,"pid":17117`),
		"PID null":               envelope("p-3", `"makopid":null,`, `,"pid":17117`),
		"unknown members":        envelope("p-4", `"makopid":17117,"makoerc":"x",`, `,"new":{"Any":1},"treffpunkt":null`),
		"upper case alone":       envelope("p-5", `"makopid":17117,`, `,"ZUSATZ":"x"`),
		"one name on two levels": envelope("p-6", `"makopid":17117,`, `,"x":{"x":{"x":1}}`),
		"base64":                 inBase64(`{"malo_id":"51238696012","lf_mp_id":"9900012345678"}`),
		"number and boolean":     envelope("p-7", `"makopid":17117,"makotry":1,"makotest":true,`, ""),
	} {
		if a := b.deliver(t, body); a.status != http.StatusCreated {
			t.Errorf("%s: %d %s, want 201", name, a.status, a.body)
		}
	}
}

func TestStructured_mode_passes_over_foreign_events_whatever_their_data(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const head = `{"specversion":"1.0","id":"e","source":"urn:x","type":"com.example.other",`
	for _, body := range []string{
		head + `"datacontenttype":null,"makoconvid":null,"data":{}}`, head + `"datacontenttype":"text/plain","data":"hello"}`, head + `"data_base64":"AAECAw=="}`, head + `"data":[1,2]}`,
		head + `"datacontenttype":"text/plain","data":"{no json"}`, `{"specversion":"1.0","id":"e","source":"urn:x","type":"com.example.none"}`,
	} {
		wantStatus(t, b.deliver(t, []byte(body)), http.StatusNoContent)
	}
}

func TestWebhook_refuses_NUL_for_good_or_stores_without_it(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const pid = `"makopid":17117,`
	for name, c := range map[string]struct {
		body   []byte
		status int
	}{
		"in the process":   {envelope(`p\u0000`, pid, ""), http.StatusUnprocessableEntity},
		"in the PID":       {envelope("p-1", `"makopid":"171\u000017",`, ""), http.StatusUnprocessableEntity},
		"in the receiver":  {envelope("p-2", pid, `,"receiver":"99003\u000057000004"`), http.StatusUnprocessableEntity},
		"in hinweis":       {envelope("p-3", pid, `,"hinweis":"a\u0000b"`), http.StatusCreated},
		"in the place":     {envelope("p-4", pid, `,"treffpunkt":{"ort":"B\u0000","plz":"\u0000","land":"D\u0000E","strasse":"\u0000","hinweis":"\u0000"}`), http.StatusCreated},
		"in arbeitszeit":   {envelope("p-5", pid, `,"arbeitszeit":"Z5\u00003"`), http.StatusCreated},
		"in a foreign one": {envelope("p-6", pid, `,"x\u0000":"\u0000"`), http.StatusCreated},
		"in an attribute":  {envelope("p-7", pid+`"makoerc":"\u0000",`, ""), http.StatusCreated},
	} {
		if a := b.deliver(t, c.body); a.status != c.status {
			t.Errorf("%s: %d %s, want %d", name, a.status, a.body, c.status)
		}
	}
}
