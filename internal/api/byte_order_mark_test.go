package api_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/uuid"
)

const mark = "\uFEFF"

// wide is text in UTF-16.
func wide(text string, order interface {
	AppendUint16(b []byte, v uint16) []byte
},
) []byte {
	var b []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, unit)
	}
	return b
}

func TestWebhook_loses_no_event_for_a_byte_order_mark(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	event := envelope("p-1", `"makopid":17117,`, "")
	marked := append([]byte(mark), event...)
	// The signature is that of the bytes as sent, in both directions.
	forged := signed(t, event)
	forged.Set("Content-Type", "application/cloudevents+json")
	wantProblem(t, b.send(t, http.MethodPost, "/webhook", bytes.NewReader(marked), forged), http.StatusUnauthorized, "invalid_signature")
	forged = signed(t, marked)
	forged.Set("Content-Type", "application/cloudevents+json")
	wantProblem(t, b.send(t, http.MethodPost, "/webhook", bytes.NewReader(event), forged), http.StatusUnauthorized, "invalid_signature")

	wantStatus(t, b.deliver(t, marked), http.StatusCreated)
	wantStatus(t, b.deliver(t, event), http.StatusNoContent) // the same event
	wantStatus(t, b.deliver(t, []byte(mark+binaryBody), binaryHeader("Ce-Subject", "p-2")...), http.StatusCreated)
	for n, data := range []string{mark + binaryBody, binaryBody} {
		encoded := fmt.Appendf(nil, `{"specversion":"1.0","data_base64":"%s","id":"e-1","source":"urn:x","subject":"p-3","makopid":17117,"type":"de.mako.process.initiated"}`,
			base64.StdEncoding.EncodeToString([]byte(data)))
		wantStatus(t, b.deliver(t, encoded), []int{http.StatusCreated, http.StatusNoContent}[n])
	}
	if n, kept := b.orderCount(t), len(b.kept(t)); n != 3 || kept != 0 {
		t.Errorf("%d orders and %d kept deliveries, want 3 and none", n, kept)
	}
}

func TestWebhook_refuses_and_keeps_other_encodings_with_their_name(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	refused := func(name string, a answer, detail string) {
		if p := wantProblem(t, a, http.StatusBadRequest, "invalid_json"); !strings.Contains(p.Detail, detail) {
			t.Errorf("%s: detail %q, want %q in it", name, p.Detail, detail)
		}
	}
	event := string(envelope("p-1", `"makopid":17117,`, ""))
	bodies := encodings(event)
	for name, c := range bodies {
		refused(name, b.deliver(t, c.body), c.detail)
		refused(name+", binary", b.deliver(t, encodings(binaryBody)[name].body, binaryHeader()...), c.detail)
	}
	if n, kept := b.orderCount(t), len(b.kept(t)); n != 0 || kept != 2*len(bodies) {
		t.Errorf("%d orders and %d kept deliveries, want none and %d", n, kept, 2*len(bodies))
	}
	stored := decode[[]reject](t, b.get(t, rejects), http.StatusOK)
	whole := decode[struct{ Body []byte }](t, b.get(t, rejects+"/"+stored[0].ID), http.StatusOK)
	found := false
	for name := range bodies {
		found = found || bytes.Equal(whole.Body, bodies[name].body) || bytes.Equal(whole.Body, encodings(binaryBody)[name].body)
	}
	if !found {
		t.Errorf("kept %q, want the bytes as they came", whole.Body)
	}
}

func TestEvery_changing_route_ignores_one_byte_order_mark_and_repeats_a_call_without_it(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	eachOnceRoute(t, b, func(t *testing.T, r onceRoute, send func(path, body string, header []string) answer, fresh func() string) {
		path := fresh()
		for name, c := range encodings(r.good) {
			if p := wantProblem(t, send(path, string(c.body), nil), http.StatusBadRequest, "invalid_json"); !strings.Contains(p.Detail, c.detail) {
				t.Errorf("%s: detail %q, want %q in it", name, p.Detail, c.detail)
			}
		}
		wantProblem(t, send(path, mark, nil), http.StatusBadRequest, "invalid_json") // nothing is not {}
		one, two := uuid.NewString(), uuid.NewString()
		first := send(path, mark+r.good, called(one))
		wantFirst(t, first, r.status, one, one)
		wantReplay(t, send(path, r.good, called(two, one)), first, two, one)

		other := fresh()
		three, four := uuid.NewString(), uuid.NewString()
		first = send(other, r.good, called(three))
		wantFirst(t, first, r.status, three, three)
		wantReplay(t, send(other, mark+r.good, called(four, three)), first, four, three)
	})
}

func TestBody_is_UTF8_under_the_names_that_it_has(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for n, charset := range []string{"utf-8", "UTF-8", `"utf-8"`, `"Utf-8"`, "utf8", "UTF8", `"utf8"`, "'utf-8'"} {
		wantStatus(t, b.call(t, http.MethodPost, orders, fullOrder, "Content-Type", "application/json;charset="+charset), http.StatusCreated)
		a := b.deliver(t, envelope(fmt.Sprintf("p-%d", n), `"makopid":17117,`, ""), "Content-Type", "application/cloudevents+json; charset="+charset)
		wantStatus(t, a, http.StatusCreated)
	}
	for _, charset := range []string{"iso-8859-1", "utf-16", "UTF-16LE", "us-ascii", "windows-1252", `""`, "utf-88", "'utf-8", "utf-8'"} {
		for surface, a := range map[string]answer{
			"operator": b.call(t, http.MethodPost, orders, fullOrder, "Content-Type", "application/json;charset="+charset),
			"market":   b.deliver(t, envelope("p", `"makopid":17117,`, ""), "Content-Type", "application/cloudevents+json; charset="+charset),
		} {
			if p := wantProblem(t, a, http.StatusUnsupportedMediaType, "unsupported_media_type"); !strings.Contains(p.Detail, "utf-8") {
				t.Errorf("%s, %s: detail %q does not name utf-8", surface, charset, p.Detail)
			}
		}
	}
}
