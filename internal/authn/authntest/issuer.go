// Package authntest is an OpenID Connect provider to be lied to by: it serves a
// discovery document and keys as a good one does, signs whatever a test wants
// signed, and fails on demand.
//
// Tokens and key sets are put together with nothing but the standard library, so
// that no mistake of the libraries that check them can hide in a shared function.
// It has no login and no token endpoint: a test takes its tokens from
// [Issuer.Token], or forges them with [Issuer.Sign], [None] and [HS256].
package authntest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// The values of a token as [Issuer.Token] makes it.
const (
	Subject  = "field-team-7"
	Audience = "sperrd"
	Tenant   = "9900357000004"
	Role     = "NB"
)

// Issuer is a provider on a loopback address. All its methods are safe for
// concurrent use.
type Issuer struct {
	// Now is the clock of iat and exp. It is set before the first token is made.
	Now func() time.Time

	server *httptest.Server
	closed chan struct{}

	mu        sync.Mutex // guards everything below
	keys      []*Key     // the last one is the current one
	issuer    string     // as the discovery document names it
	keysURL   string
	keySet    []byte // in place of the keys, nil: none
	endpoints map[Endpoint]*endpoint
}

// Start serves until the test ends, with one RS256 key. That key has an id of its
// own, but its numbers are those of every first key in the test binary, because to
// find new ones takes long.
func Start(tb testing.TB) *Issuer {
	tb.Helper()
	i := &Issuer{
		Now: time.Now, closed: make(chan struct{}), keys: []*Key{SharedRSA(tb, "RS256")},
		endpoints: map[Endpoint]*endpoint{Discovery: {}, KeySet: {}},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+string(Discovery), i.serve(Discovery, i.discovery))
	mux.HandleFunc("GET "+string(KeySet), i.serve(KeySet, i.keySetBody))
	i.server = httptest.NewServer(mux)
	i.issuer, i.keysURL = i.URL(), i.server.URL+string(KeySet)
	tb.Cleanup(func() {
		close(i.closed) // lets hanging answers go, for which Close waits
		i.server.Close()
	})
	return i
}

// URL is the issuer.
func (i *Issuer) URL() string { return i.server.URL + realm }

// Key is the current key, by which [Issuer.Token] signs.
func (i *Issuer) Key() *Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys[len(i.keys)-1]
}

// Add publishes a key and makes it the current one. Another one of the same id
// stays.
func (i *Issuer) Add(key *Key) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = append(i.keys, key)
}

// Remove withdraws a key, the current one not excepted: the one added before it is
// current then. The last key cannot go.
func (i *Issuer) Remove(key *Key) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.keys) > 1 {
		i.keys = slices.DeleteFunc(i.keys, func(k *Key) bool { return k == key })
	}
}

// Rotate adds a new RS256 key, withdraws all others and returns it.
func (i *Issuer) Rotate(tb testing.TB) *Key {
	tb.Helper()
	key := NewKey(tb, "RS256")
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = []*Key{key}
	return key
}

func (i *Issuer) discovery() []byte {
	return encode(map[string]any{
		"issuer": i.issuer, "jwks_uri": i.keysURL,
		"authorization_endpoint": i.URL() + "/auth", "token_endpoint": i.URL() + "/token",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"RS256"},
	})
}

func (i *Issuer) keySetBody() []byte {
	if i.keySet != nil {
		return i.keySet
	}
	var keys []map[string]any
	for _, key := range i.keys {
		keys = append(keys, key.JWK())
	}
	return encode(map[string]any{"keys": keys})
}

// encode is the JSON of what this package has put together itself.
func encode(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		return []byte(err.Error()) // which no reader takes for what it wants
	}
	return body
}
