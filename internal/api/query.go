package api

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sperrd/internal/werktag"
)

const (
	defaultLimit = 100
	maxLimit     = 1000
)

// parameters are the query parameters of a request, each known, given once and not
// empty: a filter that is misspelt must not become the whole queue.
type parameters map[string]string

// readParameters reads the query; names are the parameters the route knows.
func readParameters(r *http.Request, names ...string) (parameters, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, &fault{kind: errInvalidParameter, detail: "The query cannot be read."}
	}
	p := parameters{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		given := values[name]
		switch {
		case !slices.Contains(names, name):
			return nil, fieldFault(errInvalidParameter, name, "is not a parameter of this route")
		case len(given) > 1:
			return nil, fieldFault(errInvalidParameter, name, "is given more than once")
		case given[0] == "":
			return nil, fieldFault(errInvalidParameter, name, "is empty")
		case !utf8.ValidString(given[0]) || strings.ContainsRune(given[0], 0):
			return nil, fieldFault(errInvalidParameter, name, "is not text")
		}
		p[name] = given[0]
	}
	return p, nil
}

// limit is the number of rows of a page. What is beyond the largest page means the
// largest page, so that "all of it" written as a big number works.
func (p parameters) limit() (int, error) {
	text, given := p["limit"]
	if !given {
		return defaultLimit, nil
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' }) {
		return 0, fieldFault(errInvalidParameter, "limit", "must be a number of digits only")
	}
	n, err := strconv.Atoi(text)
	if err != nil { // out of range
		return maxLimit, nil
	}
	if n < 1 {
		return 0, fieldFault(errInvalidParameter, "limit", "must be at least 1")
	}
	return min(n, maxLimit), nil
}

// datum is the day asked about, nil if none is.
func (p parameters) datum() (*werktag.Date, error) {
	return p.day("must be a day, written YYYY-MM-DD", func(werktag.Date) bool { return true })
}

// calendarDatum is datum where the calendar must be able to count from it.
func (p parameters) calendarDatum() (*werktag.Date, error) {
	must := fmt.Sprintf("must be a day of the years %d to %d, written YYYY-MM-DD", werktag.FirstYear, werktag.LastYear)
	return p.day(must, werktag.Date.InCalendar)
}

func (p parameters) day(must string, good func(werktag.Date) bool) (*werktag.Date, error) {
	text, given := p["datum"]
	if !given {
		return nil, nil
	}
	day, err := werktag.ParseDate(text)
	if err != nil || !good(day) {
		return nil, fieldFault(errInvalidParameter, "datum", must)
	}
	return &day, nil
}

// linkNext points at the next page of a list, with everything this one was asked for.
func (p parameters) linkNext(w http.ResponseWriter, r *http.Request, cursor string) {
	if cursor == "" {
		return
	}
	values := url.Values{}
	for name, value := range p {
		values.Set(name, value)
	}
	values.Set("cursor", cursor)
	next := url.URL{Path: r.URL.Path, RawQuery: values.Encode()}
	w.Header().Set("Link", "<"+next.String()+`>; rel="next"`)
}
