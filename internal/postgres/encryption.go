package postgres

import (
	"crypto/tls"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Encryption is what a database URL asks for on the way to hosts other than this machine.
type Encryption struct {
	Plain      []string // hosts that a session may reach without TLS, whoever answers
	Unverified []string // hosts that are reached with TLS alone, but need not prove who they are
}

// ReadEncryption reads a URL that CheckURL lets pass. It does not connect.
func ReadEncryption(url string) (Encryption, error) {
	config, err := parseConfig(url)
	if err != nil {
		return Encryption{}, err
	}
	plain, unverified := make(map[string]bool), make(map[string]bool)
	var hosts []string
	c := config.ConnConfig
	for _, way := range append([]*pgconn.FallbackConfig{{Host: c.Host, TLSConfig: c.TLSConfig}}, c.Fallbacks...) {
		if isLocal(way.Host) {
			continue
		}
		hosts = append(hosts, way.Host)
		plain[way.Host] = plain[way.Host] || way.TLSConfig == nil
		unverified[way.Host] = unverified[way.Host] || way.TLSConfig != nil && !verifies(way.TLSConfig)
	}
	var e Encryption
	for _, host := range hosts { // each of them once
		switch {
		case plain[host]:
			e.Plain = append(e.Plain, host)
		case unverified[host]:
			e.Unverified = append(e.Unverified, host)
		}
		plain[host], unverified[host] = false, false
	}
	return e, nil
}

// verifies reports whether the server must prove who it is: pgx does part of that itself.
func verifies(c *tls.Config) bool { return !c.InsecureSkipVerify || c.VerifyPeerCertificate != nil }

// isLocal reports whether what goes to a host stays on this machine. A path is a socket.
func isLocal(host string) bool {
	ip := net.ParseIP(host)
	return strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || host == "localhost" || ip != nil && ip.IsLoopback()
}
