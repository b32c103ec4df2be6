package api_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"sperrd/internal/api"
)

// parsed is the description as kin-openapi reads it.
var parsed = sync.OnceValues(func() (*openapi3.T, error) {
	c, err := described()
	if err != nil {
		return nil, err
	}
	document, err := openapi3.NewLoader().LoadFromData(c.raw)
	if err != nil {
		return nil, err
	}
	return document, document.Validate(context.Background())
})

// operations are the methods and paths of the description.
func operations(t *testing.T) map[string]*openapi3.Operation {
	t.Helper()
	document, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*openapi3.Operation{}
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			all[method+" "+path] = operation
		}
	}
	return all
}

func TestDescription_and_table_of_routes_say_the_same(t *testing.T) {
	t.Parallel()
	all := operations(t)
	actions := map[string]string{}
	for _, r := range api.Table() {
		name := r.Method + " " + r.Pattern
		operation, there := all[name]
		if !there {
			t.Errorf("openapi.yaml does not describe %s", name)
			continue
		}
		delete(all, name)
		action, _ := operation.Extensions["x-cedar-action"].(string)
		actions[name] = action
		if action != r.Action {
			t.Errorf("%s: described with the action %q, served with %q", name, action, r.Action)
		}
		header := func(wanted string) bool {
			return slices.ContainsFunc(operation.Parameters, func(p *openapi3.ParameterRef) bool { return p.Value.In == "header" && p.Value.Name == wanted })
		}
		for _, id := range []string{"transactionId", "creationDateTime", "initialTransactionId", "referenceId", "Idempotency-Key"} {
			if header(id) != r.Once {
				t.Errorf("%s: %s is described: %t; calls are recognised: %t", name, id, header(id), r.Once)
			}
		}
		if operation.OperationID == "" || operation.Summary == "" || len(operation.Tags) != 1 {
			t.Errorf("%s has no name, summary or tag", name)
		}
	}
	for name := range all {
		t.Errorf("openapi.yaml describes %s, which there is not", name)
	}
	if len(actions) < 25 {
		t.Errorf("%d routes", len(actions))
	}
}

func TestDescription_has_every_code_with_its_status_and_no_other(t *testing.T) {
	t.Parallel()
	document, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	statuses := api.ProblemCodes()
	var listed []string
	for _, code := range document.Components.Schemas["Problem"].Value.Properties["code"].Value.Enum {
		listed = append(listed, code.(string))
	}
	var known []string
	for code := range statuses {
		known = append(known, code)
	}
	slices.Sort(known)
	if diff := cmp.Diff(known, listed); diff != "" {
		t.Errorf("codes of Problem (-table +described):\n%s", diff)
	}
	for name, operation := range operations(t) {
		for status, response := range operation.Responses.Map() {
			media := response.Value.Content["application/problem+json"]
			if media == nil {
				continue
			}
			for code, example := range media.Examples {
				if got := fmt.Sprint(statuses[code]); got != status {
					t.Errorf("%s: %s is described with %s, the table has %s", name, code, status, got)
				}
				if err := media.Schema.Value.VisitJSON(example.Value.Value); err != nil {
					t.Errorf("%s: example %s: %v", name, code, err)
				}
			}
		}
	}
}

func TestDescription_has_examples_that_fit_their_schemas(t *testing.T) {
	t.Parallel()
	fits := func(where string, content openapi3.Content) {
		for kind, media := range content {
			if media.Schema == nil || kind == "application/problem+json" {
				continue
			}
			if len(media.Examples) == 0 && strings.HasSuffix(kind, "json") && kind != "application/json" {
				t.Errorf("%s: %s has no example", where, kind)
			}
			for name, example := range media.Examples {
				if err := media.Schema.Value.VisitJSON(example.Value.Value); err != nil {
					t.Errorf("%s: %s, example %s: %v", where, kind, name, err)
				}
			}
		}
	}
	for name, operation := range operations(t) {
		if operation.RequestBody != nil {
			fits(name, operation.RequestBody.Value.Content)
		}
		for status, response := range operation.Responses.Map() {
			fits(name+" "+status, response.Value.Content)
		}
	}
}

// What a route takes is found by asking it: what it does not know, it names.
func TestDescription_has_the_query_parameters_that_the_routes_take(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, r := range api.Table() {
		name := r.Method + " " + r.Pattern
		if r.Pattern == "/mcp" || r.Pattern == "/webhook" || r.Action == "" {
			continue
		}
		for _, p := range []string{
			"status", "malo_id", "due", "limit", "cursor", "csv", "dry_run", "datum", "art", "monat", "lf_mp_id", "order_type", "outcome", "code",
		} {
			taken := slices.ContainsFunc(operations(t)[name].Parameters, func(d *openapi3.ParameterRef) bool { return d.Value.In == "query" && d.Value.Name == p })
			path := strings.ReplaceAll(r.Pattern, "{id}", "0b7c1e2a-1111-4000-8000-000000000001")
			a := b.call(t, r.Method, path+"?"+p+"=%7F", `{}`)
			refused := strings.Contains(string(a.body), p+" is not a parameter of this route")
			if refused == taken {
				t.Errorf("%s: %s is described: %t; answer %d %s", name, p, taken, a.status, a.body)
			}
		}
	}
}

func TestOpenAPI_is_served_with_the_version_of_the_service(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *settings) { s.options.Version = "v1.2.3" })
	a := b.get(t, "/openapi.json")
	wantStatus(t, a, http.StatusOK)
	loaded, err := openapi3.NewLoader().LoadFromData(a.body)
	if err != nil || loaded.Info.Version != "v1.2.3" || loaded.Validate(t.Context()) != nil {
		t.Errorf("%v, %v", loaded.Info, err)
	}
}
