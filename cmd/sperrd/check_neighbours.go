package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"sperrd/internal/config"
)

// erpConnectTimeout bounds the connection to the ERP.
const erpConnectTimeout = 5 * time.Second

// tokens asks the provider for its keys, without which nobody is let in.
func (f *findings) tokens(ctx context.Context, cfg *config.Config, now func() time.Time) {
	const what = "oidc"
	if cfg.Open() {
		return // told with the configuration
	}
	ctx, cancel := context.WithTimeout(ctx, neighbourTimeout)
	defer cancel()
	authenticator := newAuthenticator(cfg, now, slog.New(slog.DiscardHandler))
	if err := authenticator.Refresh(ctx); err != nil {
		f.fail(what, err.Error()+"; a sperrd that starts now answers REST with 503, one that has keys goes on with them",
			"check that the provider runs and that oidc.issuer is spelt as it spells itself")
		return
	}
	keys := fmt.Sprintf("keys of %s: %d (%s)", cfg.OIDC.Issuer, authenticator.Keys(), strings.Join(authenticator.Algorithms(), ", "))
	if unusable := authenticator.Unusable(); len(unusable) > 0 {
		keys += fmt.Sprintf(", and %d of no use here, the first because: %s", len(unusable), unusable[0])
	}
	f.ok(what, keys+fmt.Sprintf("; a token counts with %q in aud, %s in mako_tenant and NB in mako_roles, for each of which Keycloak needs a mapper",
		cfg.OIDC.Audience, cfg.Tenant))
}

// makod asks for life only: what goes beyond is a command.
func (f *findings) makod(ctx context.Context, cfg *config.Config) {
	const what = "makod"
	client, err := newMakodClient(cfg)
	if err != nil {
		f.fail(what, err.Error(), "correct makod_url and makod_api_key")
		return
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, neighbourTimeout)
	defer cancel()
	if err := client.Ping(ctx); err != nil {
		f.fail(what, err.Error()+"; outcomes stay queued meanwhile", "check that it runs and that makod_url is right")
		return
	}
	f.ok(what, "reachable; whether it takes makod_api_key, only the next command shows")
}

// erp opens a connection and sends nothing: every request to the ERP is an event to it.
func (f *findings) erp(ctx context.Context, cfg *config.Config) {
	const what, todo = "erp", "check that it runs and that erp_webhook_url is right"
	address, err := hostPort(cfg.ERPWebhookURL.Reveal())
	if err != nil {
		f.fail(what, err.Error(), "correct erp_webhook_url")
		return
	}
	if address == "" {
		return // told with the configuration
	}
	conn, err := (&net.Dialer{Timeout: erpConnectTimeout}).DialContext(ctx, "tcp", address)
	if err != nil {
		f.fail(what, err.Error()+"; events wait in the outbox meanwhile", todo)
		return
	}
	_ = conn.Close() // nothing was sent
	f.ok(what, "reachable; whether it takes erp_hmac_secret, only the next event shows")
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
