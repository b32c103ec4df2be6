package api_test

import (
	"bytes"
	"net/http"
	"slices"
	"testing"
)

// binaryBody is the data of an Entsperrauftrag, as binary mode sends it.
const binaryBody = `{"malo_id":"51238696012","lf_mp_id":"9900012345678","arbeitszeit":"Z54"}`

// binaryHeader are the attributes of that event; lines replace, an empty value removes.
func binaryHeader(lines ...string) []string {
	header := []string{
		"Content-Type", "application/json", "Ce-Specversion", "1.0", "Ce-Id", "e-1", "Ce-Source", "urn:mako:makod",
		"Ce-Type", "de.mako.process.initiated", "Ce-Subject", "0b7c1e2a-1111-4000-8000-000000000009", "Ce-Makopid", "17117",
		"Ce-Makoworkflow", "gpke-sperrung", "Ce-Time", "2026-09-01T08:00:00Z",
	}
	return append(header, lines...)
}

func TestBinary_mode_queues_the_order_too(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, lines := range map[string][]string{
		"plain":                {"Ce-Subject", "p-1"},
		"charset":              {"Ce-Subject", "p-2", "Content-Type", "application/json; charset=UTF-8"},
		"percent-encoded":      {"Ce-Subject", "p%20%C3%BC%E2%82%AC", "Ce-Source", "urn:mako:m%C3%BCller"},
		"percent in type":      {"Ce-Subject", "p-4", "Ce-Type", "de.mako.process%2Einitiated", "Ce-Makoworkflow", "gpke%2Dsperrung"},
		"quoted":               {"Ce-Subject", `"p-\5"`},
		"extra attribute":      {"Ce-Subject", "p-6", "Ce-Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
		"fraction of a second": {"Ce-Subject", "p-7", "Ce-Time", "2026-09-01T10:00:00.123456+02:00"},
	} {
		if a := b.deliver(t, []byte(binaryBody), binaryHeader(lines...)...); a.status != http.StatusCreated {
			t.Errorf("%s: %d %s, want 201", name, a.status, a.body)
		}
	}
	var processes []string
	err := b.pool.QueryRow(t.Context(), `SELECT array_agg(process_id ORDER BY process_id COLLATE "C") FROM sperr_orders`).Scan(&processes)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"p ü€", "p-1", "p-2", "p-4", "p-5", "p-6", "p-7"}; !slices.Equal(processes, want) {
		t.Errorf("processes %q, want %q", processes, want)
	}
}

func TestBinary_mode_refuses_and_keeps_what_it_cannot_read(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, c := range map[string]struct {
		body  string
		lines []string
		code  string
		field string
	}{
		"no specversion":   {binaryBody, []string{"Ce-Specversion", ""}, "invalid_body", "ce-specversion"},
		"old specversion":  {binaryBody, []string{"Ce-Specversion", "0.3"}, "invalid_body", "ce-specversion"},
		"no id":            {binaryBody, []string{"Ce-Id", ""}, "invalid_body", "id"},
		"no type":          {binaryBody, []string{"Ce-Type", ""}, "invalid_body", "type"},
		"no source":        {binaryBody, []string{"Ce-Source", ""}, "invalid_body", "source"},
		"bad time":         {binaryBody, []string{"Ce-Time", "yesterday"}, "invalid_body", "ce-time"},
		"bad percent":      {binaryBody, []string{"Ce-Subject", "50%"}, "invalid_body", "ce-subject"},
		"percent latin-1":  {binaryBody, []string{"Ce-Subject", "m%FCller"}, "invalid_body", "ce-subject"},
		"raw latin-1":      {binaryBody, []string{"Ce-Subject", "m\xfcller"}, "invalid_body", "ce-subject"},
		"PID with blank":   {binaryBody, []string{"Ce-Makopid", "17117%20"}, "invalid_body", "ce-makopid"},
		"PID with point":   {binaryBody, []string{"Ce-Makopid", "17117.0"}, "invalid_body", "ce-makopid"},
		"PID empty":        {binaryBody, []string{"Ce-Makopid", ""}, "invalid_body", "ce-makopid"},
		"underscore":       {binaryBody, []string{"Ce-Mako_pid", "1"}, "invalid_body", "extension:mako_pid"},
		"duplicate":        {`{"malo_id":"51238696012","malo_id":"51238696781"}`, nil, "invalid_body", "malo_id"},
		"case variant":     {`{"malo_id":"51238696012","MALO_ID":"51238696781"}`, nil, "invalid_body", "MALO_ID"},
		"cut":              {binaryBody[:20], nil, "invalid_json", ""},
		"trailing":         {binaryBody + "{}", nil, "invalid_json", ""},
		"NUL in a process": {binaryBody, []string{"Ce-Subject", "a%00b"}, "unusable_event", "subject"},
		"no process":       {binaryBody, []string{"Ce-Subject", ""}, "unusable_event", "subject"},
		"no object":        {`"x"`, nil, "unusable_event", "data"},
	} {
		a := b.deliver(t, []byte(c.body), binaryHeader(c.lines...)...)
		status := http.StatusBadRequest
		if c.code == "unusable_event" {
			status = http.StatusUnprocessableEntity
		}
		if a.status != status {
			t.Errorf("%s: %d %s, want %d", name, a.status, a.body, status)
			continue
		}
		var fields []string
		if c.field != "" {
			fields = []string{c.field}
		}
		wantProblem(t, a, status, c.code, fields...)
	}
	if n, kept := b.orderCount(t), len(b.kept(t)); n != 0 || kept != 20 {
		t.Errorf("%d orders and %d kept deliveries, want 0 and 20", n, kept)
	}
}

func TestBinary_mode_refuses_a_header_given_twice(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := signed(t, []byte(binaryBody))
	lines := binaryHeader()
	for i := 0; i < len(lines); i += 2 {
		h.Set(lines[i], lines[i+1])
	}
	h.Add("Ce-Makopid", "17115")
	a := b.send(t, http.MethodPost, "/webhook", bytes.NewReader([]byte(binaryBody)), h)
	wantProblem(t, a, http.StatusBadRequest, "invalid_body", "ce-makopid")
}

func TestWebhook_refuses_other_modes_rather_than_passing_them_over(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := sample(t, "17117.json")
	for name, contentType := range map[string]string{
		"batch": "application/cloudevents-batch+json", "bare JSON": "application/json", "text": "text/plain",
		"XML": "application/xml", "avro": "application/cloudevents+avro", "latin-1": "application/cloudevents+json; charset=iso-8859-1",
		"unreadable": "application/cloudevents+json; charset", "empty": "", "two in one": "application/cloudevents+json, text/plain",
	} {
		a := b.deliver(t, body, "Content-Type", contentType, "X-Case", name)
		wantProblem(t, a, http.StatusUnsupportedMediaType, "unsupported_media_type")
	}
	none := signed(t, body)
	a := b.send(t, http.MethodPost, "/webhook", bytes.NewReader(body), none)
	wantProblem(t, a, http.StatusUnsupportedMediaType, "unsupported_media_type")
	a = b.deliver(t, body, "Content-Encoding", "gzip")
	wantProblem(t, a, http.StatusUnsupportedMediaType, "unsupported_media_type")
	if n, kept := b.orderCount(t), len(b.kept(t)); n != 0 || kept != 11 {
		t.Errorf("%d orders and %d kept deliveries, want 0 and 11", n, kept)
	}
	wantStatus(t, b.deliver(t, body, "Content-Type", `application/cloudevents+json; charset="UTF-8"`), http.StatusCreated)
}

func TestWebhook_takes_no_query(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := sample(t, "17117.json")
	h := signed(t, body)
	h.Set("Content-Type", "application/cloudevents+json")
	a := b.send(t, http.MethodPost, "/webhook?tenant=9900000000001", bytes.NewReader(body), h)
	wantProblem(t, a, http.StatusBadRequest, "invalid_parameter")
	if kept := b.kept(t); len(kept) != 1 {
		t.Errorf("kept %v, want the one refused", kept)
	}
}
