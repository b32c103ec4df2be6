package authn

import (
	"errors"
	"fmt"

	"sperrd/internal/httpclient"
)

var (
	// ErrUnauthenticated says that a token proves nothing. Such an error is a
	// [*TokenError].
	ErrUnauthenticated = errors.New("unauthenticated")
	// ErrUnavailable says that no token can be checked, because no key of the
	// provider is known yet. The same token may be good a little later.
	ErrUnavailable = errors.New("no keys of the OIDC provider yet")
)

// maxText bounds, in characters, what a token or a provider can put into the log.
const maxText = 500

// TokenError is why a token was refused. Its text is for the log and not for the
// caller, whom it would help to forge a better one: it may name values of claims,
// such as the audiences, and holds no part of the token itself.
type TokenError struct {
	// Expired says that the token was a good one once, so that a fresh one will do.
	Expired bool
	reason  string
}

// Error is ErrUnauthenticated and the reason, on one line.
func (e *TokenError) Error() string { return ErrUnauthenticated.Error() + ": " + e.reason }

// Unwrap is ErrUnauthenticated.
func (e *TokenError) Unwrap() error { return ErrUnauthenticated }

func refuse(format string, args ...any) error {
	return &TokenError{reason: httpclient.Clean(fmt.Sprintf(format, args...), maxText)}
}

// fetchError is a failed fetch. The cause may quote a whole page of a proxy, so the
// text is cut to what a line of the log can hold.
type fetchError struct {
	text string
	err  error
}

func (e *fetchError) Error() string { return e.text }

func (e *fetchError) Unwrap() error { return e.err }

func fetchFailed(what string, err error) error {
	return &fetchError{text: httpclient.Clean(what+": "+err.Error(), maxText), err: err}
}
