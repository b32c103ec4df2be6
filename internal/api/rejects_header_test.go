package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReplay_reads_a_binary_event_with_the_headers_it_had(t *testing.T) {
	t.Parallel()
	structured, b := newBench(t), newBench(t)
	event := sample(t, "17115-fixed-date.json")
	wantStatus(t, structured.deliver(t, event), http.StatusCreated)
	body, header := inBinaryMode(t, event, everyByte)
	kept := b.refused(t, body, header...)
	if got := b.reject(t, kept).Headers["ce-type"]; len(got) != 1 || got[0] != everyByte("de.mako.process.initiated") {
		t.Errorf("ce-type is kept as %q", got)
	}
	wantQueued(t, b.replay(t, kept, ""))
	if diff := cmp.Diff(structured.columns(t), b.columns(t)); diff != "" {
		t.Errorf("order (-structured +replayed):\n%s", diff)
	}
}

// Joined, the two would be one process id with a comma in it.
func TestReplay_refuses_a_header_that_was_given_twice(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := signedAs(t, "w-1", []byte(binaryBody))
	for i, lines := 0, binaryHeader(); i < len(lines); i += 2 {
		h.Set(lines[i], lines[i+1])
	}
	h["Ce-Subject"] = []string{"p-1", "p-2"}
	wantProblem(t, b.send(t, http.MethodPost, "/webhook", strings.NewReader(binaryBody), h), http.StatusBadRequest, "invalid_body", "ce-subject")
	kept := b.rejectOf(t, "w-1")
	if diff := cmp.Diff([]string{"p-1", "p-2"}, b.reject(t, kept).Headers["ce-subject"]); diff != "" {
		t.Errorf("ce-subject (-sent +kept):\n%s", diff)
	}
	wantProblem(t, b.replay(t, kept, ""), http.StatusUnprocessableEntity, "unusable_event", "ce-subject")
	// One value with a comma is another delivery, also under the same webhook id.
	h["Ce-Subject"] = []string{"p-1, p-2"}
	wantProblem(t, b.send(t, http.MethodPost, "/webhook?x=1", strings.NewReader(binaryBody), h), http.StatusBadRequest, "invalid_parameter")
	if n := len(b.rejects(t, "")); n != 2 {
		t.Errorf("%d deliveries are kept, want 2", n)
	}
}

func TestReplay_takes_the_rows_of_earlier_versions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	kept := b.refused(t, []byte(binaryBody), binaryHeader()...)
	before := b.reject(t, kept)
	// As it was kept before headers could have several values.
	if _, err := b.pool.Exec(t.Context(), `UPDATE webhook_rejects SET headers =
		(SELECT jsonb_object_agg(key, value -> 0) FROM jsonb_each(headers))`); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, b.reject(t, kept)); diff != "" {
		t.Errorf("a row of an earlier version (-new +old):\n%s", diff)
	}
	wantQueued(t, b.replay(t, kept, ""))
}
