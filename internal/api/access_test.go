package api_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"sperrd/internal/api"
	"sperrd/internal/authn"
	"sperrd/internal/authn/authntest"
	"sperrd/internal/authz"
	"sperrd/policies"
)

// guarded is a bench that asks for the tokens of an issuer.
type guarded struct {
	*bench
	issuer *authntest.Issuer
}

const mcpKey = "mcp-key-0001"

func newGuarded(t *testing.T, changes ...func(*settings)) guarded {
	t.Helper()
	g := guarded{issuer: authntest.Start(t)}
	g.issuer.Now = func() time.Time { return now }
	authenticator := authn.New(authn.Options{Issuer: g.issuer.URL(), Audience: authntest.Audience, Now: g.issuer.Now})
	if err := authenticator.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	changes = append([]func(*settings){func(s *settings) { s.options.Authenticator, s.options.MCPKey = authenticator, mcpKey }}, changes...)
	g.bench = newBench(t, changes...)
	return g
}

// as sends a request with a token of these claims beside the good ones.
func (g guarded) as(t *testing.T, claims map[string]any, method, path, body string) answer {
	t.Helper()
	return g.call(t, method, path, body, "Authorization", "Bearer "+g.issuer.Token(t, claims))
}

type claims = map[string]any

// openRoutes are the routes without a token. Each one that joins them needs a reason
// in the table and a place here.
var openRoutes = []string{
	"POST /webhook", "GET /health/live", "HEAD /health/live", "GET /health/ready", "HEAD /health/ready",
	"GET /openapi.json", "HEAD /openapi.json", "GET /docs", "HEAD /docs", "GET /docs/{asset}", "HEAD /docs/{asset}", "GET /metrics", "HEAD /metrics",
}

// routed is what the router serves, as method and pattern.
func routed(t *testing.T) [][2]string {
	t.Helper()
	var all [][2]string
	err := chi.Walk(api.NewHandler(api.Options{}).(chi.Routes), func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		all = append(all, [2]string{method, pattern})
		return nil
	})
	if err != nil || len(all) < 15 {
		t.Fatalf("%d routes, %v", len(all), err)
	}
	return all
}

func TestEvery_route_but_the_open_ones_asks_for_a_token_a_role_and_the_tenant(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	id := g.create(t, minimal("sperrung"))
	before := g.count(t, `SELECT count(*) FROM sperr_order_history`)
	var open []string
	for _, route := range routed(t) {
		method, pattern := route[0], route[1]
		path := strings.ReplaceAll(pattern, "{id}", id)
		body := ""
		if method == http.MethodPost || method == http.MethodPut {
			body = `{}`
		}
		bare := g.call(t, method, path, body)
		if bare.status != http.StatusUnauthorized || bare.header.Get("WWW-Authenticate") == "" {
			open = append(open, method+" "+pattern)
			continue
		}
		for name, refused := range map[string]claims{
			"role LF": {"mako_roles": []string{"LF"}}, "no role": {"mako_roles": nil},
			"foreign tenant": {"mako_tenant": lf}, "no tenant": {"mako_tenant": nil},
		} {
			if a := g.as(t, refused, method, path, body); a.status != http.StatusForbidden {
				t.Errorf("%s %s with %s: %d %s", method, pattern, name, a.status, a.body)
			}
		}
	}
	slices.Sort(open)
	if diff := cmp.Diff(slices.Sorted(slices.Values(openRoutes)), open); diff != "" {
		t.Errorf("routes without a token (-want +got):\n%s", diff)
	}
	if after := g.count(t, `SELECT count(*) FROM sperr_order_history`); after != before {
		t.Errorf("what was refused left %d lines in the history", after-before)
	}
}

func TestRoute_of_which_nothing_says_who_may_call_it_is_for_nobody(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, func(s *settings) {
		s.handler = func(o api.Options) http.Handler {
			return api.NewHandlerOfNobody(o, func(http.ResponseWriter, *http.Request) error {
				t.Error("it was reached")
				return nil
			})
		}
	})
	wantStatus(t, g.get(t, "/"), http.StatusUnauthorized)
	wantProblem(t, g.as(t, nil, http.MethodGet, "/", ""), http.StatusForbidden, "forbidden")
}

func TestEvery_action_of_the_routes_is_in_the_policies_and_no_other(t *testing.T) {
	t.Parallel()
	var asked []string
	for _, r := range api.Table() {
		if r.Action != "" {
			asked = append(asked, r.Action)
		}
	}
	if _, err := authz.New("sperrd.cedar", policies.Sperrd, asked); err != nil {
		t.Error(err)
	}
	for i := range asked { // a policy that loses its line
		broken := bytes.ReplaceAll(policies.Sperrd, []byte(`"`+asked[i]+`"`), []byte(`"another"`))
		if _, err := authz.New("sperrd.cedar", broken, asked); err == nil {
			t.Errorf("policies without %s are taken", asked[i])
		}
	}
}

func TestNB_of_the_tenant_reaches_every_route(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	id := g.create(t, minimal("sperrung"))
	for _, route := range routed(t) {
		a := g.as(t, nil, route[0], strings.ReplaceAll(route[1], "{id}", id), "")
		if a.status == http.StatusForbidden || (a.status == http.StatusUnauthorized && route[1] != "/webhook") {
			t.Errorf("%s %s: %d %s", route[0], route[1], a.status, a.body)
		}
	}
}

// create queues an operator's order and returns its id.
func (g guarded) create(t *testing.T, body string) string {
	t.Helper()
	return decode[order](t, g.as(t, nil, http.MethodPost, orders, body), http.StatusCreated).ID
}

func TestRefusal_comes_before_any_look_at_body_query_and_order(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	known := g.create(t, minimal("sperrung"))
	var bodies []string
	for _, path := range []string{"/" + known, "/0b7c1e2a-1111-4000-8000-000000000001", "/x", "/" + known + "?x=1"} {
		path, query, _ := strings.Cut(path, "?")
		for _, body := range []string{`{}`, `{`, strings.Repeat(" ", 1<<20+1)} {
			wantProblem(t, g.call(t, http.MethodPut, orders+path+"/execute?"+query, body), http.StatusUnauthorized, "unauthenticated")
			a := g.as(t, claims{"mako_roles": []string{"LF"}}, http.MethodPut, orders+path+"/execute?"+query, body)
			wantProblem(t, a, http.StatusForbidden, "forbidden")
			bodies = append(bodies, string(a.body))
		}
	}
	bodies = append(bodies, string(g.as(t, claims{"mako_tenant": lf, "sub": "spy-4711"}, http.MethodGet, orders, "").body))
	if slices.Sort(bodies); len(slices.Compact(bodies)) != 1 {
		t.Errorf("the refusals differ: %q", slices.Compact(bodies))
	}
	for _, told := range []string{"spy-4711", tenant, lf, "NB", "LF", authntest.Subject} {
		if strings.Contains(bodies[0], told) {
			t.Errorf("the refusal tells %q: %s", told, bodies[0])
		}
	}
}

func TestHistory_names_the_subject_of_the_token(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	a := g.as(t, claims{"sub": "disponent-1"}, http.MethodPost, orders, minimal("sperrung"))
	id := decode[order](t, a, http.StatusCreated).ID
	wantStatus(t, g.as(t, claims{"sub": "monteur-2"}, http.MethodPut, orders+"/"+id+"/execute", ""), http.StatusNoContent)
	type entry struct{ Actor, Action string }
	got := decode[[]entry](t, g.as(t, nil, http.MethodGet, orders+"/"+id+"/history", ""), http.StatusOK)
	if diff := cmp.Diff([]entry{{"disponent-1", "created"}, {"monteur-2", "executed"}}, got); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

func TestToken_bears_no_name_that_the_history_keeps_for_the_service(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	for _, subject := range []string{"sperrd", "makod", "dev-admin", "mcp-key", "cli:root", "sql:postgres", "Makod", "SPERRD", "CLI:root"} {
		wantProblem(t, g.as(t, claims{"sub": subject}, http.MethodGet, orders, ""), http.StatusUnauthorized, "unauthenticated")
	}
	for _, subject := range []string{"sperrd-team", "makod-operator", "client", "f:7c1:sperrd"} {
		wantStatus(t, g.as(t, claims{"sub": subject}, http.MethodGet, orders, ""), http.StatusOK)
	}
}

func TestPolicy_that_fails_denies_and_is_an_error_in_the_log(t *testing.T) {
	t.Parallel()
	policy := string(policies.Sperrd) + `forbid (principal, action, resource) when { context.principal_rolls.contains("LF") };`
	authorizer, err := authz.New("sperrd.cedar", []byte(policy), api.Actions())
	if err != nil {
		t.Fatal(err)
	}
	g := newGuarded(t, func(s *settings) { s.options.Authorizer = authorizer })
	wantProblem(t, g.as(t, nil, http.MethodGet, orders, ""), http.StatusForbidden, "forbidden")
	line := g.log.requests(t)[0]
	if reason, _ := line["reason"].(string); line["level"] != slog.LevelError.String() || !strings.Contains(reason, "principal_rolls") {
		t.Errorf("line %v", line)
	}
	if ready := g.get(t, "/health/ready"); !strings.Contains(string(ready.body), "could not be evaluated for 1 requests") {
		t.Errorf("readiness %s", ready.body)
	}
}
