package api

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
)

// headerLines are a header as net/http would hand it on; what it would refuse is left out.
func headerLines(lines string) http.Header {
	h := http.Header{}
	for line := range strings.Lines(lines) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		isToken := func(r rune) bool { return r == '-' || r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
		isControl := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7F }
		if name != "" && strings.TrimFunc(name, isToken) == "" && !strings.ContainsFunc(value, isControl) {
			h.Add(name, strings.TrimSpace(value))
		}
	}
	return h
}

// FuzzReadEvent: a body under a content type is an event or refused for good, and an event
// that is sent on in structured mode is read as the same one.
func FuzzReadEvent(f *testing.F) {
	const structuredMode = "Content-Type: application/cloudevents+json\n"
	for _, name := range []string{"17115-fixed-date.json", "17117.json", "unrelated-55001.json"} {
		body, err := os.ReadFile(filepath.Join("..", "sperr", "testdata", "events", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(structuredMode, body)
	}
	const least = `{"specversion":"1.0","id":"e","source":"u","type":"t"`
	for _, body := range []string{
		least + `}`, least + `,"data":"{\"pid\":17115}"}`, least + `,"data_base64":"e30="}`, least + `,"makopid":17115.0}`, least + `,"time":"0000-01-01T00:00:00Z"}`,
		least + `,"TYPE":"x"}`, least + `,"ſource":"x"}`, least + `,"data":{"malo_id":"1","MALO_ID":"2"}}`, least + `,"makopid":99999999999}`,
		least + `,"datacontenttype":"text/plain","data":"x"}`, `[` + least + `}]`, `null`, `{`, "\xef\xbb\xbf" + least + `}`, least + `,"a":"\ud800"}`, "\xff",
	} {
		f.Add(structuredMode, []byte(body))
	}
	const binaryMode = "Ce-Specversion: 1.0\nCe-Id: e\nCe-Source: u\nCe-Type: de.mako.process.initiated\nCe-Makopid: 17115\n"
	f.Add("Content-Type: application/json\n"+binaryMode+"Ce-Subject: %22M%C3%BCnchen%22\nCe-Time: 2026-09-03T08:00:00Z", []byte(`{"malo_id":"51238696012"}`))
	f.Add("Content-Type: application/json; charset=utf-8\n"+binaryMode+"Ce-Data: x\nCe-Dataschema: u", []byte(`[]`))
	for _, media := range []string{"application/json", "application/cloudevents-batch+json", "text/plain", "application/cloudevents+json; charset=latin1", "/;"} {
		f.Add("Content-Type: "+media+"\n", []byte(least+`}`))
	}
	f.Add(structuredMode+"Content-Encoding: gzip\n", []byte(least+`}`))
	f.Fuzz(func(t *testing.T, header string, body []byte) {
		e, err := readEvent(headerLines(header), body)
		if err != nil {
			wantRefusedForGood(t, err)
			return
		}
		if _, err := look(e.Data()); err == nil || len(e.Data()) == 0 {
			wantSameEvent(t, e)
		}
	})
}

// wantRefusedForGood checks that an error is the sender's fault, in words that can be kept.
func wantRefusedForGood(t *testing.T, err error) {
	t.Helper()
	p := problemOf(err)
	switch p.Status {
	case http.StatusBadRequest, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
	default:
		t.Errorf("%v is answered with %d", err, p.Status)
	}
	if p.Code == "" || p.Detail == "" {
		t.Errorf("problem %+v says nothing", p)
	}
}

func wantSameEvent(t *testing.T, e event.Event) {
	t.Helper()
	if e.Validate() != nil || e.Type() == "" || strings.ContainsFunc(e.Type(), unicode.IsControl) {
		t.Errorf("event %v", e)
	}
	sent, err := json.Marshal(e)
	if err != nil {
		t.Fatalf("%v cannot be sent on: %v", e, err)
	}
	again, err := readEvent(http.Header{"Content-Type": {event.ApplicationCloudEventsJSON}}, sent)
	if err != nil {
		t.Fatalf("%s is refused: %v", sent, err)
	}
	describe := func(e event.Event) map[string]string {
		said := map[string]string{"id": e.ID(), "source": e.Source(), "type": e.Type(), "subject": e.Subject(), "time": e.Time().UTC().String()}
		for name, value := range e.Extensions() {
			text, _ := json.Marshal(value) // a string, a number or a boolean
			said["extension "+name] = string(text)
		}
		return said
	}
	if diff := cmp.Diff(describe(e), describe(again)); diff != "" {
		t.Errorf("sent on as %s (-before +after):\n%s", sent, diff)
	}
}
