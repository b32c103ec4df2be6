package httpclient

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// send makes one round trip to the server and returns the body of the answer.
func send(t *testing.T, transport *http.Transport, url string) (string, error) {
	t.Helper()
	t.Cleanup(transport.CloseIdleConnections)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body), nil
}

// newTLSServer starts a server that can do HTTP/2, and returns it with a
// transport that trusts it.
func newTLSServer(t *testing.T, config *tls.Config) (*httptest.Server, *http.Transport) {
	t.Helper()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto)
	}))
	srv.EnableHTTP2, srv.TLS = true, config
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	transport := NewTransport()
	transport.TLSClientConfig.RootCAs = srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	return srv, transport
}

func TestTransport_knows_no_proxy(t *testing.T) {
	t.Parallel()
	if NewTransport().Proxy != nil {
		t.Error("a proxy can be configured through the environment")
	}
}

func TestTransport_speaks_HTTP1_to_a_server_that_knows_HTTP2(t *testing.T) {
	t.Parallel()
	srv, transport := newTLSServer(t, nil)
	if proto, err := send(t, transport, srv.URL); err != nil || proto != "HTTP/1.1" {
		t.Errorf("the server sees %q, %v", proto, err)
	}
}

func TestTransport_wants_TLS_1_2(t *testing.T) {
	t.Parallel()
	srv, transport := newTLSServer(t, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS12})
	if _, err := send(t, transport, srv.URL); err != nil {
		t.Errorf("TLS 1.2: %v", err)
	}
	// What the standard library wants by default can be lowered by GODEBUG.
	if got := transport.TLSClientConfig.MinVersion; got != tls.VersionTLS12 {
		t.Errorf("the least version is %s", tls.VersionName(got))
	}
}

func TestTransport_asks_for_no_compression(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Join(r.Header.Values("Accept-Encoding"), ","))
	}))
	t.Cleanup(srv.Close)
	if asked, err := send(t, NewTransport(), srv.URL); err != nil || asked != "" {
		t.Errorf("asked for %q, %v", asked, err)
	}
}

func TestTransport_reads_a_bounded_header(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size := maxHeader / 2
		if r.URL.Path == "/long" {
			size = maxHeader
		}
		w.Header().Set("X-Fill", strings.Repeat("x", size))
	}))
	t.Cleanup(srv.Close)
	transport := NewTransport()
	if _, err := send(t, transport, srv.URL); err != nil {
		t.Errorf("half of the bound: %v", err)
	}
	if _, err := send(t, transport, srv.URL+"/long"); err == nil {
		t.Error("a header above the bound is read")
	}
}

func TestTransport_closes_idle_connections_before_a_proxy_does(t *testing.T) {
	t.Parallel()
	transport := NewTransport()
	if got := transport.IdleConnTimeout; got <= 0 || got >= time.Minute {
		t.Errorf("idle connections are kept for %v", got)
	}
	if transport.MaxIdleConnsPerHost != transport.MaxIdleConns {
		t.Errorf("one peer has %d of %d idle connections", transport.MaxIdleConnsPerHost, transport.MaxIdleConns)
	}
}

func TestTransports_share_nothing(t *testing.T) {
	t.Parallel()
	one, other := NewTransport(), NewTransport()
	if one == other || one.TLSClientConfig == other.TLSClientConfig || one.Protocols == other.Protocols {
		t.Error("two transports share their settings")
	}
}
