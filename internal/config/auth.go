package config

import (
	"fmt"
	"net"
	"net/url"
	"strings"
)

const (
	allowInsecureNoAuth = "allow_insecure_no_auth"
	oidcIssuer          = "oidc.issuer"
	oidcAudience        = "oidc.audience"
	mcpAPIKey           = "mcp.api_key"
)

// goodKey is how many characters a key should have at least that anybody may try.
const goodKey = 20

// section says whether the file has a section of that name, also an empty one.
func (d *document) section(name string) bool {
	_, there := d.values[name].(map[string]any)
	return there
}

// oidc returns the zero value where the file has no section [oidc]. A section that
// has begun must be whole: half of it would check nothing.
func (d *document) oidc() OIDC {
	if !d.section("oidc") {
		d.asked[oidcIssuer], d.asked[oidcAudience] = true, true
		return OIDC{}
	}
	issuer, ok := d.trimmed(oidcIssuer)
	if ok {
		if _, isURL := d.webURL(oidcIssuer, issuer); isURL && strings.ContainsAny(issuer, "?#") {
			d.report(oidcIssuer, "must not hold a query or a fragment")
		}
	}
	audience, _ := d.trimmed(oidcAudience)

	return OIDC{Issuer: issuer, Audience: audience}
}

// trimmed is required for a value that is compared letter by letter, and whose blanks at
// the ends nobody would see.
func (d *document) trimmed(key string) (value string, ok bool) {
	value, ok = d.required(key)
	if ok && strings.TrimSpace(value) != value {
		d.report(key, "must not begin or end with a blank")
		return value, false
	}

	return value, ok
}

// mcp returns the zero value where the file has no section [mcp].
func (d *document) mcp() MCP {
	if !d.section("mcp") {
		d.asked[mcpAPIKey] = true
		return MCP{}
	}
	value, ok := d.required(mcpAPIKey)
	// It arrives after "Bearer ", where a blank would end it.
	if ok && strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		d.report(mcpAPIKey, "must be ASCII without blanks and control characters")
	}

	return MCP{APIKey: NewSecret(value)}
}

// separateKeys refuses a key for reading that opens more than that.
func (d *document) separateKeys(c *Config) {
	key := c.MCP.APIKey.Reveal()
	for _, other := range append([]Secret{c.MakodAPIKey, c.ERPHMACSecret}, c.InboundHMACSecrets...) {
		if key != "" && key == other.Reveal() {
			d.report(mcpAPIKey, "must be a key of its own, and not that of makod or a secret that signs")
			return
		}
	}
}

// requireAuthentication refuses to serve anything to everybody unless that is
// asked for by name: these routes queue and confirm physical disconnections.
func (d *document) requireAuthentication(c *Config) {
	if c.AllowInsecureNoAuth {
		return
	}
	if !d.section("oidc") {
		d.report("oidc", "the section with issuer and audience is required: without it whoever reaches the port can read, confirm "+
			"and cancel disconnections; %s = true serves that way all the same", allowInsecureNoAuth)
	}
	if _, there := d.lookup(inboundHMACSecret); !there {
		d.report(inboundHMACSecret, "is required: without it whoever reaches the port can queue a disconnection; %s = true serves that way all the same",
			allowInsecureNoAuth)
	}
}

// Open reports whether the REST API and MCP are served without tokens.
func (c *Config) Open() bool { return c.OIDC.Issuer == "" }

// InsecureWarnings returns what is open to everybody, which a start and the readiness
// of the service tell. It is empty where nothing is.
func (c *Config) InsecureWarnings() []string {
	var warnings []string
	if c.Open() {
		open := "the REST API is"
		if c.MCP.APIKey.Reveal() == "" {
			open = "the REST API and MCP are"
		}
		warnings = append(warnings, "INSECURE: "+allowInsecureNoAuth+" = true and no [oidc]: "+open+" served without authentication; "+
			"whoever reaches the port can read, confirm and cancel disconnections")
	}
	if len(c.InboundHMACSecrets) == 0 {
		warnings = append(warnings, "INSECURE: "+inboundHMACSecret+" is missing, so POST /webhook believes every body: "+
			"whoever reaches the port can queue a disconnection")
	}

	return warnings
}

// authWarnings returns what of the authentication is not as it should be.
func (c *Config) authWarnings() []string {
	warnings := c.InsecureWarnings()
	if len(warnings) == 0 && c.AllowInsecureNoAuth {
		warnings = append(warnings, allowInsecureNoAuth+" = true has nothing to allow: remove it, or a section that gets lost leaves the service open")
	}
	if key := c.MCP.APIKey.Reveal(); key != "" && len(key) < goodKey {
		warnings = append(warnings, fmt.Sprintf("%s has fewer than %d characters: whoever guesses it sees the addresses of households", mcpAPIKey, goodKey))
	}
	if u, err := url.Parse(c.OIDC.Issuer); err == nil && u.Scheme == "http" && !isLoopback(u.Hostname()) {
		warnings = append(warnings, oidcIssuer+" is not https: whoever sits between here and the provider can hand out keys of its own")
	}

	return warnings
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
