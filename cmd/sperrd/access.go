package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"sperrd/internal/api"
	"sperrd/internal/authn"
	"sperrd/internal/authz"
	"sperrd/internal/config"
	"sperrd/internal/mcpserver"
	"sperrd/internal/sperr"
	"sperrd/policies"
)

// newAuthenticator returns what checks the tokens of callers. It is nil, and everybody
// is served, only where the configuration asks for that by name.
func newAuthenticator(c *config.Config, now func() time.Time, logger *slog.Logger) *authn.Authenticator {
	if c.Open() {
		return nil
	}
	return authn.New(authn.Options{Issuer: c.OIDC.Issuer, Audience: c.OIDC.Audience, Now: now, Logger: logger})
}

// firstKeysTimeout bounds the wait for the keys of the provider, which no start depends
// on.
const firstKeysTimeout = 2 * time.Second

// fetchKeys asks for the keys before the port opens, so that the first request of a
// usual start is not a 503. What it finds wrong is told by the loop, which goes on
// asking.
func (s *service) fetchKeys(ctx context.Context) {
	if s.authenticator == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, firstKeysTimeout)
	defer cancel()
	_ = s.authenticator.Refresh(ctx)
}

// keepKeys keeps the keys of the provider up to date until stop, which waits for the end
// of it.
func (s *service) keepKeys(ctx context.Context) (stop func()) {
	if s.authenticator == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.authenticator.Run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// newAuthorizer reads the policies that this binary brings.
func newAuthorizer() (*authz.Authorizer, error) {
	authorizer, err := authz.New("sperrd.cedar", policies.Sperrd, api.Actions())
	if err != nil {
		return nil, fmt.Errorf("this binary cannot decide who may do what: %w", err)
	}
	return authorizer, nil
}

// newMCP returns what serves MCP. It is given the reads of the repository and nothing
// else.
func (s *service) newMCP(repository *sperr.Repository) http.Handler {
	return mcpserver.NewHandler(mcpserver.Options{
		Repository: repository, Now: s.now, Version: versionText(), Logger: s.logger,
		Open: s.config.Open() && s.config.MCP.APIKey.Reveal() == "",
	})
}

// mcpParallel leaves most of the pool to the orders, and memory to everything: an answer
// of MCP can have hundreds of megabytes in hand.
func mcpParallel(poolSize int) int { return min(max(poolSize/4, 1), 4) }
