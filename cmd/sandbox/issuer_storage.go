package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/subtle"
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// issuerStorage is what the library asks for accounts and keys. It keeps nothing: a
// token is good by its signature alone.
type issuerStorage struct {
	noOtherWay
	key issuerKey
}

var (
	_ op.Storage                        = issuerStorage{}
	_ op.ClientCredentialsStorage       = issuerStorage{}
	_ op.CanGetPrivateClaimsFromRequest = issuerStorage{}
)

// newIssuerStorage draws the key of this run: a token of another run is worth nothing.
func newIssuerStorage() (issuerStorage, error) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return issuerStorage{}, fmt.Errorf("draw the key of the provider: %w", err)
	}
	return issuerStorage{key: issuerKey{uuid.NewString(), private}}, nil
}

// errUnknownAccount tells of a name or a secret that fits no account; the library
// answers 401.
var errUnknownAccount = errors.New("no such account, or not its secret")

func (issuerStorage) AuthorizeClientIDSecret(_ context.Context, name, secret string) error {
	_, known := findAccount(name)
	if !known || subtle.ConstantTimeCompare([]byte(secret), []byte(accountSecret)) != 1 {
		return errUnknownAccount
	}
	return nil
}

func (issuerStorage) GetClientByClientID(_ context.Context, name string) (op.Client, error) {
	a, known := findAccount(name)
	if !known {
		return nil, errUnknownAccount
	}
	return issuerClient{a}, nil
}

func (s issuerStorage) ClientCredentials(ctx context.Context, name, secret string) (op.Client, error) {
	if err := s.AuthorizeClientIDSecret(ctx, name, secret); err != nil {
		return nil, err
	}
	return s.GetClientByClientID(ctx, name)
}

func (issuerStorage) ClientCredentialsTokenRequest(_ context.Context, name string, _ []string) (op.TokenRequest, error) {
	a, known := findAccount(name)
	if !known {
		return nil, errUnknownAccount
	}
	return a, nil
}

func (issuerStorage) CreateAccessToken(context.Context, op.TokenRequest) (id string, expires time.Time, err error) {
	return uuid.NewString(), time.Now().Add(tokenLife), nil
}

func (issuerStorage) GetPrivateClaimsFromRequest(_ context.Context, request op.TokenRequest, _ []string) (map[string]any, error) {
	a, ours := request.(account)
	if !ours {
		return nil, unsupported()
	}
	return a.claims(), nil
}

func (s issuerStorage) SigningKey(context.Context) (op.SigningKey, error) { return s.key, nil }

func (issuerStorage) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.RS256}, nil
}

func (s issuerStorage) KeySet(context.Context) ([]op.Key, error) {
	return []op.Key{publicKey{s.key}}, nil
}

func (issuerStorage) Health(context.Context) error { return nil }

// issuerKey signs the tokens.
type issuerKey struct {
	id      string
	private *rsa.PrivateKey
}

func (k issuerKey) ID() string                                { return k.id }
func (k issuerKey) Key() any                                  { return k.private }
func (issuerKey) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.RS256 }

// publicKey is the part of a key that everybody may see.
type publicKey struct{ of issuerKey }

func (k publicKey) ID() string                       { return k.of.id }
func (k publicKey) Key() any                         { return k.of.private.Public() }
func (publicKey) Algorithm() jose.SignatureAlgorithm { return jose.RS256 }
func (publicKey) Use() string                        { return "sig" }
