package api_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/api"
)

func contractOf(t *testing.T) *contract {
	t.Helper()
	c, err := described()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// eachOperation runs test for every operation of the description.
func eachOperation(t *testing.T, test func(name, pattern string, operation place)) {
	t.Helper()
	for pattern, methods := range contractOf(t).operations() {
		for method, operation := range methods {
			test(method+" "+pattern, pattern, operation)
		}
	}
}

// A route that is open says so, one that is not names what opens it.
func TestDescription_says_what_opens_each_route(t *testing.T) {
	t.Parallel()
	c := contractOf(t)
	want := map[string][]string{"POST /webhook": {"webhook"}, "POST /mcp": {"oidc", "mcpKey"}}
	for _, r := range api.Table() {
		name := r.Method + " " + r.Pattern
		security := c.root().in("paths", r.Pattern, strings.ToLower(r.Method), "security")
		if !security.exists() {
			security = c.root().in("security")
		}
		var got []string
		for _, one := range security.items() {
			got = append(got, slices.Collect(maps.Keys(one.members()))...)
		}
		wanted, special := want[name]
		if !special && r.Action != "" {
			wanted = []string{"oidc"}
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%s: security (-want +got):\n%s", name, diff)
		}
	}
}

var inBraces = regexp.MustCompile(`\{([^}]+)\}`)

func TestDescription_has_the_parameters_of_each_path(t *testing.T) {
	t.Parallel()
	eachOperation(t, func(name, pattern string, operation place) {
		var want []string
		for _, match := range inBraces.FindAllStringSubmatch(pattern, -1) {
			want = append(want, match[1])
		}
		got := named(contractOf(t).parameters(pattern, operation), "path")
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" {
			t.Errorf("%s: parameters of the path (-want +got):\n%s", name, diff)
		}
	})
}

func TestDescription_repeats_the_ids_of_a_call_where_the_route_reads_them(t *testing.T) {
	t.Parallel()
	for _, r := range api.Table() {
		operation := contractOf(t).root().in("paths", r.Pattern, strings.ToLower(r.Method))
		for status := range operation.in("responses").members() {
			for _, name := range []string{"transactionId", "referenceId"} {
				if operation.in("responses", status, "headers", name).exists() != r.Once {
					t.Errorf("%s %s: %s: header %s of an answer, and the route reads it: %t", r.Method, r.Pattern, status, name, r.Once)
				}
			}
		}
	}
}

// Each answer says which codes it can have: every one has its status, and none is of no
// route.
func TestDescription_says_which_codes_each_route_answers(t *testing.T) {
	t.Parallel()
	codes := api.ProblemCodes()
	answered := map[string]bool{"method_not_allowed": true} // by no operation
	eachOperation(t, func(name, _ string, operation place) {
		for status := range operation.in("responses").members() {
			schema := operation.in("responses", status, "content", "application/problem+json", "schema")
			if !schema.exists() {
				continue
			}
			some := schema.in("allOf").items()[1].in("properties", "code", "enum").items()
			if len(some) == 0 {
				t.Errorf("%s: %s: no codes", name, status)
			}
			for _, code := range some {
				answered[code.value.(string)] = true
				if got := fmt.Sprint(codes[code.value.(string)]); got != status {
					t.Errorf("%s: %s: code %s has status %s", name, status, code.value, got)
				}
			}
		}
	})
	if diff := cmp.Diff(slices.Sorted(maps.Keys(codes)), slices.Sorted(maps.Keys(answered))); diff != "" {
		t.Errorf("codes of the operations (-table +description):\n%s", diff)
	}
}

// openSchemas are objects that somebody else may add members to.
var openSchemas = []string{
	"CloudEvent", "DryRunReport/properties/command/properties/payload", "HistoryEntry/properties/detail", "JsonRpc",
	"WebhookRejectWhole/properties/headers",
}

func TestDescription_knows_every_member_of_a_body(t *testing.T) {
	t.Parallel()
	var open []string
	var walk func(p place, name string)
	walk = func(p place, name string) {
		if p.text("type") == "object" && p.members()["additionalProperties"] != false {
			open = append(open, name)
		}
		for member := range p.in("properties").members() {
			if property := p.in("properties", member); strings.HasPrefix(property.pointer, p.pointer) {
				walk(property, name+"/properties/"+member)
			}
		}
	}
	schemas := contractOf(t).root().in("components", "schemas")
	for name := range schemas.members() {
		walk(schemas.in(name), name)
	}
	slices.Sort(open)
	if diff := cmp.Diff(openSchemas, open); diff != "" {
		t.Errorf("schemas with room for more (-want +got):\n%s", diff)
	}
}

// eachContent runs test for every body in the description.
func eachContent(t *testing.T, test func(name string, content place)) {
	t.Helper()
	eachOperation(t, func(name, _ string, operation place) {
		contents := map[string]place{name + " request": operation.in("requestBody", "content")}
		for status := range operation.in("responses").members() {
			contents[name+" "+status] = operation.in("responses", status, "content")
		}
		for where, content := range contents {
			for media := range content.members() {
				test(where+" "+media, content.in(media))
			}
		}
	})
}

func TestDescription_has_an_example_of_each_body_that_is_one(t *testing.T) {
	t.Parallel()
	eachContent(t, func(name string, content place) {
		examples := content.in("examples")
		if len(examples.members()) == 0 {
			t.Errorf("%s: no example", name)
		}
		for example := range examples.members() {
			if err := content.in("schema").validate(examples.in(example).members()["value"]); err != nil {
				t.Errorf("%s: example %s: %v", name, example, err)
			}
		}
	})
	for _, kind := range []string{"parameters", "headers"} {
		all := contractOf(t).root().in("components", kind)
		for name := range all.members() {
			example, given := all.in(name).members()["example"]
			if !given {
				continue
			}
			if err := all.in(name, "schema").validate(example); err != nil {
				t.Errorf("%s %s: %v", kind, name, err)
			}
		}
	}
}
