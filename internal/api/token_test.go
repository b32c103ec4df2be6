package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestClaims_of_odd_shape_never_become_a_role_or_a_tenant(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	many := func(last string) []string {
		roles := slices.Repeat([]string{"role-0815"}, 10_000)
		return append(roles, last)
	}
	for name, c := range map[string]struct {
		claims claims
		status int
	}{
		"array with NB":            {claims{"mako_roles": []string{"NB"}}, 200},
		"NB among others":          {claims{"mako_roles": []string{"LF", "NB"}}, 200},
		"NB last of 10,001":        {claims{"mako_roles": many("NB")}, 200},
		"10,001 others":            {claims{"mako_roles": many("LF")}, 403},
		"role as string":           {claims{"mako_roles": "NB"}, 403},
		"role in small":            {claims{"mako_roles": []string{"nb"}}, 403},
		"empty array":              {claims{"mako_roles": []string{}}, 403},
		"missing":                  {claims{"mako_roles": nil}, 403},
		"entity":                   {claims{"mako_roles": claims{"type": "NB", "id": "x"}}, 403},
		"nested":                   {claims{"mako_roles": [][]string{{"NB"}}}, 403},
		"number among the strings": {claims{"mako_roles": []any{"NB", 1}}, 403},
		"Keycloak's own roles":     {claims{"mako_roles": nil, "realm_access": claims{"roles": []string{"NB"}}}, 403},
		"tenant as number":         {claims{"mako_tenant": 9900357000004}, 403},
		"tenant as array":          {claims{"mako_tenant": []string{tenant}}, 403},
		"tenant of another":        {claims{"mako_tenant": "9900357000003"}, 403},
		"tenant with a blank":      {claims{"mako_tenant": tenant + " "}, 403},
		"tenant missing":           {claims{"mako_tenant": nil}, 403},
	} {
		if a := g.as(t, c.claims, http.MethodGet, orders, ""); a.status != c.status {
			t.Errorf("%s: %d, want %d; %s", name, a.status, c.status, a.body)
		}
	}
}

func TestToken_stands_in_one_Authorization_header_and_nowhere_else(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	token := g.issuer.Token(t, nil)
	for _, value := range []string{"Bearer " + token, "bearer " + token, "BEARER  " + token + " "} {
		wantStatus(t, g.call(t, http.MethodGet, orders, "", "Authorization", value), http.StatusOK)
	}
	for _, value := range []string{
		"", "Bearer", "Bearer ", token, "Basic " + token, "Bearer" + token, "Bearer " + token + ", Bearer " + token,
		"Bearer " + token + " x", "Bearer\t" + token, "Bearer \u00a0" + token, "Bearer " + token + "\u00a0", "DPoP " + token, "Bearer " + mcpKey, "Bearer \xff" + token,
	} {
		wantProblem(t, g.call(t, http.MethodGet, orders, "", "Authorization", value), http.StatusUnauthorized, "unauthenticated")
	}
	twice := http.Header{"Authorization": {"Bearer " + token, "Bearer " + token}}
	wantProblem(t, g.send(t, http.MethodGet, orders, http.NoBody, twice), http.StatusUnauthorized, "unauthenticated")
	wantStatus(t, g.call(t, http.MethodGet, orders+"?access_token="+token, ""), http.StatusUnauthorized)
	wantStatus(t, g.call(t, http.MethodGet, orders, "", "Cookie", "access_token="+token), http.StatusUnauthorized)
	wantStatus(t, g.call(t, http.MethodGet, orders, "", "X-Forwarded-User", "admin"), http.StatusUnauthorized)
}

func TestRefused_token_is_told_in_general_and_logged_with_its_reason(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	expired := g.as(t, claims{"exp": now.Add(-time.Hour).Unix()}, http.MethodGet, orders, "")
	if p := wantProblem(t, expired, http.StatusUnauthorized, "unauthenticated"); p.Detail != "The token has expired." {
		t.Errorf("detail %q", p.Detail)
	}
	account := g.as(t, claims{"aud": "account", "azp": "sperrd"}, http.MethodGet, orders, "")
	if p := wantProblem(t, account, http.StatusUnauthorized, "unauthenticated"); strings.Contains(p.Detail, "account") {
		t.Errorf("detail %q", p.Detail)
	}
	if got, want := account.header.Get("WWW-Authenticate"), `Bearer realm="sperrd", error="invalid_token"`; got != want {
		t.Errorf("WWW-Authenticate %q, want %q", got, want)
	}
	bare := g.get(t, orders)
	if got, want := bare.header.Get("WWW-Authenticate"), `Bearer realm="sperrd"`; got != want {
		t.Errorf("WWW-Authenticate %q, want %q", got, want)
	}
	denied := g.as(t, claims{"mako_roles": "NB", "sub": "u-77"}, http.MethodGet, orders, "")
	wantStatus(t, denied, http.StatusForbidden)

	lines := g.log.requests(t)
	for i, want := range []string{"expired at 2026-09-03T07:00:00Z", "audience mapper", "bearer token is needed", "no policy permits read-sperr-order"} {
		if reason, _ := lines[i]["reason"].(string); !strings.Contains(reason, want) {
			t.Errorf("reason %q, want it to say %q", reason, want)
		}
	}
	if got := lines[3]; got["subject"] != "u-77" || got["caller_tenant"] != tenant || !strings.Contains(got["ignored"].(string), "mako_roles is a string") {
		t.Errorf("line of the denial: %v", got)
	}
	if strings.Contains(g.log.String(), "eyJ") {
		t.Errorf("a token stands in the log:\n%s", g.log)
	}
}
