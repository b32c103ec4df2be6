package api

import (
	"context"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"sperrd/internal/authn"
	"sperrd/internal/authz"
	"sperrd/internal/sperr"
)

// The actions a caller needs permission for. The policies name the same ones.
const (
	actionRead    = "read-sperr-order"
	actionCreate  = "create-sperr-order"
	actionExecute = "execute-sperr-order"
	actionCancel  = "cancel-sperr-order"
)

// Actions returns every action that a route asks for.
func Actions() []string { return []string{actionRead, actionCreate, actionExecute, actionCancel} }

// access is who may call a route. The zero value is nobody.
type access struct {
	action string // a caller whom the policies permit this
	mcp    bool   // or one with the MCP key, and no page of another origin
	open   string // or anybody, for this reason
}

func needs(action string) access { return access{action: action} }

// needsOrMCPKey is the access to MCP. Its protocol asks servers to refuse the pages of
// other origins, whose browser would carry a request past a firewall.
func needsOrMCPKey(action string) access { return access{action: action, mcp: true} }

// openFor opens a route to everybody.
func openFor(reason string) access { return access{open: reason} }

// actionNone is how the log names the action of a route that is open to everybody.
const actionNone = "none"

func (a access) name() string {
	if a.open != "" {
		return actionNone
	}
	return a.action
}

const roleNetzbetreiber = "NB"

type callerKey struct{}

// caller is who calls; nobody on a route that is open to everybody.
func caller(r *http.Request) authn.Claims {
	c, _ := r.Context().Value(callerKey{}).(authn.Claims)
	return c
}

// actor is who does what a REST call does, for the history of the order.
func actor(r *http.Request) string { return caller(r).Subject }

// admit lets a request through to its handler, or says why not. It reads nothing but
// the header: whoever may not do something learns nothing about the order either.
func (s *server) admit(a access, r *http.Request) (*http.Request, error) {
	if a.open != "" {
		return r, nil
	}
	if a.mcp {
		if err := s.checkOrigin(r); err != nil {
			return nil, err
		}
	}
	c, permitted, err := s.authenticate(a, r)
	if err != nil {
		return nil, err
	}
	entryOf(r.Context()).add(slog.String("subject", printable(c.Subject, 255)))
	if !permitted {
		if err := s.authorize(r, c, a.action); err != nil {
			return nil, err
		}
	}
	return r.WithContext(context.WithValue(r.Context(), callerKey{}, c)), nil
}

// checkOrigin refuses the pages of other origins. The library believes what a browser
// says of itself (Sec-Fetch-Site); here what it says of the page must agree as well.
func (s *server) checkOrigin(r *http.Request) error {
	for _, origin := range r.Header.Values("Origin") {
		if u, err := url.Parse(origin); err != nil || u.User != nil || !strings.EqualFold(u.Host, r.Host) {
			return errForeignPage
		}
	}
	if s.origins.Check(r) != nil {
		return errForeignPage
	}
	return nil
}

// authenticate returns who calls. permitted says that no policy has to be asked: the
// MCP key is a permission in itself.
func (s *server) authenticate(a access, r *http.Request) (c authn.Claims, permitted bool, err error) {
	keyed := a.mcp && s.MCPKey != ""
	if s.Authenticator == nil && !keyed {
		return authn.Claims{Subject: sperr.ActorDev, Tenant: s.Tenant, Roles: []string{roleNetzbetreiber}}, false, nil
	}
	token, err := bearer(r.Header)
	switch {
	case err != nil:
		return authn.Claims{}, false, err
	case keyed && subtle.ConstantTimeCompare([]byte(token), []byte(s.MCPKey)) == 1:
		return authn.Claims{Subject: sperr.ActorMCP}, true, nil
	case s.Authenticator == nil:
		return authn.Claims{}, false, errWrongKey
	}
	c, err = s.Authenticator.Authenticate(r.Context(), token)
	if err == nil && sperr.ReservedActor(c.Subject) {
		err = fmt.Errorf("%w: sub is a name that the history of the orders keeps for the service itself", authn.ErrUnauthenticated)
	}
	return c, false, err
}

// bearer is the token of a request (RFC 6750, 2.1), which has exactly one.
func bearer(h http.Header) (string, error) {
	values := h.Values("Authorization")
	switch {
	case len(values) == 0:
		return "", errNoToken
	case len(values) > 1:
		return "", errTwoTokens
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if token = strings.Trim(token, " "); token == "" || !strings.EqualFold(scheme, "Bearer") {
		return "", errNoToken
	}
	return token, nil
}

// authorize asks the policies. What they look at goes into the log, the answer says
// nothing about the caller.
func (s *server) authorize(r *http.Request, c authn.Claims, action string) error {
	err := s.Authorizer.Authorize(authz.Request{
		Subject: c.Subject, Tenant: c.Tenant, Roles: c.Roles, Action: action, Deployment: s.Tenant,
	})
	if err != nil {
		e := entryOf(r.Context())
		e.add(slog.String("caller_tenant", printable(c.Tenant, 20)), slog.String("caller_roles", shownRoles(c.Roles)))
		if c.Ignored != "" {
			e.add(slog.String("ignored", c.Ignored))
		}
	}
	return err
}

// shownRoles are the first of the roles, for the log: nobody reads ten thousand.
func shownRoles(roles []string) string {
	const most = 10
	text := strings.Join(roles[:min(len(roles), most)], " ")
	if len(roles) > most {
		text = fmt.Sprintf("%s and %d more", text, len(roles)-most)
	}
	return printable(text, 200)
}
