package api_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/go-chi/chi/v5"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"sperrd/internal/api"
)

const openapiURL = "openapi.json"

// contract is the description that the service serves. A schema is compiled once for all
// the answers that are held to it.
type contract struct {
	raw    []byte
	doc    map[string]any
	router *chi.Mux // finds the path of a request as the service itself does

	mutex    sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema
}

// described is the contract, read once for all tests.
var described = sync.OnceValues(func() (*contract, error) {
	w := httptest.NewRecorder()
	handler := api.NewHandler(api.Options{Version: "v-test", Logger: slog.New(slog.DiscardHandler)})
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
	c := &contract{raw: w.Body.Bytes(), router: chi.NewRouter(), compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.raw))
	if err != nil {
		return nil, fmt.Errorf("%d %s: %w", w.Code, c.raw, err)
	}
	c.doc, _ = doc.(map[string]any)
	c.compiler.AssertFormat()
	if err := c.compiler.AddResource(openapiURL, doc); err != nil {
		return nil, err
	}
	for path, methods := range c.operations() {
		for method := range methods {
			c.router.Method(method, path, http.NotFoundHandler())
		}
	}
	return c, nil
})

// place is a part of the document, with references followed. The zero value is none.
type place struct {
	c       *contract
	pointer string
	value   any
}

func (c *contract) root() place { return place{c, "", c.doc} }

// in goes down to a member.
func (p place) in(names ...string) place {
	for _, name := range names {
		object, _ := p.value.(map[string]any)
		value, ok := object[name]
		if !ok {
			return place{}
		}
		p = place{p.c, p.pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name), value}.followed()
	}
	return p
}

// followed is what a reference refers to.
func (p place) followed() place {
	object, _ := p.value.(map[string]any)
	reference, ok := object["$ref"].(string)
	if !ok {
		return p
	}
	return p.c.root().in(strings.Split(strings.TrimPrefix(reference, "#/"), "/")...)
}

func (p place) exists() bool { return p.c != nil }

// members are the names in an object.
func (p place) members() map[string]any {
	object, _ := p.value.(map[string]any)
	return object
}

func (p place) text(name string) string {
	text, _ := p.members()[name].(string)
	return text
}

// items are the elements of a list.
func (p place) items() []place {
	list, _ := p.value.([]any)
	places := make([]place, len(list))
	for i, v := range list {
		places[i] = place{p.c, fmt.Sprintf("%s/%d", p.pointer, i), v}.followed()
	}
	return places
}

// validate holds v to the schema at p.
func (p place) validate(v any) error {
	p.c.mutex.Lock()
	schema, known := p.c.schemas[p.pointer]
	if !known {
		var err error
		if schema, err = p.c.compiler.Compile(openapiURL + "#" + p.pointer); err != nil {
			p.c.mutex.Unlock()
			return err
		}
		p.c.schemas[p.pointer] = schema
	}
	p.c.mutex.Unlock()
	return schema.Validate(v)
}

var methodsOfPath = map[string]string{
	"get": http.MethodGet, "put": http.MethodPut, "post": http.MethodPost, "delete": http.MethodDelete, "patch": http.MethodPatch,
	"head": http.MethodHead, "options": http.MethodOptions, "trace": http.MethodTrace,
}

// operations are those of the document, by path and method.
func (c *contract) operations() map[string]map[string]place {
	all := map[string]map[string]place{}
	for path := range c.root().in("paths").members() {
		all[path] = map[string]place{}
		for member := range c.root().in("paths", path).members() {
			if method, ok := methodsOfPath[member]; ok {
				all[path][method] = c.root().in("paths", path, member)
			}
		}
	}
	return all
}

// operation is the one that answers a request, with its path; false: there is none.
func (c *contract) operation(method, path string) (operation place, pattern string, ok bool) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if pattern = c.router.Find(chi.NewRouteContext(), method, path); pattern == "" {
		return place{}, "", false
	}
	return c.root().in("paths", pattern, strings.ToLower(method)), pattern, true
}

// parameters are those of an operation and of its path, by their place and name.
func (c *contract) parameters(pattern string, operation place) map[[2]string]place {
	all := map[[2]string]place{}
	for _, from := range []place{c.root().in("paths", pattern, "parameters"), operation.in("parameters")} {
		for _, parameter := range from.items() {
			all[[2]string{parameter.text("in"), parameter.text("name")}] = parameter
		}
	}
	return all
}

// named are the parameters in one place.
func named(parameters map[[2]string]place, in string) map[string]place {
	some := map[string]place{}
	for key, parameter := range parameters {
		if key[0] == in {
			some[key[1]] = parameter
		}
	}
	return some
}
