package authn

import (
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sperrd/internal/authn/authntest"
)

func TestRefresh_reads_no_more_than_1_MiB(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := keySetOf(t, b.issuer.Key().JWK())
	padded := append(body, bytes.Repeat([]byte(" "), maxBody-len(body))...)
	b.issuer.SetKeySet(padded)
	b.refresh(t)
	b.issuer.SetKeySet(append(padded, ' '))
	if err := b.authn.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), errTooLong.Error()) {
		t.Errorf("keys: error %v", err)
	}
	b.issuer.SetIssuer(strings.Repeat("x", maxBody))
	err := b.authn.Refresh(t.Context())
	if err == nil || !strings.Contains(err.Error(), errTooLong.Error()) {
		t.Errorf("discovery document: error %.100v", err)
	}
}

// A page of a proxy, quoted as a reason, must fit into a line of the log.
func TestRefresh_reason_is_one_short_line(t *testing.T) {
	t.Parallel()
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, "<h1>\x1b[31mBad\r\nGateway</h1>"+strings.Repeat("ä", 10_000))
	})
	server := httptest.NewServer(page)
	defer server.Close()
	err := New(Options{Issuer: server.URL, Audience: "sperrd"}).Refresh(t.Context())
	if err == nil {
		t.Fatal("no error")
	}
	if text := err.Error(); strings.ContainsAny(text, "\r\n\x1b") || len([]rune(text)) > maxText || !strings.Contains(text, "502") {
		t.Errorf("reason %q", text)
	}
}

// provider serves a discovery document that names the keys of an issuer elsewhere,
// over plain HTTP, or over TLS under certificates that its client trusts.
func provider(t *testing.T, start func(http.Handler) *httptest.Server, keys func(own string) string) *Authenticator {
	t.Helper()
	mux := http.NewServeMux()
	server := start(mux)
	t.Cleanup(server.Close)
	elsewhere := authntest.Start(t)
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"issuer":"`+server.URL+`","jwks_uri":"`+keys(server.URL)+`"}`)
	})
	plain := strings.TrimSuffix(elsewhere.URL(), "/realms/mako") + string(authntest.KeySet)
	mux.Handle("/away", http.RedirectHandler(plain, http.StatusFound))
	mux.Handle("/here", http.RedirectHandler("/keys", http.StatusFound))
	mux.Handle("/round", http.RedirectHandler("/round", http.StatusFound))
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(keySetOf(t, elsewhere.Key().JWK()))
	})
	client := server.Client()
	t.Cleanup(client.CloseIdleConnections)
	return newWith(server.URL, client.Transport)
}

func TestRefresh_never_leaves_https(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start  func(http.Handler) *httptest.Server
		keys   func(own string) string
		reason string // "" for none
	}{
		"https":                        {httptest.NewTLSServer, func(own string) string { return own + "/keys" }, ""},
		"https, redirected within":     {httptest.NewTLSServer, func(own string) string { return own + "/here" }, ""},
		"https, redirected to http":    {httptest.NewTLSServer, func(own string) string { return own + "/away" }, "redirected from https"},
		"https, keys by http":          {httptest.NewTLSServer, func(string) string { return "http://127.0.0.1/keys" }, "is not https"},
		"http":                         {httptest.NewServer, func(own string) string { return own + "/keys" }, ""},
		"http, redirected to http":     {httptest.NewServer, func(own string) string { return own + "/away" }, ""},
		"http, redirected for ever":    {httptest.NewServer, func(own string) string { return own + "/round" }, "too many redirects"},
		"https, redirected for ever":   {httptest.NewTLSServer, func(own string) string { return own + "/round" }, "too many redirects"},
		"https, keys by another means": {httptest.NewTLSServer, func(string) string { return "file:///etc/passwd" }, "is no URL of keys"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := provider(t, c.start, c.keys)
			err := a.Refresh(t.Context())
			switch {
			case c.reason == "":
				if err != nil || a.Keys() != 1 {
					t.Errorf("%d keys, error %v", a.Keys(), err)
				}
			case err == nil || !strings.Contains(err.Error(), c.reason) || a.Keys() != 0:
				t.Errorf("%d keys, error %v; want %q", a.Keys(), err, c.reason)
			}
		})
	}
}

// Unlike makod and the ERP, a provider may be beyond the proxy of the environment.
func TestTransport_is_that_of_the_other_clients_but_for_the_proxy(t *testing.T) {
	t.Parallel()
	transport := newTransport()
	if transport.Proxy == nil || !transport.DisableKeepAlives {
		t.Error("no proxy, or connections that wait for minutes")
	}
	if got := transport.TLSClientConfig.MinVersion; got != tls.VersionTLS12 {
		t.Errorf("the least version is %s", tls.VersionName(got))
	}
}
