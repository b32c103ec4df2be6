package main

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// oneGrant refuses the other grants before the library looks at what comes with them:
// it announces some of them whatever its storage can do.
func oneGrant(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		grant := r.FormValue("grant_type")
		if r.URL.Path == tokenPath && grant != "" && grant != clientCredentials {
			op.RequestError(w, r, oidc.ErrUnsupportedGrantType().WithDescription("there is only %s", clientCredentials), nil)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// knownAccounts tells who asks for a token of an account that there is not which ones
// there are. The library would say no more than that it knows none like it.
func knownAccounts(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := clientName(r)
		if _, known := findAccount(name); r.URL.Path == tokenPath && r.FormValue("grant_type") == clientCredentials && !known {
			var names []string
			for _, a := range accounts() {
				names = append(names, a.name)
			}
			op.RequestError(w, r, oidc.ErrInvalidClient().WithDescription("there is no account %q, only %s", name, strings.Join(names, ", ")), nil)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// clientName is the account that a request names, where the library looks for it too.
func clientName(r *http.Request) string {
	name, _, basic := r.BasicAuth()
	if !basic {
		return r.FormValue("client_id")
	}
	if unescaped, err := url.QueryUnescape(name); err == nil {
		return unescaped
	}
	return name
}
