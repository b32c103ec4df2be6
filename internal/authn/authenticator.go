package authn

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// Options configure an [Authenticator].
type Options struct {
	// Issuer is the provider's URL, to the letter as its tokens and its discovery
	// document name it; Audience is what the aud of a token must contain. Both are
	// required.
	Issuer, Audience string
	// Now is the clock against which tokens are judged; nil means time.Now.
	Now func() time.Time
	// Logger takes the state of the keys, and nothing of tokens; nil means none.
	Logger *slog.Logger
}

// Authenticator checks access tokens. All its methods are safe for concurrent use.
type Authenticator struct {
	issuer, audience string
	client           *http.Client
	now              func() time.Time
	logger           *slog.Logger

	keys   atomic.Pointer[keySet] // never nil
	demand *demand

	fetching chan struct{} // holds one while a fetch goes on, which guards the next two
	keysURL  string
	seen     history

	reachable bool // belongs to Run
}

// New returns an Authenticator that knows no keys yet. It asks nobody.
func New(o Options) *Authenticator {
	a := &Authenticator{
		issuer: o.Issuer, audience: o.Audience, client: newClient(newTransport()), now: o.Now, logger: o.Logger,
		demand: newDemand(), fetching: make(chan struct{}, 1), seen: history{},
	}
	if a.now == nil {
		a.now = time.Now
	}
	if a.logger == nil {
		a.logger = slog.New(slog.DiscardHandler)
	}
	a.keys.Store(&keySet{})
	return a
}

// Keys is the number of usable keys of the provider that are known, 0 before the
// first fetch.
func (a *Authenticator) Keys() int { return a.keys.Load().count }

// Algorithms are those with which tokens can be signed for the keys that are known, each
// once and sorted.
func (a *Authenticator) Algorithms() []string {
	var names []string
	for _, keys := range a.keys.Load().byID {
		for _, k := range keys {
			for _, algorithm := range k.algorithms {
				names = append(names, string(algorithm))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Unusable says of each key in the provider's set that is not among those known why it is
// not: a key for encryption, or of a kind that is not accepted.
func (a *Authenticator) Unusable() []string { return slices.Clone(a.keys.Load().unusable) }

// Authenticate returns what a good access token says about its owner. A token is
// good when a key of the provider that it names has signed it, it is meant for the
// audience, the time is right and it is neither an ID token nor another kind. The
// error is a [*TokenError], or wraps ErrUnavailable while there are no keys.
//
// For a key that is not known it may wait for [Authenticator.Run] to ask the
// provider, but not longer than ctx lasts nor than [LongestWait].
func (a *Authenticator) Authenticate(ctx context.Context, token string) (Claims, error) {
	h, err := readHeader(token)
	if err != nil {
		return Claims{}, err
	}
	if a.Keys() == 0 {
		return Claims{}, ErrUnavailable
	}
	keys, err := a.keysFor(ctx, h.keyID)
	if err != nil {
		return Claims{}, err
	}
	payload, err := a.verify(ctx, token, keys)
	if err != nil {
		return Claims{}, err
	}
	c, err := readClaims(payload, h, a.now())
	if err != nil {
		return Claims{}, err
	}
	c.Issuer = a.issuer
	return c, nil
}

// keysFor returns the keys of that id, if need be after a look at the provider, or
// after two where the first had begun before.
func (a *Authenticator) keysFor(ctx context.Context, id string) ([]key, error) {
	if keys := a.keys.Load().byID[id]; keys != nil {
		return keys, nil
	}
	waiting, cancel := context.WithTimeout(ctx, LongestWait)
	defer cancel()
	keys, late, refusal := a.lookUp(waiting, id, false)
	if keys == nil && late {
		keys, _, refusal = a.lookUp(waiting, id, true)
	}
	switch {
	case keys != nil:
		return keys, nil
	case ctx.Err() != nil: // the caller has gone, and the token may be a good one
		return nil, fmt.Errorf("wait for a key: %w", ctx.Err())
	}
	return nil, refuse("the key is not among the known ones, and %s: key id %q", refusal, id)
}

// lookUp looks at the keys, and again after a fetch if there is one. late says that
// this fetch may have been too early to know the key, refusal why there are none.
func (a *Authenticator) lookUp(ctx context.Context, id string, wasLate bool) (keys []key, late bool, refusal string) {
	seen := a.demand.latest()
	if keys = a.keys.Load().byID[id]; keys != nil {
		return keys, false, ""
	}
	f, late, refusal := a.demand.ask(a.now(), seen, wasLate)
	if f == nil {
		return nil, false, refusal
	}
	select {
	case <-f.ended:
		return a.keys.Load().byID[id], late, f.outcome
	case <-ctx.Done():
		return nil, false, "the provider has not answered yet"
	}
}

// verify checks signature, issuer and audience. Time is not the library's business:
// it grants nothing on exp, five minutes on nbf, and takes both as strings too.
func (a *Authenticator) verify(ctx context.Context, token string, keys []key) ([]byte, error) {
	v := &verification{keys: keys}
	verifier := oidc.NewVerifier(a.issuer, v, &oidc.Config{
		ClientID: a.audience, SupportedSigningAlgs: algorithms, SkipExpiryCheck: true,
	})
	_, err := verifier.Verify(ctx, token)
	switch {
	case err == nil:
		return v.payload, nil
	case v.payload != nil && a.lacksAudience(v.payload):
		return nil, refuse("wrong audience, the provider needs an audience mapper: %v", err)
	}
	return nil, refuse("%v", err)
}

// lacksAudience reports whether the audience is all that is wrong with a payload.
func (a *Authenticator) lacksAudience(payload []byte) bool {
	members, err := readObject(payload)
	if err != nil {
		return false
	}
	if issuer, _ := text(members["iss"]); issuer != a.issuer {
		return false
	}
	value, present := members["aud"]
	if one, ok := text(value); ok || !present {
		return one != a.audience
	}
	several, ok := texts(value)
	return ok && !slices.Contains(several, a.audience)
}
