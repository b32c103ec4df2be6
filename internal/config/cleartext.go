package config

import "net/url"

// ClearText returns the keys whose URLs are not https and lead to another machine, so that
// whoever sits between reads along: MaLos, outcomes and the key for makod. The provider of
// tokens is not among them; [Config.Warnings] tells of it.
func (c *Config) ClearText() []string {
	var keys []string
	for _, to := range []struct{ key, url string }{{"makod_url", c.MakodURL}, {erpWebhookURL, c.ERPWebhookURL.Reveal()}} {
		if u, err := url.Parse(to.url); err == nil && u.Scheme == "http" && !isLoopback(u.Hostname()) {
			keys = append(keys, to.key)
		}
	}
	return keys
}
