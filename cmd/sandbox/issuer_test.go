package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/google/go-cmp/cmp"
)

// A public library finds the keys of the provider and accepts its tokens.
func TestIssuer_gives_tokens_that_say_who_somebody_is(t *testing.T) {
	t.Parallel()
	issuer := serveIssuer(t)
	ctx := oidc.ClientContext(t.Context(), &http.Client{Transport: &http.Transport{DisableKeepAlives: true}})
	provider, err := oidc.NewProvider(ctx, issuer)
	if err != nil {
		t.Fatal(err)
	}
	type claims struct {
		Tenant string   `json:"mako_tenant"`
		Roles  []string `json:"mako_roles"`
	}
	for name, want := range map[string]struct {
		audience string
		claims
	}{
		"disponent":     {"sperrd", claims{"9900357000004", []string{"NB"}}},
		"kollege":       {"sperrd", claims{"9900357000004", []string{"NB"}}},
		"lieferant":     {"sperrd", claims{"9900357000004", []string{"LF"}}},
		"fremder-nb":    {"sperrd", claims{anotherTenant, []string{"NB"}}},
		"ohne-audience": {"account", claims{"9900357000004", []string{"NB"}}},
	} {
		status, body := askForToken(t, issuer, name, "sandbox", "client_credentials")
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", name, status, body)
		}
		var answer struct {
			Token     string `json:"access_token"`
			ExpiresIn int    `json:"expires_in"`
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
		token, err := provider.Verifier(&oidc.Config{ClientID: want.audience}).Verify(ctx, answer.Token)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got claims
		if err := token.Claims(&got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.claims, got); diff != "" || token.Subject != name || len(token.Audience) != 1 {
			t.Errorf("%s: sub %s, aud %s, %s", name, token.Subject, token.Audience, diff)
		}
		if life := time.Until(token.Expiry); life < 58*time.Minute || life > time.Hour || answer.ExpiresIn < 58*60 {
			t.Errorf("%s: good for %s, expires_in %d", name, life, answer.ExpiresIn)
		}
	}
}

func TestIssuer_gives_nobody_else_a_token(t *testing.T) {
	t.Parallel()
	issuer := serveIssuer(t)
	for what, c := range map[string]struct {
		name, secret, grant string
		status              int
		code                string
	}{
		"wrong secret":    {"disponent", "sandbos", "client_credentials", http.StatusUnauthorized, "invalid_client"},
		"no secret":       {"disponent", "", "client_credentials", http.StatusUnauthorized, "invalid_client"},
		"unknown account": {"chef", "sandbox", "client_credentials", http.StatusUnauthorized, "invalid_client"},
		"no grant":        {"disponent", "sandbox", "", http.StatusBadRequest, "invalid_request"},
		"a code":          {"disponent", "sandbox", "authorization_code", http.StatusBadRequest, "unsupported_grant_type"},
		"a refresh token": {"disponent", "sandbox", "refresh_token", http.StatusBadRequest, "unsupported_grant_type"},
		"a signed JWT":    {"disponent", "sandbox", "urn:ietf:params:oauth:grant-type:jwt-bearer", http.StatusBadRequest, "unsupported_grant_type"},
		"a password":      {"disponent", "sandbox", "password", http.StatusBadRequest, "unsupported_grant_type"},
	} {
		status, body := askForToken(t, issuer, c.name, c.secret, c.grant)
		if status != c.status || !strings.Contains(body, `"`+c.code+`"`) || strings.Contains(body, "access_token") {
			t.Errorf("%s: %d %s, want %d %s", what, status, body, c.status, c.code)
		}
	}
}

// However a client names itself, it learns which names there are, and the answer to a
// wrong secret is another one.
func TestIssuer_names_its_accounts_to_who_asks_for_another_one(t *testing.T) {
	t.Parallel()
	issuer := serveIssuer(t)
	const names = "disponent, kollege, lieferant, fremder-nb, ohne-audience"
	_, basic := askForToken(t, issuer, "chef%2Bkoch", "sandbox", "client_credentials")
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	_, form := sendWith(t, header, http.MethodPost, issuer+tokenPath, "grant_type=client_credentials&client_id=chef&client_secret=sandbox")
	for name, body := range map[string]string{"chef+koch": basic, "chef": form} {
		var refusal struct {
			Code string `json:"error"`
			Says string `json:"error_description"`
		}
		if err := json.Unmarshal([]byte(body), &refusal); err != nil {
			t.Fatal(err)
		}
		if refusal.Code != "invalid_client" || refusal.Says != fmt.Sprintf("there is no account %q, only %s", name, names) {
			t.Errorf("%s: %s", name, body)
		}
	}
	if _, body := askForToken(t, issuer, "kollege", "sandbos", "client_credentials"); strings.Contains(body, "no account") {
		t.Errorf("wrong secret: %s", body)
	}
}

// What the library serves besides is refused, and does not break.
func TestIssuer_offers_nothing_else(t *testing.T) {
	t.Parallel()
	issuer := serveIssuer(t)
	for _, path := range []string{
		"/authorize?client_id=disponent&redirect_uri=http://127.0.0.1/&response_type=code&scope=openid", "/authorize/callback?id=1",
		"/userinfo", "/oauth/introspect", "/revoke?token=x&client_id=disponent", "/device_authorization",
	} {
		if status, body := send(t, http.MethodPost, issuer+path, ""); status < 400 || status >= 500 {
			t.Errorf("POST %s: %d %s", path, status, body)
		}
	}
}

// A page in a browser on this machine may ask, but does not get to see the answer.
func TestIssuer_shows_no_token_to_a_page(t *testing.T) {
	t.Parallel()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, tokenPath, strings.NewReader("grant_type=client_credentials&client_id=disponent&client_secret=sandbox"))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", "http://evil.example")
	handler, err := newIssuer("http://127.0.0.1:8784")
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, request)
	if got := w.Header().Get("Access-Control-Allow-Origin"); w.Code != http.StatusOK || got != "" {
		t.Errorf("%d, Access-Control-Allow-Origin %q", w.Code, got)
	}
}

// serveIssuer serves a provider until the test ends and returns its issuer URL.
func serveIssuer(t *testing.T) string {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	issuer := "http://" + server.Listener.Addr().String()
	handler, err := newIssuer(issuer)
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = handler
	server.Start()
	t.Cleanup(server.Close)
	return issuer
}

// askForToken asks as the printed command does.
func askForToken(t *testing.T, issuer, name, secret, grant string) (int, string) {
	t.Helper()
	form := url.Values{}
	if grant != "" {
		form.Set("grant_type", grant)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, issuer+"/oauth/token", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth(name, secret)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}
