package api_test

import (
	"bytes"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
)

// runbookOfRejects is the section of the runbook about refused deliveries.
func runbookOfRejects(t *testing.T) string {
	t.Helper()
	runbook, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(runbook), "\n## Refused webhooks\n")
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// wantExplained fails unless a row and the runbook give the reason, word for word.
func (b *bench) wantExplained(t *testing.T, runbook, code, reason string) {
	t.Helper()
	if !strings.Contains(runbook, reason) {
		t.Errorf("docs/operations.md does not explain %q", reason)
	}
	if kept := b.rejects(t, "?limit=1000&code="+code); !slices.ContainsFunc(kept, func(r reject) bool { return strings.Contains(r.Reason, reason) }) {
		t.Errorf("no row of %s gives the reason %q", code, reason)
	}
}

// refusedDelivery is a delivery with the code of its refusal.
type refusedDelivery struct {
	code   string
	body   []byte
	header []string
}

// refusedByReason are deliveries by the reason for which they are refused.
func refusedByReason(t *testing.T) map[string]refusedDelivery {
	t.Helper()
	event := sample(t, "17115-fixed-date.json")
	twice := strings.Replace(string(event), `"ort": "Berlin"`, `"ort": "Berlin", "ORT": "Potsdam"`, 1)
	of := func(contentType string) []string { return []string{"Content-Type", contentType} }
	return map[string]refusedDelivery{
		"is not valid JSON at byte":        {"invalid_json", event[:40], nil},
		"is not UTF-8":                     {"invalid_json", edited(t, "Lindenallee", "Lindenall\xe9e"), nil},
		"comes twice":                      {"invalid_body", edited(t, `"hinweis": "Ger`, `"treffpunkt": "Ger`), nil},
		"comes twice, in another case":     {"invalid_body", []byte(twice), nil},
		"is no CloudEvent":                 {"invalid_body", edited(t, `"source"`, `"sourc"`), nil},
		"must be 1.0":                      {"invalid_body", edited(t, `"1.0"`, `"0.3"`), nil},
		"is no attribute name":             {"invalid_body", edited(t, `"makopid"`, `"mako_pid"`), nil},
		"must be digits":                   {"invalid_body", []byte(binaryBody), binaryHeader("Ce-Makopid", "x")},
		"escapes nothing":                  {"invalid_body", []byte(binaryBody), binaryHeader("Ce-Subject", "5%")},
		"A CloudEvent is needed":           {"unsupported_media_type", event, of("text/plain")},
		"cannot be read":                   {"unsupported_media_type", event, of("a; charset")},
		"A batch of events":                {"unsupported_media_type", event, of("application/cloudevents-batch+json")},
		"without a Content-Encoding":       {"unsupported_media_type", event, []string{"Content-Encoding", "br"}},
		"only charset is utf-8":            {"unsupported_media_type", event, of("application/cloudevents+json; charset=latin1")},
		"is not this Netzbetreiber":        {"unusable_event", edited(t, `"receiver": "9900357000004"`, `"receiver": "9900000000001"`), nil},
		"is missing":                       {"unusable_event", edited(t, `"malo_id": "51238696012"`, `"malo_id": null`), nil},
		"subject is missing":               {"unusable_event", edited(t, `"subject": "0b7c1e2a-1111-4000-8000-000000000001"`, `"subject": null`), nil},
		"is no process id":                 {"unusable_event", edited(t, "0b7c1e2a-1111-4000-8000-000000000001", `a\nb`), nil},
		"excludes fruehestens_am":          {"unusable_event", edited(t, `"fruehestens_am": null`, `"fruehestens_am": "20260901"`), nil},
		"is no date this service can read": {"unusable_event", edited(t, "20260901", "1. September"), nil},
		"is outside the calendar":          {"unusable_event", edited(t, "20260901", "20360901"), nil},
		"is no Pruefidentifikator":         {"unusable_event", edited(t, `"makopid": 17115`, `"makopid": "x"`), nil},
		"data is no JSON object":           {"unusable_event", []byte(`"x"`), binaryHeader()},
		"has a control character":          {"unusable_event", edited(t, "gpke-sperrung", `gpke\t-sperrung`), nil},
	}
}

// What an operator reads in the list is found in the runbook word for word.
func TestReasons_of_refused_deliveries_are_those_of_the_runbook(t *testing.T) {
	t.Parallel()
	b, runbook := newBench(t), runbookOfRejects(t)
	for reason, d := range refusedByReason(t) {
		a := b.deliver(t, d.body, d.header...)
		if p := decode[problem](t, a, a.status); a.status/100 != 4 || p.Code != d.code {
			t.Errorf("%q: %s, want %s", reason, a.body, d.code)
		}
		b.wantExplained(t, runbook, d.code, reason)
	}
}

// The runbook also has the reasons that lie in the request around an event, or in an order
// that is there.
func TestReasons_of_requests_and_conflicts_are_those_of_the_runbook(t *testing.T) {
	t.Parallel()
	b, runbook := newBench(t), runbookOfRejects(t)
	event := sample(t, "17115-fixed-date.json")
	bare, doubled := signed(t, event), signed(t, []byte(binaryBody)) // without a Content-Type, and with an attribute twice
	wantStatus(t, b.send(t, http.MethodPost, "/webhook", bytes.NewReader(event), bare), http.StatusUnsupportedMediaType)
	b.wantExplained(t, runbook, "unsupported_media_type", "Exactly one Content-Type")
	doubled["Content-Type"], doubled["Ce-Id"] = []string{"application/json"}, []string{"a", "b"}
	wantStatus(t, b.send(t, http.MethodPost, "/webhook", strings.NewReader(binaryBody), doubled), http.StatusBadRequest)
	b.wantExplained(t, runbook, "invalid_body", "is given more than once")
	b.refused(t, event)
	b.wantExplained(t, runbook, "invalid_parameter", "takes no query parameters")
	wantStatus(t, b.deliver(t, event), http.StatusCreated)
	b.refusedWith(t, http.StatusConflict, edited(t, "Lindenallee 7", "Lindenallee 9"))
	b.wantExplained(t, runbook, "process_conflict", "differs from the order")
}

func TestRunbook_explains_each_code_of_a_refused_delivery(t *testing.T) {
	t.Parallel()
	b, runbook := newBench(t), runbookOfRejects(t)
	for _, code := range []string{"invalid_json", "invalid_body", "invalid_parameter", "unsupported_media_type", "unusable_event", "process_conflict", "reject_settled"} {
		if !strings.Contains(runbook, "`"+code+"`") {
			t.Errorf("docs/operations.md does not explain %s", code)
		}
	}
	wantProblem(t, b.get(t, rejects+"?code=reject_settled"), http.StatusBadRequest, "invalid_parameter", "code")
}
