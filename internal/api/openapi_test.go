package api_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/google/go-cmp/cmp"

	"sperrd/internal/api"
)

// described is the description as a client loads it, and what finds an operation in it.
var described = sync.OnceValues(func() (*openapi3.T, error) {
	openapi3filter.RegisterBodyDecoder("text/csv", openapi3filter.FileBodyDecoder)
	openapi3filter.RegisterBodyDecoder("text/html", openapi3filter.FileBodyDecoder)
	openapi3filter.RegisterBodyDecoder("text/css", openapi3filter.FileBodyDecoder)
	openapi3filter.RegisterBodyDecoder("application/javascript", openapi3filter.FileBodyDecoder)
	openapi3filter.RegisterBodyDecoder("text/event-stream", openapi3filter.FileBodyDecoder)
	openapi3filter.RegisterBodyDecoder("image/png", openapi3filter.FileBodyDecoder)
	document, err := openapi3.NewLoader().LoadFromFile("openapi.yaml")
	if err != nil {
		return nil, err
	}
	return document, document.Validate(context.Background())
})

var describedRouter = sync.OnceValues(func() (routers.Router, error) {
	document, err := described()
	if err != nil {
		return nil, err
	}
	return gorillamux.NewRouter(document)
})

// validated sends requests and holds every answer to the description. A test cannot forget
// it: the client of the bench is this.
type validated struct {
	base  http.RoundTripper
	fault func(format string, args ...any)
	// foreign are paths that the test serves itself.
	foreign []string
}

// RoundTrip implements http.RoundTripper.
func (v validated) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := v.base.RoundTrip(r)
	if err != nil || r.Method == http.MethodHead || response.Header.Get("X-Request-Id") == "" || slices.Contains(v.foreign, r.URL.Path) {
		return response, err
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil { // cut on purpose
		response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
		return response, nil
	}
	if err := holds(r, response, body); err != nil {
		v.fault("%s %s: %d is not what openapi.yaml describes: %v\n%.600s", r.Method, r.URL.Path, response.StatusCode, err, body)
	}
	if response.StatusCode/100 == 2 {
		if err := taken(r); err != nil {
			v.fault("%s %s: %d although openapi.yaml does not describe the request: %v", r.Method, r.URL.Path, response.StatusCode, err)
		}
	}
	return response, nil
}

// taken compares a request that was answered well with what a client may send by the
// description.
func taken(r *http.Request) error {
	if r.GetBody == nil || r.URL.Query().Get("dry_run") == "true" { // which is asked about what lacks something
		return nil
	}
	router, err := describedRouter()
	if err != nil {
		return err
	}
	body, err := r.GetBody()
	if err != nil {
		return err
	}
	sent, err := io.ReadAll(body)
	if err != nil || len(bytes.TrimPrefix(sent, []byte("\ufeff"))) != len(sent) || len(sent) == 0 {
		return err // one byte order mark is ignored, and no client is told to send it
	}
	asked := r.Clone(r.Context())
	asked.URL.Scheme, asked.URL.Host, asked.Host = "", "", ""
	asked.Body = io.NopCloser(bytes.NewReader(sent))
	route, parameters, err := router.FindRoute(asked)
	if err != nil || route.Operation.RequestBody == nil {
		return err
	}
	input := &openapi3filter.RequestValidationInput{Request: asked, PathParams: parameters, Route: route}
	return openapi3filter.ValidateRequestBody(r.Context(), input, route.Operation.RequestBody.Value)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// holds compares an answer with the operation that it answers. Where there is no such
// operation, it must be the problem that says so.
func holds(r *http.Request, response *http.Response, body []byte) error {
	router, err := describedRouter()
	if err != nil {
		return err
	}
	asked := r.Clone(r.Context())
	asked.URL.Scheme, asked.URL.Host, asked.Host = "", "", ""
	route, parameters, err := router.FindRoute(asked)
	if err != nil {
		if response.StatusCode != http.StatusNotFound && response.StatusCode != http.StatusMethodNotAllowed && response.StatusCode != http.StatusBadRequest {
			return err
		}
		return nil
	}
	if response.StatusCode == http.StatusMethodNotAllowed {
		return nil // of a path that the router of the description reads in another way
	}
	return openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: asked, PathParams: parameters, Route: route},
		Status:                 response.StatusCode, Header: response.Header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	})
}

// operations are the methods and paths of the description.
func operations(t *testing.T) map[string]*openapi3.Operation {
	t.Helper()
	document, err := described()
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
	document, err := described()
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

func TestDocs_are_served_whole_from_the_binary(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page := b.get(t, "/docs")
	wantStatus(t, page, http.StatusOK)
	policy := page.header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "script-src 'self';") {
		t.Errorf("policy %q", policy)
	}
	for _, asset := range []string{"swagger-ui.css", "swagger-ui-bundle.js", "favicon-32x32.png", "start.js"} {
		a := b.get(t, "/docs/"+asset)
		wantStatus(t, a, http.StatusOK)
		if len(a.body) < 200 || !strings.Contains(string(page.body), "/docs/"+asset) {
			t.Errorf("%s: %d bytes", asset, len(a.body))
		}
	}
	for _, other := range []string{"index.html", "swagger-ui.js", "..%2fopenapi.yaml", "embed.go", "x"} {
		wantStatus(t, b.get(t, "/docs/"+other), http.StatusNotFound)
	}
	if strings.Contains(string(page.body), "http://") || strings.Contains(string(page.body), "https://") {
		t.Errorf("the page names another host:\n%s", page.body)
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
