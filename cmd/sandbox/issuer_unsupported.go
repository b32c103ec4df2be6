package main

import (
	"context"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// noOtherWay is the part of the library's storage that logins, refresh tokens and all
// else need that this provider does not do. Each method says so.
type noOtherWay struct{}

// unsupported is a new error each time, since the library adds to it.
func unsupported() *oidc.Error {
	return oidc.ErrInvalidRequest().WithDescription("this provider supports %s alone", clientCredentials)
}

// refuse is unsupported for a method that owes a value as well.
func refuse[T any]() (none T, err error) { //nolint:unparam // there is never a value, which is the point
	return none, unsupported()
}

// Logins.

func (noOtherWay) CreateAuthRequest(context.Context, *oidc.AuthRequest, string) (op.AuthRequest, error) {
	return refuse[op.AuthRequest]()
}

func (noOtherWay) AuthRequestByID(context.Context, string) (op.AuthRequest, error) {
	return refuse[op.AuthRequest]()
}

func (noOtherWay) AuthRequestByCode(context.Context, string) (op.AuthRequest, error) {
	return refuse[op.AuthRequest]()
}

func (noOtherWay) SaveAuthCode(context.Context, string, string) error { return unsupported() }

func (noOtherWay) DeleteAuthRequest(context.Context, string) error { return unsupported() }

func (noOtherWay) TerminateSession(context.Context, string, string) error { return unsupported() }

// Refresh tokens, and the end of a token before its time.

func (noOtherWay) CreateAccessAndRefreshTokens(context.Context, op.TokenRequest, string) (accessTokenID, refreshToken string, expires time.Time, err error) {
	expires, err = refuse[time.Time]()
	return "", "", expires, err
}

func (noOtherWay) TokenRequestByRefreshToken(context.Context, string) (op.RefreshTokenRequest, error) {
	return refuse[op.RefreshTokenRequest]()
}

func (noOtherWay) GetRefreshTokenInfo(context.Context, string, string) (userID, tokenID string, err error) {
	return "", "", op.ErrInvalidRefreshToken // the one answer after which the library goes on
}

func (noOtherWay) RevokeToken(context.Context, string, string, string) *oidc.Error {
	return unsupported()
}

// What a provider tells of a user or of a token.

func (noOtherWay) SetUserinfoFromScopes(context.Context, *oidc.UserInfo, string, string, []string) error {
	return unsupported()
}

func (noOtherWay) SetUserinfoFromToken(context.Context, *oidc.UserInfo, string, string, string) error {
	return unsupported()
}

func (noOtherWay) SetIntrospectionFromToken(context.Context, *oidc.IntrospectionResponse, string, string, string) error {
	return unsupported()
}

func (noOtherWay) GetPrivateClaimsFromScopes(context.Context, string, string, []string) (map[string]any, error) {
	return refuse[map[string]any]()
}

// Clients that sign instead of showing a secret.

func (noOtherWay) GetKeyByIDAndClientID(context.Context, string, string) (*jose.JSONWebKey, error) {
	return refuse[*jose.JSONWebKey]()
}

func (noOtherWay) ValidateJWTProfileScopes(context.Context, string, []string) ([]string, error) {
	return refuse[[]string]()
}
