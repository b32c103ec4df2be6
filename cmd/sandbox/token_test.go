package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

func TestTokens_are_kept_until_shortly_before_their_end(t *testing.T) {
	t.Parallel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	of := newTokens(serveIssuer(t), asDisponent, client)
	get := func() string {
		t.Helper()
		token, err := of.get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	first := get()
	if get() != first {
		t.Error("the provider is asked again for a token that is still good")
	}
	if left := time.Until(of.renewAt); left < tokenLife-2*tokenMargin || left > tokenLife-tokenMargin {
		t.Errorf("kept for %s", left)
	}
	of.renewAt = time.Now()
	if get() == first {
		t.Error("a token is shown that is about to end")
	}
}

func TestTokens_tell_why_there_is_none(t *testing.T) {
	t.Parallel()
	provider := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(provider.Close)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	_, err := newTokens(provider.URL, asDisponent, client).get(t.Context())
	if err == nil || !strings.Contains(err.Error(), "for disponent: the provider answers 404") {
		t.Errorf("get: %v", err)
	}
}

// What the story shows to be refused is a token in which the signature alone is wrong.
func TestForge_changes_claims_and_nothing_else(t *testing.T) {
	t.Parallel()
	issuer := serveIssuer(t)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	token, err := newTokens(issuer, asLieferant, client).get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	forged, err := forge(token, `"LF"`, `"NB"`)
	if err != nil {
		t.Fatal(err)
	}
	config := &oidc.Config{ClientID: audience, InsecureSkipSignatureCheck: true}
	read, err := oidc.NewVerifier(issuer, nil, config).Verify(t.Context(), forged)
	if err != nil {
		t.Fatal(err)
	}
	var claims struct {
		Roles []string `json:"mako_roles"`
	}
	if err := read.Claims(&claims); err != nil || len(claims.Roles) != 1 || claims.Roles[0] != "NB" {
		t.Errorf("the claims are %+v (%v)", claims, err)
	}
	provider, err := oidc.NewProvider(oidc.ClientContext(t.Context(), client), issuer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.Verifier(&oidc.Config{ClientID: audience}).Verify(oidc.ClientContext(t.Context(), client), forged); err == nil {
		t.Error("the signature fits what was changed")
	}
	if _, err := forge(token, `"MSB"`, `"NB"`); err == nil {
		t.Error("nothing was there to change, and nobody is told")
	}
}
