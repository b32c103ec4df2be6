package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"sperrd/internal/authn"
	"sperrd/internal/authn/authntest"
)

func TestWithout_keys_REST_waits_and_the_market_does_not(t *testing.T) {
	t.Parallel()
	issuer := authntest.Start(t)
	issuer.Now = func() time.Time { return now }
	issuer.SetDown(true)
	authenticator := authn.New(authn.Options{Issuer: issuer.URL(), Audience: authntest.Audience, Now: issuer.Now})
	if err := authenticator.Refresh(t.Context()); err == nil {
		t.Fatal("keys of an issuer that is down")
	}
	b := newBench(t, func(s *settings) { s.options.Authenticator, s.options.MCPKey = authenticator, mcpKey })
	g := guarded{b, issuer}

	a := g.as(t, nil, http.MethodPost, orders, minimal("sperrung"))
	p := wantProblem(t, a, http.StatusServiceUnavailable, "unavailable")
	if a.header.Get("Retry-After") == "" || !strings.Contains(p.Detail, "Nothing was done") {
		t.Errorf("Retry-After %q, detail %q", a.header.Get("Retry-After"), p.Detail)
	}
	wantStatus(t, g.get(t, orders), http.StatusUnauthorized) // no token is no token
	wantStatus(t, g.deliver(t, sample(t, "17117.json")), http.StatusCreated)
	ready := g.get(t, "/health/ready")
	wantStatus(t, ready, http.StatusOK)
	if !strings.Contains(string(ready.body), "tokens cannot be checked") {
		t.Errorf("readiness %s", ready.body)
	}

	issuer.SetDown(false)
	if err := authenticator.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, g.as(t, nil, http.MethodGet, orders, ""), http.StatusOK)
	if ready := g.get(t, "/health/ready"); string(ready.body) != `{"ready":true,"warnings":[]}` {
		t.Errorf("readiness %s", ready.body)
	}
}

func TestOpen_service_names_its_callers_and_says_so_in_readiness(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *settings) { s.options.Warnings = []string{"INSECURE: nobody is asked"} })
	id := b.create(t, minimal("sperrung")).ID
	if history := b.get(t, orders+"/"+id+"/history"); !strings.Contains(string(history.body), `"actor":"dev-admin"`) {
		t.Errorf("history %s", history.body)
	}
	if ready := b.get(t, "/health/ready"); string(ready.body) != `{"ready":true,"warnings":["INSECURE: nobody is asked"]}` {
		t.Errorf("readiness %s", ready.body)
	}
}
