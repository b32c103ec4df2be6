// Package httpclient is what the clients of makod, of the ERP and of the OIDC provider
// have in common: a transport that sends a request once and to nobody else, the headers
// that name a call, and the reading of what an unknown server may answer. It knows no
// peer, and sends and repeats nothing by itself.
package httpclient

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

const (
	connectTimeout = 5 * time.Second
	// keepAlive is the time between probes of a silent connection, so that a peer
	// that is gone without a word is noticed.
	keepAlive = 15 * time.Second
	// idleTimeout stays below what proxies commonly grant (60 s and more), so that
	// this side closes an idle connection first. The other way round a request can
	// be written into a connection that is just being closed, and nobody knows
	// whether it arrived.
	idleTimeout = 30 * time.Second
	// maxIdle covers the sends that run at the same time.
	maxIdle = 64
	// maxHeader bounds the header of an answer, in bytes.
	maxHeader = 64 << 10
)

// NewTransport returns a transport of its own for one peer. It knows no proxy: a
// variable in the environment must not divert market communication. It speaks
// HTTP/1.1 only, because the HTTP/2 client repeats requests by rules of its own.
// Connecting and the TLS handshake have 5 s each, and the header of an answer
// 64 KiB; how long an answer may take and how much of its body is read is the
// caller's affair.
//
// A transport is safe for concurrent use. Whoever wants to see its connections
// wraps its DialContext before the first request.
func NewTransport() *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: keepAlive}
	return &http.Transport{
		Protocols:              protocols,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    connectTimeout,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdle,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeader,
		// Answers are short, and the callers' bounds count the bytes that were sent.
		DisableCompression: true,
	}
}
