package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inBinaryMode takes a structured event apart: its attributes become header lines,
// percent-encoded as encode does it, and its data the body.
func inBinaryMode(t *testing.T, event []byte, encode func(string) string) (body []byte, header []string) {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(event, &members); err != nil {
		t.Fatal(err)
	}
	header = []string{"Content-Type", "application/json"}
	for name, value := range members {
		if name != "data" && name != "datacontenttype" {
			header = append(header, "Ce-"+name, encode(strings.Trim(string(value), `"`)))
		}
	}
	return members["data"], header
}

// everyByte writes each byte as a percent-escape.
func everyByte(s string) string {
	const digits = "0123456789abcdef" // RFC 3986 takes either case
	var b strings.Builder
	for _, c := range []byte(s) {
		b.Write([]byte{'%', digits[c>>4], digits[c&15]})
	}
	return b.String()
}

func plain(s string) string { return s }

// columns are all orders as the API shows them, without what each row has anew.
func (b *bench) columns(t *testing.T) []map[string]any {
	t.Helper()
	rows := decode[[]map[string]any](t, b.get(t, orders), http.StatusOK)
	for _, row := range rows {
		delete(row, "id")
		delete(row, "iftsta_next_attempt_at") // of the database's clock
	}
	return rows
}

func TestBinary_mode_stores_the_order_that_structured_mode_stores(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"17115-fixed-date.json", "17115-earliest-date.json", "17117.json"} {
		structured, binary, escaped := newBench(t), newBench(t), newBench(t)
		event := sample(t, name)
		wantStatus(t, structured.deliver(t, event), http.StatusCreated)
		body, header := inBinaryMode(t, event, plain)
		wantStatus(t, binary.deliver(t, body, header...), http.StatusCreated)
		body, header = inBinaryMode(t, event, everyByte)
		wantStatus(t, escaped.deliver(t, body, header...), http.StatusCreated)

		want := structured.columns(t)
		if len(want) != 1 {
			t.Fatalf("%d orders, want 1", len(want))
		}
		for _, got := range [][]map[string]any{binary.columns(t), escaped.columns(t)} {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: order (-structured +binary):\n%s", name, diff)
			}
		}
		// The other mode is the same event: a redelivery.
		wantStatus(t, structured.deliver(t, body, header...), http.StatusNoContent)
		wantStatus(t, binary.deliver(t, event), http.StatusNoContent)
		if n := structured.orderCount(t) + binary.orderCount(t); n != 2 {
			t.Errorf("%d orders of one event at two services, want 2", n)
		}
	}
}

func TestBinary_mode_decodes_percent_escapes_once_and_in_every_attribute(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct{ sent, stored string }{
		{"a%20b%C3%BC", "a bü"}, {"a%20b%c3%bc", "a bü"}, {"100%2525", "100%25"}, {"%E2%82%AC", "€"}, {"a+b", "a+b"}, {"%22q%22", `"q"`},
	} {
		b.deliver(t, []byte(binaryBody), binaryHeader("Ce-Subject", c.sent, "Ce-Source", "urn:mako:m%C3%BCller%20s", "Ce-Makoerc", "a%20%C3%BC")...)
		if n := b.count(t, `SELECT count(*) FROM sperr_orders WHERE process_id = '`+c.stored+`'`); n != 1 {
			t.Errorf("subject %s: %d orders of process %s, want 1", c.sent, n, c.stored)
		}
	}
	if n := b.orderCount(t); n != 5 { // two spellings are one process
		t.Errorf("%d orders, want 5", n)
	}
}

func TestBinary_mode_of_another_content_type_is_refused_and_kept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	contentTypes := []string{
		"text/plain", "text/json", "application/xml", "application/octet-stream", "application/x-www-form-urlencoded", "application/problem+json",
		"application/vnd.mako+json", "application/json; charset=iso-8859-1", "", "*/*", "application/cloudevents+xml",
	}
	for _, contentType := range contentTypes {
		a := b.deliver(t, []byte(binaryBody), binaryHeader("Content-Type", contentType)...)
		wantProblem(t, a, http.StatusUnsupportedMediaType, "unsupported_media_type")
	}
	header := signed(t, []byte(binaryBody)) // and none at all
	for i, lines := 0, binaryHeader(); i < len(lines); i += 2 {
		header.Set(lines[i], lines[i+1])
	}
	header.Del("Content-Type")
	a := b.send(t, http.MethodPost, "/webhook", strings.NewReader(binaryBody), header)
	wantProblem(t, a, http.StatusUnsupportedMediaType, "unsupported_media_type")

	want := slices.Repeat([]string{"unsupported_media_type"}, len(contentTypes)+1)
	if diff := cmp.Diff(want, b.kept(t)); diff != "" || b.orderCount(t) != 0 {
		t.Errorf("%d orders; kept (-want +got):\n%s", b.orderCount(t), diff)
	}
	// What is kept is the whole event: its attributes stand in the headers alone.
	for _, r := range b.rejects(t, "") {
		one := decode[reject](t, b.get(t, rejects+"/"+r.ID), http.StatusOK)
		if len(one.Headers["ce-subject"]) != 1 || !slices.Equal(one.Headers["ce-makopid"], []string{"17117"}) || one.BodyText == nil || *one.BodyText != binaryBody {
			t.Errorf("kept %+v", one)
		}
	}
}

// The body of a structured event counts whatever headers stand beside it: a reader
// that mixed the two would read a third event.
func TestStructured_mode_is_not_mixed_with_ce_headers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.deliver(t, sample(t, "17117.json"), "Ce-Makopid", "17115", "Ce-Type", "com.example.other", "Ce-Subject", "another", "Ce-Id", "another")
	id := decode[map[string]string](t, a, http.StatusCreated)["id"]
	if o := b.order(t, id); o.OrderType != "entsperrung" || *o.ProcessID != "0b7c1e2a-1111-4000-8000-000000000003" {
		t.Errorf("order %+v", o)
	}
}
