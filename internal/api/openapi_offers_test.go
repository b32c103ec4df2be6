package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// companions make a query parameter meaningful where alone it is not.
var companions = map[string]string{"csv": "&due=true"}

// Whatever value the description offers for a query parameter, the route takes.
func TestDescription_offers_the_values_of_parameters_that_the_routes_take(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	offered := 0
	eachOperation(t, func(name, pattern string, operation place) {
		method, _, _ := strings.Cut(name, " ")
		for parameter, described := range named(contractOf(t).parameters(pattern, operation), "query") {
			for _, value := range offers(described.in("schema")) {
				offered++
				path := strings.ReplaceAll(pattern, "{id}", "0b7c1e2a-1111-4000-8000-000000000001")
				query := "?" + parameter + "=" + url.QueryEscape(fmt.Sprint(value)) + companions[parameter]
				a := b.call(t, method, path+query, exampleOf(t, operation), "Accept", "text/csv, application/json;q=0.9")
				if a.status != http.StatusOK && a.status != http.StatusNotFound {
					t.Errorf("%s%s: %d %s", name, query, a.status, a.body)
				}
			}
		}
	})
	if offered < 25 {
		t.Errorf("%d values", offered)
	}
}

// Whatever value the description offers for a member of a body, the route takes in one of
// the examples.
func TestDescription_offers_the_values_of_bodies_that_the_routes_take(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var tried []string
	eachOperation(t, func(name, pattern string, operation place) {
		method, _, _ := strings.Cut(name, " ")
		content := operation.in("requestBody", "content", "application/json")
		if pattern == "/webhook" || pattern == "/mcp" {
			return // members of somebody else's protocol
		}
		for member := range content.in("schema", "properties").members() {
			values := offers(content.in("schema", "properties", member))
			if len(values) > 0 {
				tried = append(tried, pattern+" "+member)
			}
			for _, value := range values {
				b.wantTaken(t, method, pattern, content.in("examples"), member, value)
			}
		}
	})
	slices.Sort(tried)
	want := []string{"/api/v1/sperr-orders arbeitszeit", "/api/v1/sperr-orders order_type", "/api/v1/sperr-orders/iftsta/reset order_type"}
	if diff := cmp.Diff(want, tried); diff != "" {
		t.Errorf("tried (-want +got):\n%s", diff)
	}
}

// wantTaken sends each of the examples with the member set to value, until one is taken.
func (b *bench) wantTaken(t *testing.T, method, path string, examples place, member string, value any) {
	t.Helper()
	var last answer
	for name := range examples.members() {
		body := maps.Clone(examples.in(name, "value").members())
		body[member] = value
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		if last = b.call(t, method, path, string(raw)); last.status < http.StatusBadRequest {
			return
		}
	}
	t.Errorf("%s %s: %s %v: %d %s", method, path, member, value, last.status, last.body)
}

// offers are the values that a schema lists.
func offers(schema place) (values []any) {
	for _, one := range append(schema.in("oneOf").items(), schema) {
		for _, value := range one.in("enum").items() {
			values = append(values, value.value)
		}
		if one.text("type") == "boolean" {
			values = append(values, true, false)
		}
	}
	return values
}

// exampleOf is an example of a JSON request, or nothing.
func exampleOf(t *testing.T, operation place) string {
	t.Helper()
	examples := operation.in("requestBody", "content", "application/json", "examples")
	names := slices.Sorted(maps.Keys(examples.members()))
	if len(names) == 0 {
		return ""
	}
	raw, err := json.Marshal(examples.in(names[0]).members()["value"])
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
