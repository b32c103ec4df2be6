package authntest

import (
	"net/http"
	"sync"
)

// realm is the path of the issuer, as Keycloak has it.
const realm = "/realms/mako"

// Endpoint is one of the two documents of the provider.
type Endpoint string

// Discovery is the discovery document, KeySet the keys.
const (
	Discovery Endpoint = realm + "/.well-known/openid-configuration"
	KeySet    Endpoint = realm + "/protocol/openid-connect/certs"
)

type endpoint struct {
	requests int
	status   int   // 0: as it should be
	down     bool  // no answer at all
	hold     *Hold // nil: none
}

// serve answers with what body returns, which is called with the mutex held, unless
// a fault is in the way.
func (i *Issuer) serve(name Endpoint, body func() []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		e := i.endpoints[name]
		e.requests++
		hold, content := e.hold, body()
		i.mu.Unlock()
		if hold != nil && !hold.pass(r, i.closed) {
			return
		}
		i.mu.Lock()
		status, down := e.status, e.down
		i.mu.Unlock()
		if down {
			panic(http.ErrAbortHandler) // the server closes the connection
		}
		w.Header().Set("Content-Type", "application/json")
		if status != 0 {
			w.WriteHeader(status)
		}
		_, _ = w.Write(content)
	}
}

// Discoveries counts the requests for the discovery document, failed ones included.
func (i *Issuer) Discoveries() int { return i.requests(Discovery) }

// KeyFetches counts the requests for the keys, failed ones included.
func (i *Issuer) KeyFetches() int { return i.requests(KeySet) }

func (i *Issuer) requests(name Endpoint) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.endpoints[name].requests
}

// SetDown makes every connection break off without an answer, or no longer.
func (i *Issuer) SetDown(down bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, e := range i.endpoints {
		e.down = down
	}
}

// Answer makes one endpoint answer with a status, the body being what it should be.
// 0 makes it well again.
func (i *Issuer) Answer(name Endpoint, status int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.endpoints[name].status = status
}

// SetIssuer makes the discovery document name another issuer.
func (i *Issuer) SetIssuer(name string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.issuer = name
}

// SetKeysURL makes the discovery document name another place for the keys.
func (i *Issuer) SetKeysURL(url string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keysURL = url
}

// SetKeySet publishes this body in place of the keys; nil publishes them again.
func (i *Issuer) SetKeySet(body []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keySet = body
}

// Hold keeps the answers of one endpoint back.
type Hold struct {
	reached chan struct{}
	free    chan struct{}
	reach   func()
	release func()
}

// Hang holds the answers of one endpoint back from now on, until they are released
// or the test ends. What they say is what was true when they were asked for.
func (i *Issuer) Hang(name Endpoint) *Hold {
	h := &Hold{reached: make(chan struct{}), free: make(chan struct{})}
	h.reach = sync.OnceFunc(func() { close(h.reached) })
	h.release = sync.OnceFunc(func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.endpoints[name].hold = nil
		close(h.free)
	})
	i.mu.Lock()
	defer i.mu.Unlock()
	i.endpoints[name].hold = h
	return h
}

// Reached is closed when a request has come that is held back.
func (h *Hold) Reached() <-chan struct{} { return h.reached }

// Release lets all answers go, those held and later ones. It may be called more
// than once.
func (h *Hold) Release() { h.release() }

// pass waits and reports whether the answer may be given.
func (h *Hold) pass(r *http.Request, closed <-chan struct{}) bool {
	h.reach()
	select {
	case <-h.free:
		return true
	case <-r.Context().Done():
	case <-closed:
	}
	return false
}
