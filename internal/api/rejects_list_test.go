package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRejects_are_a_work_list_of_what_nobody_has_settled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	open := b.refusedWith(t, http.StatusBadRequest, []byte("{"))
	text := b.refusedWith(t, http.StatusUnsupportedMediaType, []byte("x"), "Content-Type", "text/plain")
	replayed, dismissed := b.refused(t, sample(t, "17117.json")), b.refusedWith(t, http.StatusBadRequest, []byte("["))
	wantQueued(t, b.replay(t, replayed, ""))
	wantStatus(t, b.dismiss(t, dismissed, `{"reason":"Probe"}`), http.StatusNoContent)

	for query, want := range map[string][]string{
		"":                             {open, text},
		"?status=open":                 {open, text},
		"?code=unsupported_media_type": {text}, "?code=invalid_parameter": nil,
		"?status=replayed": {replayed}, "?status=dismissed": {dismissed}, "?status=all": {open, text, replayed, dismissed},
		"?status=all&code=invalid_json": {open, dismissed}, "?status=dismissed&code=process_conflict": nil,
	} {
		var got []string
		for _, r := range b.rejects(t, query) {
			got = append(got, r.ID)
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	const nobody = `"settlement":null,"settled_at":null,"settled_by":null,"settlement_reason":null,"order_id":null,"redacted_at":null`
	for _, path := range []string{rejects, rejects + "/" + open} {
		if a := b.get(t, path); !strings.Contains(string(a.body), nobody) {
			t.Errorf("%s: %s does not say that nobody has settled it", path, a.body)
		}
	}
	if n := b.statOf(t, "webhook_rejects_offen"); n != 2 {
		t.Errorf("webhook_rejects_offen %d, want the 2 that are open", n)
	}
}

func (b *bench) statOf(t *testing.T, name string) int {
	t.Helper()
	return decode[map[string]int](t, b.get(t, orders+"/stats"), http.StatusOK)[name]
}

func TestRejects_are_asked_for_by_what_there_is(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for range 2 {
		b.refusedWith(t, http.StatusBadRequest, []byte("{"))
	}
	for query, field := range map[string]string{
		"status=Open": "status", "status=pending": "status", "status=": "status", "status=open&status=all": "status",
		"code=INVALID_JSON": "code", "code=not_found": "code", "code=": "code", "reason=x": "reason",
	} {
		p := wantProblem(t, b.get(t, rejects+"?"+query), http.StatusBadRequest, "invalid_parameter", field)
		if strings.Contains(query, "=not_found") && !strings.Contains(p.Detail, "unusable_event") {
			t.Errorf("detail %q does not name the codes there are", p.Detail)
		}
		if query == "status=pending" && !strings.HasSuffix(p.Detail, "one of all, dismissed, open, replayed.") {
			t.Errorf("detail %q does not name the statuses there are", p.Detail)
		}
	}
	// A cursor belongs to its question.
	next := nextPage(t, b.get(t, rejects+"?limit=1"))
	for _, other := range []string{"&status=all", "&status=replayed", "&code=invalid_json"} {
		wantProblem(t, b.get(t, next+other), http.StatusBadRequest, "invalid_parameter", "cursor")
	}
	if list := decode[[]reject](t, b.get(t, next+"&status=open"), http.StatusOK); len(list) != 1 {
		t.Errorf("the second page has %d, want 1", len(list))
	}
	next = nextPage(t, b.get(t, rejects+"?limit=1&status=all&code=invalid_json"))
	if list := decode[[]reject](t, b.get(t, next), http.StatusOK); len(list) != 1 {
		t.Errorf("the second page has %d, want 1", len(list))
	}
}

func TestRejects_later_delivery_of_a_settled_one_only_counts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	foreign := edited(t, `"receiver": "9900357000004"`, `"receiver": "9900000000001"`)
	wantStatus(t, b.deliverAs(t, "w-1", foreign), http.StatusUnprocessableEntity)
	id := b.rejectOf(t, "w-1")
	wantStatus(t, b.dismiss(t, id, `{"reason":"für einen anderen"}`), http.StatusNoContent)
	if _, err := b.pool.Exec(t.Context(), `UPDATE webhook_rejects SET status = 400, code = 'invalid_body', reason = 'as it was dismissed'`); err != nil {
		t.Fatal(err)
	}
	before := b.reject(t, id)
	for range 2 {
		wantStatus(t, b.deliverAs(t, "w-1", foreign), http.StatusUnprocessableEntity)
	}
	after := b.reject(t, id)
	before.Count = 3
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("settled delivery that came again (-want +got):\n%s", diff)
	}
	// An open one is told by its latest answer.
	if _, err := b.pool.Exec(t.Context(), `UPDATE webhook_rejects SET settlement = NULL, settled_at = NULL, settled_by = NULL, code = 'x'`); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, b.deliverAs(t, "w-1", foreign), http.StatusUnprocessableEntity)
	if got := b.reject(t, id); got.Code != "unusable_event" || got.Count != 4 {
		t.Errorf("open delivery that came again %+v", got)
	}
}
