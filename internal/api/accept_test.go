package api_test

import (
	"net/http"
	"strings"
	"testing"
)

const jsonType, textCSV = "application/json", "text/csv; charset=utf-8; header=present"

func TestList_comes_in_the_format_that_is_wanted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(t, minimal("entsperrung"))
	for _, c := range []struct {
		accept    string
		due, list string // content types with and without due=true; empty: 406
	}{
		{"", jsonType, jsonType},
		{"*/*", jsonType, jsonType},
		{"application/json", jsonType, jsonType},
		{"application/*", jsonType, jsonType},
		{"APPLICATION/JSON; charset=utf-8", jsonType, jsonType},
		{"application/json;odata=verbose", jsonType, jsonType},
		{"text/html, image/gif, *; q=.2, */*; q=.2", jsonType, jsonType},
		{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", jsonType, jsonType},
		{"rubbish;;;", jsonType, jsonType},
		{", ,", jsonType, jsonType},

		{"text/csv", textCSV, ""},
		{"Text/CSV", textCSV, ""},
		{"text/*", textCSV, ""},
		{"text/csv; charset=UTF-8; header=present", textCSV, ""},
		{"text/csv;charset=utf8", textCSV, ""},
		{"text/csv, */*", textCSV, jsonType},
		{"*/*, text/csv", textCSV, jsonType},
		{"text/csv, application/json;q=0.9", textCSV, jsonType},
		{"application/json;q=0.9, text/csv;q=0.91", textCSV, jsonType},
		{"application/json;q=0, */*", textCSV, ""},
		{"application/*;q=0.1, text/*;q=0.2", textCSV, jsonType},

		{"text/csv, application/json", jsonType, jsonType},
		{"text/csv;q=0.5, */*", jsonType, jsonType},
		{"text/csv;q=0, */*;q=0.1", jsonType, jsonType},
		{"text/csv;q=0.5;q=0.9, application/json;q=0.1", jsonType, jsonType}, // unreadable, so not said
		{"text/csv;q=2, application/json;q=0.1", jsonType, jsonType},
		{"text/csv;q=NaN, application/json;q=0.1", jsonType, jsonType},

		{"text/html", "", ""},
		{"text/csv;q=0", "", ""},
		{"text/csv; charset=iso-8859-1", "", ""},
		{"text/csv; header=absent", "", ""},
		{"application/vnd.ms-excel", "", ""},
		{"*/*;q=0", "", ""},
		{"application/problem+json", "", ""},
	} {
		for query, want := range map[string]string{"?due=true": c.due, "": c.list, "?status=pending": c.list, "?due=false": c.list} {
			h := http.Header{}
			if c.accept != "" {
				h.Set("Accept", c.accept)
			}
			a := b.send(t, http.MethodGet, orders+query, strings.NewReader(""), h)
			if got := a.header.Get("Vary"); got != "Accept" {
				t.Errorf("%q: Vary %q", c.accept, got)
			}
			if want == "" {
				if a.status != http.StatusNotAcceptable || codeOf(a) != "not_acceptable" {
					t.Errorf("Accept %q, %s: %d %s, want 406", c.accept, query, a.status, a.body)
				}
				continue
			}
			if got := a.header.Get("Content-Type"); a.status != http.StatusOK || got != want {
				t.Errorf("Accept %q, %s: %d %s, want %s", c.accept, query, a.status, got, want)
			}
		}
	}
}

func TestList_reads_all_lines_of_Accept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := http.Header{"Accept": {"application/json;q=0.1", "text/csv"}}
	if got := b.send(t, http.MethodGet, orders+"?due=true", strings.NewReader(""), h).header.Get("Content-Type"); got != textCSV {
		t.Errorf("Content-Type %q", got)
	}
}
