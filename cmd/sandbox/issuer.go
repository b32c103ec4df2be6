package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

const (
	audience = "sperrd" // which tokens must name to count here
	// accountSecret opens every account: what can be done with one is made up, and only
	// this machine can ask for its tokens.
	accountSecret = "sandbox"
	tokenLife     = time.Hour
	// tokenPath is where the provider gives out tokens, clientCredentials the one grant
	// for which it does.
	tokenPath         = "/oauth/token"
	clientCredentials = string(oidc.GrantTypeClientCredentials)
)

// The accounts that a person can be.
const (
	asDisponent    = "disponent"     // dispatcher of this Netzbetreiber: may do everything
	asKollege      = "kollege"       // another dispatcher: may do as much, under ids of its own
	asLieferant    = "lieferant"     // right tenant, another market role
	asFremderNB    = "fremder-nb"    // right market role, another tenant
	asOhneAudience = "ohne-audience" // as Keycloak answers without an audience mapper
)

// anotherTenant is the Netzbetreiber next door.
const anotherTenant = "9900468000007"

// account is somebody to whom the provider gives tokens, and what these say. As a
// client of its own it needs no login page.
type account struct {
	name, tenant string
	roles        []string
	audience     string
}

// accounts are all there are.
func accounts() []account {
	return []account{
		{asDisponent, tenant, []string{"NB"}, audience},
		{asKollege, tenant, []string{"NB"}, audience},
		{asLieferant, tenant, []string{"LF"}, audience},
		{asFremderNB, anotherTenant, []string{"NB"}, audience},
		{asOhneAudience, tenant, []string{"NB"}, "account"},
	}
}

func findAccount(name string) (account, bool) {
	all := accounts()
	i := slices.IndexFunc(all, func(a account) bool { return a.name == name })
	if i < 0 {
		return account{}, false
	}
	return all[i], true
}

// claims are those of its tokens that OIDC does not know.
func (a account) claims() map[string]any {
	return map[string]any{"mako_tenant": a.tenant, "mako_roles": a.roles}
}

// What the library wants of a request for a token.

func (a account) GetSubject() string    { return a.name }
func (a account) GetAudience() []string { return []string{a.audience} }
func (account) GetScopes() []string     { return nil }

// startIssuer serves a real OIDC provider and returns its issuer URL.
func (n *neighbourhood) startIssuer(ctx context.Context) (string, error) {
	listener, err := port{"--issuer-port", n.IssuerPort, 8784}.listen(ctx, loopback, n.say)
	if err != nil {
		return "", err
	}
	issuer := urlOf(portOf(listener))
	handler, err := newIssuer(issuer)
	if err != nil {
		listener.Close()
		return "", err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	n.background(ctx, "OIDC provider", func(ctx context.Context) error { return serveUntil(ctx, server, listener) })
	n.say("OIDC provider on %s", issuer)
	return issuer, nil
}

// newIssuer returns a provider with a key of its own. It gives tokens to those who know
// the secret of an account, and offers no other way to get one.
func newIssuer(issuer string) (http.Handler, error) {
	storage, err := newIssuerStorage()
	if err != nil {
		return nil, err
	}
	config := &op.Config{SupportedScopes: []string{}, SupportedClaims: []string{"iss", "sub", "aud", "exp", "mako_tenant", "mako_roles"}}
	_, _ = rand.Read(config.CryptoKey[:]) // of opaque tokens, of which there are none
	provider, err := op.NewProvider(config, storage, op.StaticIssuer(issuer),
		op.WithAllowInsecure(),  // it is on loopback
		op.WithCORSOptions(nil), // a page in a browser on this machine must get no token
		op.WithHttpInterceptors(oneGrant, knownAccounts))
	if err != nil {
		return nil, fmt.Errorf("make the provider: %w", err)
	}
	return provider, nil
}
