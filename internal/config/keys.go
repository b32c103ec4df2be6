package config

import (
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxShutdownGrace keeps a stopping process from outliving any patience an
// orchestrator has.
const maxShutdownGrace = 10 * time.Minute

// config reads every key of this version and checks it. What is wrong stands in
// d.problems afterwards.
func (d *document) config() *Config {
	c := &Config{
		Port:                d.integer("port", 8780, 1, 65535),
		Tenant:              d.tenant(),
		MakodURL:            d.makodURL(),
		MakodAPIKey:         d.makodAPIKey(),
		InboundHMACSecrets:  d.inboundHMACSecrets(),
		ERPWebhookURL:       d.erpWebhookURL(),
		ERPHMACSecret:       d.erpHMACSecret(),
		AllowInsecureNoAuth: d.boolean("allow_insecure_no_auth"),
		PruefschrittCheck:   d.pruefschrittCheck(),
		ShutdownGrace:       d.shutdownGrace(),
		Database: Database{
			URL:      d.databaseURL(),
			PoolSize: d.integer("database.pool_size", 10, 1, 1000),
		},
		OIDC: d.oidc(),
		MCP:  d.mcp(),
		Log: Log{
			Format: d.choice("log.format", "json", "json", "text"),
			Level:  d.choice("log.level", "info", "debug", "info", "warn", "error"),
		},
		IFTSTA:      d.iftsta(),
		Frist:       d.frist(),
		Outbox:      d.outbox(),
		Idempotency: d.idempotency(),
		Tracing: Tracing{
			Endpoint:    d.tracingEndpoint(),
			SampleRatio: d.ratio("tracing.sample_ratio", 1),
		},
	}
	c.Retention = d.retention(c.Idempotency)
	d.requireAuthentication(c)
	d.separateKeys(c)
	d.reportUnknown()

	return c
}

func (d *document) tenant() string {
	value, ok := d.required("tenant")
	if ok && !isMPID(value) {
		d.report("tenant", "must be an MP-ID: 13 digits and nothing else")
	}

	return value
}

// webURL parses value, which key holds. The error of net/url would repeat the URL,
// and with it a password that somebody has put there.
func (d *document) webURL(key, value string) (u *url.URL, ok bool) {
	u, err := url.Parse(value)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		d.report(key, "must be a URL that begins with http:// or https:// and names a host")
	case u.User != nil:
		d.report(key, "must not hold a user or a password")
	case !isPort(u.Port()):
		d.report(key, "must have a port from 1 to 65535, or none")
	default:
		return u, true
	}

	return nil, false
}

// isPort says whether a URL can be reached by this port; empty is the usual one.
func isPort(port string) bool {
	number, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && number > 0
}

// makodURL returns the URL without a trailing slash.
func (d *document) makodURL() string {
	const key = "makod_url"
	value, ok := d.required(key)
	if !ok {
		return ""
	}
	u, ok := d.webURL(key, value)
	switch {
	case !ok:
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(value, "#"):
		d.report(key, "must not hold a query or a fragment")
	}

	return strings.TrimRight(value, "/")
}

// makodAPIKey is sent as an HTTP header, where a control character (the second
// newline at the end of a file) makes every request fail.
func (d *document) makodAPIKey() Secret {
	const key = "makod_api_key"
	value, _ := d.required(key)
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		d.report(key, "must not hold a line break or another control character")
	}

	return NewSecret(value)
}

func (d *document) databaseURL() Secret {
	value, _ := d.required("database.url")
	return NewSecret(value)
}

func (d *document) pruefschrittCheck() PruefschrittCheck {
	return PruefschrittCheck(d.choice("pruefschritt_check",
		string(PruefschrittRefuse), string(PruefschrittRefuse), string(PruefschrittWarn)))
}

func (d *document) shutdownGrace() time.Duration {
	value, _ := d.durationUpTo("shutdown_grace", 20*time.Second, maxShutdownGrace)
	return value
}
