package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"sperrd/internal/config"
	"sperrd/internal/outbox"
)

// erpConnectTimeout bounds the connection to the ERP.
const erpConnectTimeout = 5 * time.Second

// erp opens a connection and sends nothing: every request to the ERP is an event to it.
func (f *findings) erp(ctx context.Context, cfg *config.Config) {
	const what = "erp"
	address, err := hostPort(cfg.ERPWebhookURL.Reveal())
	if err != nil {
		f.fail(what, err.Error())
		return
	}
	if address == "" {
		return // told with the configuration
	}
	conn, err := (&net.Dialer{Timeout: erpConnectTimeout}).DialContext(ctx, "tcp", address)
	if err != nil {
		f.fail(what, "check that it runs and that erp_webhook_url is right; events wait in the outbox meanwhile: "+err.Error())
		return
	}
	_ = conn.Close() // nothing was sent
	f.ok(what, "reachable")
}

// hostPort is what a URL connects to; empty for no URL. No error repeats the URL, which
// may hold a token.
func hostPort(rawURL string) (string, error) {
	if rawURL == "" {
		return "", nil
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return "", errors.New("erp_webhook_url cannot be read")
	}
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

// outbox counts what the ERP does not have.
func (f *findings) outbox(ctx context.Context, pool *pgxpool.Pool, cfg *config.Config) {
	const what = "outbox"
	depth, err := outbox.ReadDepth(ctx, pool, cfg.Tenant)
	if err != nil {
		f.fail(what, err.Error())
		return
	}
	text := fmt.Sprintf("%d events wait for the ERP", depth.Pending)
	if depth.OldestPending != nil {
		text += ", the oldest since " + depth.OldestPending.UTC().Format(time.RFC3339)
	}
	if depth.DeadLetters > 0 {
		f.warn(what, fmt.Sprintf("%s; %d were given up: \"sperrd outbox list --dead\" shows why", text, depth.DeadLetters))
		return
	}
	f.ok(what, text)
}
