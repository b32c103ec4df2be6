package api

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/sperr"
)

// FuzzListQuery: a query is a filter of the list or refused, and the link to the next page
// asks for the same list.
func FuzzListQuery(f *testing.F) {
	for _, query := range []string{
		"", "status=pending&malo_id=51238696012&due=true&limit=5&cursor=eyJ9", "status=PENDING", "status=", "status=pending&status=failed", "due=1",
		"due=true&status=executed", "limit=0", "limit=-1", "limit=+5", "limit=%D9%A5", "limit=" + strings.Repeat("9", 40), "limit=0002", "cursor=%00", "cursor=%ff",
		"malo_id=%D9%A1", "offset=5", "status=pending;due=true", "status=%zz", "&&&", "=", "cursor=a%26b%3Dc%20d%2B%C3%BC",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		p, filter, err := readList(query)
		if err != nil {
			if problem := problemOf(err); problem.Status != http.StatusBadRequest || problem.Code != "invalid_parameter" {
				t.Errorf("%q is answered with %d %s: %v", query, problem.Status, problem.Code, err)
			}
			return
		}
		if filter.Limit < 1 || filter.Limit > maxLimit || filter.Status != "" && !filter.Status.Valid() || filter.MaloID != "" && !sperr.ValidMaloShape(filter.MaloID) ||
			filter.Due && filter.Status != "" && filter.Status != sperr.StatusPending || !utf8.ValidString(filter.Cursor) || strings.Contains(filter.Cursor, "\x00") {
			t.Errorf("%q is %+v", query, filter)
		}
		wantSameList(t, p, filter)
	})
}

func request(query string) *http.Request {
	return &http.Request{Method: http.MethodGet, URL: &url.URL{Path: ordersPath, RawQuery: query}}
}

func readList(query string) (parameters, sperr.Filter, error) {
	p, err := readParameters(request(query), "status", "malo_id", "due", "limit", "cursor")
	if err != nil {
		return nil, sperr.Filter{}, err
	}
	filter, err := p.filter()
	return p, filter, err
}

// wantSameList follows the link to a next page.
func wantSameList(t *testing.T, p parameters, f sperr.Filter) {
	t.Helper()
	const cursor = "eyJ-_9 &=\"<>ü"
	w := httptest.NewRecorder()
	p.linkNext(w, request(""), cursor)
	link := w.Header().Get("Link")
	target, whole := strings.CutSuffix(link, `>; rel="next"`)
	next, err := url.Parse(strings.TrimPrefix(target, "<"))
	if err != nil || !whole || next.Path != ordersPath {
		t.Fatalf("Link %q: %v", link, err)
	}
	_, again, err := readList(next.RawQuery)
	f.Cursor = cursor
	if diff := cmp.Diff(f, again); err != nil || diff != "" {
		t.Errorf("Link %q: %v (-before +after):\n%s", link, err, diff)
	}
}
