package api_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// berlinHalfPastMidnight is 2026-09-08 00:30 in Berlin and 2026-09-07 22:30 in UTC.
func berlinHalfPastMidnight() time.Time { return time.Date(2026, 9, 7, 22, 30, 0, 0, time.UTC) }

func (b *bench) list(t *testing.T, query string) []order {
	t.Helper()
	return decode[[]order](t, b.get(t, orders+query), http.StatusOK)
}

func ids(list []order) []string {
	ids := []string{}
	for _, o := range list {
		ids = append(ids, o.ID)
	}
	return ids
}

func TestList_filters(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if got := string(b.get(t, orders).body); got != "[]" {
		t.Errorf("empty queue is %s, want []", got)
	}
	sperrung := b.create(t, fullOrder).ID // due on the 7th, four days ahead
	entsperrung := b.create(t, strings.Replace(minimal("entsperrung"), malo, "51238696781", 1)).ID
	cancelled := b.create(t, minimal("sperrung")).ID
	wantStatus(t, b.call(t, http.MethodPut, orders+"/"+cancelled+"/cancel", ""), http.StatusNoContent)

	for query, want := range map[string][]string{
		"":                                   {sperrung, cancelled, entsperrung},
		"?status=pending":                    {sperrung, entsperrung},
		"?status=cancelled":                  {cancelled},
		"?status=executed":                   {},
		"?malo_id=51238696781":               {entsperrung},
		"?malo_id=51238696780":               {}, // a wrong check digit is nobody's
		"?due=true":                          {entsperrung},
		"?due=true&status=pending":           {entsperrung},
		"?due=false":                         {sperrung, cancelled, entsperrung},
		"?limit=0002&status=pending":         {sperrung, entsperrung},
		"?limit=1001":                        {sperrung, cancelled, entsperrung},
		"?limit=" + strings.Repeat("9", 400): {sperrung, cancelled, entsperrung},
	} {
		got := ids(b.list(t, query))
		slices.Sort(got) // the order of the rows is package sperr's to test
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%.40s (-want +got):\n%s", query, diff)
		}
	}
	if got := ids(b.list(t, "?limit=1")); len(got) != 1 || got[0] != sperrung {
		t.Errorf("one row: %v, want the dated order", got)
	}
}

func TestList_due_goes_by_the_Berlin_day(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *settings) { s.options.Now = berlinHalfPastMidnight })
	id := b.create(t, strings.Replace(fullOrder, "2026-09-07", "2026-09-08", 1)).ID
	if diff := cmp.Diff([]string{id}, ids(b.list(t, "?due=true"))); diff != "" {
		t.Errorf("the order of the 8th is due at 00:30 on the 8th (-want +got):\n%s", diff)
	}
}

func TestList_refuses_parameters_by_name(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for query, field := range map[string]string{
		"status=done": "status", "status=PENDING": "status", "status=": "status", "status=pending&status=failed": "status",
		"status=pending%00": "status", "malo_id=1": "malo_id", "malo_id=01238696012": "malo_id",
		"malo_id=%D9%A1%D9%A11238696012": "malo_id", "malo_id=%ff": "malo_id", "due=yes": "due", "due=1": "due", "due": "due",
		"due=true&status=executed": "due", "limit=0": "limit", "limit=000": "limit", "limit=-1": "limit", "limit=1e3": "limit",
		"limit=+5": "limit", "limit=%205": "limit", "limit=5.0": "limit", "limit=": "limit", "limit=%D9%A5": "limit",
		"cursor=": "cursor", "cursor=x": "cursor", "cursor=e30=": "cursor", "cursor=%00": "cursor",
		"offset=5": "offset", "Status=pending": "Status", "status%00=pending": "status\uFFFD",
	} {
		a := b.get(t, orders+"?"+query)
		wantProblem(t, a, http.StatusBadRequest, "invalid_parameter", field)
	}
	for _, query := range []string{"status=pending;due=true", "status=%zz"} {
		wantProblem(t, b.get(t, orders+"?"+query), http.StatusBadRequest, "invalid_parameter")
	}
}

func TestEvery_api_route_refuses_unknown_parameters(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create(t, minimal("sperrung")).ID
	for _, path := range []string{orders + "/stats", orders + "/" + id, orders + "/" + id + "/history", rejects, rejects + "/" + id} {
		wantProblem(t, b.get(t, path+"?x=1"), http.StatusBadRequest, "invalid_parameter", "x")
	}
	wantProblem(t, b.call(t, http.MethodPost, orders+"?x=1", fullOrder), http.StatusBadRequest, "invalid_parameter", "x")
	for _, verb := range []string{"execute", "fail", "cancel"} {
		a := b.call(t, http.MethodPut, orders+"/"+id+"/"+verb+"?x=true", `{"reason":"zu"}`)
		wantProblem(t, a, http.StatusBadRequest, "invalid_parameter", "x")
	}
	if got := b.order(t, id).Status; got != "pending" {
		t.Errorf("the order is %s after refused reports", got)
	}
}

// nextPage is the path in the Link of an answer, empty on the last page.
func nextPage(t *testing.T, a answer) string {
	t.Helper()
	link := a.header.Get("Link")
	if link == "" {
		return ""
	}
	target, found := strings.CutSuffix(link, `>; rel="next"`)
	if _, err := url.Parse(target); !found || err != nil || !strings.HasPrefix(target, "<") {
		t.Fatalf("Link %q", link)
	}
	return target[1:]
}

// walk reads all pages from path on; between runs between two of them.
func (b *bench) walk(t *testing.T, path string, between func()) []string {
	t.Helper()
	var all []string
	for path != "" {
		a := b.get(t, path)
		all = append(all, ids(decode[[]order](t, a, http.StatusOK))...)
		path = nextPage(t, a)
		between()
	}
	return all
}

func TestList_walks_a_thousand_equal_orders_twice_the_same_while_others_come(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.pool.Exec(t.Context(), `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, ausfuehrung_am, created_at)
		SELECT $1, $2, $3, 'sperrung', '2026-09-01', '2026-08-13T09:00:00Z' FROM generate_series(1, 1000)`, tenant, malo, lf)
	if err != nil {
		t.Fatal(err)
	}
	before := map[string]bool{}
	for _, id := range ids(b.list(t, "?limit=1000")) {
		before[id] = true
	}
	if len(before) != 1000 {
		t.Fatalf("%d orders, want 1000", len(before))
	}
	for _, query := range []string{"?limit=90", "?limit=90&due=true", "?limit=90&status=pending&malo_id=" + malo} {
		var first []string
		for range 2 {
			seen := b.walk(t, orders+query, func() { b.create(t, strings.Replace(fullOrder, "2026-09-07", "2026-09-01", 1)) })
			var old []string
			for _, id := range seen {
				if before[id] {
					old = append(old, id)
				}
			}
			once := map[string]bool{}
			for _, id := range old {
				once[id] = true
			}
			if len(old) != 1000 || len(once) != 1000 {
				t.Errorf("%s: %d rows of %d orders, want each of 1000 once", query, len(old), len(once))
			}
			if first == nil {
				first = old
			}
			if diff := cmp.Diff(first, old); diff != "" {
				t.Errorf("%s: the second walk goes another way:\n%s", query, diff)
			}
		}
	}
}

func TestList_gives_a_thousand_rows_at_most(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.pool.Exec(t.Context(), `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type)
		SELECT $1, $2, $3, 'sperrung' FROM generate_series(1, 1005)`, tenant, malo, lf)
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]int{"": 100, "?limit=1000": 1000, "?limit=1001": 1000, "?limit=" + strings.Repeat("9", 400): 1000} {
		if got := len(b.list(t, query)); got != want {
			t.Errorf("%.20s: %d rows, want %d", query, got, want)
		}
	}
}

func TestList_refuses_the_cursor_of_another_list(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(t, minimal("sperrung"))
	b.create(t, minimal("sperrung"))
	next := nextPage(t, b.get(t, orders+"?limit=1&status=pending"))
	query, err := url.Parse(next)
	if err != nil || query.Query().Get("status") != "pending" || query.Query().Get("limit") != "1" {
		t.Fatalf("next page %q does not keep the parameters: %v", next, err)
	}
	cursor := url.QueryEscape(query.Query().Get("cursor"))
	wantStatus(t, b.get(t, orders+"?status=pending&cursor="+cursor), http.StatusOK)
	wantProblem(t, b.get(t, orders+"?cursor="+cursor), http.StatusBadRequest, "invalid_parameter", "cursor")
	wantProblem(t, b.get(t, orders+"?due=true&cursor="+cursor), http.StatusBadRequest, "invalid_parameter", "cursor")
	wantProblem(t, b.get(t, rejects+"?cursor="+cursor), http.StatusBadRequest, "invalid_parameter", "cursor")
}
