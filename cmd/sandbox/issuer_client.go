package main

import (
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// issuerClient is an account as the library sees it: a client that gets a JWT for its
// secret, and that no browser is ever sent to.
type issuerClient struct{ account }

func (c issuerClient) GetID() string             { return c.name }
func (issuerClient) AuthMethod() oidc.AuthMethod { return oidc.AuthMethodBasic }
func (issuerClient) GrantTypes() []oidc.GrantType {
	return []oidc.GrantType{oidc.GrantTypeClientCredentials}
}
func (issuerClient) AccessTokenType() op.AccessTokenType { return op.AccessTokenTypeJWT }
func (issuerClient) ClockSkew() time.Duration            { return 0 }
func (issuerClient) DevMode() bool                       { return false }

// No scope is known: what an account may do stands in its claims.

func (issuerClient) IsScopeAllowed(string) bool { return false }

func (issuerClient) RestrictAdditionalAccessTokenScopes() func([]string) []string {
	return func([]string) []string { return nil }
}

// What only a login would need.

func (issuerClient) ApplicationType() op.ApplicationType { return op.ApplicationTypeWeb }
func (issuerClient) RedirectURIs() []string              { return nil }
func (issuerClient) PostLogoutRedirectURIs() []string    { return nil }
func (issuerClient) ResponseTypes() []oidc.ResponseType  { return nil }
func (issuerClient) LoginURL(string) string              { return "" }
func (issuerClient) IDTokenLifetime() time.Duration      { return 0 }
func (issuerClient) IDTokenUserinfoClaimsAssertion() bool {
	return false
}

func (issuerClient) RestrictAdditionalIdTokenScopes() func([]string) []string {
	return func([]string) []string { return nil }
}
