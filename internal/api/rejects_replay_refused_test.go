package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// stillRefused are deliveries that the webhook refuses for themselves: how, and what is
// said of it then and at a replay.
func stillRefused(t *testing.T) map[string]struct {
	body          []byte
	header        []string
	status        int
	fields, words string
} {
	t.Helper()
	return map[string]struct {
		body          []byte
		header        []string
		status        int
		fields, words string
	}{
		"no JSON":         {[]byte(`{"specversion"`), nil, 400, "", "not valid JSON"},
		"a member twice":  {edited(t, `"hinweis": "Ger`, `"treffpunkt": "Ger`), nil, 400, "data.treffpunkt", "comes twice"},
		"no event":        {[]byte(`{"specversion":"1.0","id":"e","source":"urn:x"}`), nil, 400, "type", "type"},
		"a text":          {[]byte("x"), []string{"Content-Type", "text/plain"}, 415, "", "A CloudEvent is needed"},
		"a batch":         {[]byte("[]"), []string{"Content-Type", "application/cloudevents-batch+json"}, 415, "", "send each by itself"},
		"compressed":      {[]byte("x"), []string{"Content-Encoding", "gzip"}, 415, "", "without a Content-Encoding"},
		"no percent":      {[]byte(binaryBody), binaryHeader("Ce-Subject", "50%"), 400, "ce-subject", "escapes nothing"},
		"latin-1":         {[]byte(binaryBody), binaryHeader("Ce-Subject", "m\xfcller"), 400, "ce-subject", "is not UTF-8"},
		"control":         {[]byte(binaryBody), binaryHeader("Ce-Type", "de.mako%00.process.initiated"), 422, "type", "control character"},
		"no MaLo":         {edited(t, `"malo_id": "51238696012"`, `"malo_id": null`), nil, 422, "malo_id", "is missing"},
		"another NB":      {edited(t, `"receiver": "9900357000004"`, `"receiver": "9900000000001"`), nil, 422, "receiver", "not this Netzbetreiber"},
		"after the years": {edited(t, "20260901", "20360901"), nil, 422, "ausfuehrung_am", "calendar"},
	}
}

func TestReplay_of_what_is_still_refused_changes_nothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, c := range stillRefused(t) {
		kept := b.refusedWith(t, c.status, c.body, c.header...)
		before, left := b.reject(t, kept), b.traces(t)
		a := b.replay(t, kept, "")
		p := wantProblem(t, a, http.StatusUnprocessableEntity, "unusable_event", strings.Fields(c.fields)...)
		if !strings.Contains(p.Detail, c.words) {
			t.Errorf("%s: detail %q, want it to say %q", name, p.Detail, c.words)
		}
		if c.status != http.StatusUnprocessableEntity && !strings.Contains(p.Detail, before.Reason) {
			t.Errorf("%s: detail %q says another thing than the webhook: %q", name, p.Detail, before.Reason)
		}
		b.wantOpen(t, before)
		b.wantTraces(t, left)
		one := uuid.NewString()
		first := b.replay(t, kept, "", called(one)...)
		wantFirst(t, first, http.StatusUnprocessableEntity, one, one)
		wantReplay(t, b.replay(t, kept, "", called(callA, one)...), first, callA, one)
		b.wantOpen(t, before)
		if _, err := b.pool.Exec(t.Context(), `DELETE FROM api_transactions`); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReplay_of_a_contradiction_names_the_order_and_stays_open(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := decode[map[string]string](t, b.deliver(t, sample(t, "17115-fixed-date.json")), http.StatusCreated)["id"]
	kept := b.refusedWith(t, http.StatusConflict, edited(t, "Lindenallee 7", "Lindenallee 9"))
	before, order := b.reject(t, kept), b.order(t, id)
	p := wantProblem(t, b.replay(t, kept, ""), http.StatusConflict, "process_conflict", "treffpunkt.strasse")
	if !strings.Contains(p.Detail, id) {
		t.Errorf("detail %q does not name the order", p.Detail)
	}
	if line := b.log.requests(t); line[len(line)-1]["order_id"] != id {
		t.Errorf("line %v, want the order in it", line[len(line)-1])
	}
	first := b.replay(t, kept, "", called(callA)...)
	wantFirst(t, first, http.StatusConflict, callA, callA)
	if got := first.header.Get(contentLocation); got != orders+"/"+id {
		t.Errorf("%s %q, want the order", contentLocation, got)
	}
	wantReplay(t, b.replay(t, kept, "", called(callB, callA)...), first, callB, callA)
	b.wantOpen(t, before)
	if diff := cmp.Diff(order, b.order(t, id)); diff != "" {
		t.Errorf("the order has changed:\n%s", diff)
	}
}
