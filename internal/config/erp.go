package config

import "strings"

const (
	erpWebhookURL = "erp_webhook_url"
	erpHMACSecret = "erp_hmac_secret"
)

// erpWebhookURL returns where events go, or nothing when the key is missing.
func (d *document) erpWebhookURL() Secret {
	value, ok := d.text(erpWebhookURL)
	if !ok {
		return Secret{}
	}
	u, ok := d.webURL(erpWebhookURL, value)
	switch {
	case !ok:
	case strings.Contains(value, "#"):
		d.report(erpWebhookURL, "must not hold a fragment")
	case strings.ContainsFunc(u.RawQuery, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		// A query goes out as it stands, where a blank would end it.
		d.report(erpWebhookURL, "must have blanks and what is not ASCII percent-encoded in its query")
	}

	return NewSecret(value)
}

// erpHMACSecret goes with erp_webhook_url: without the one events would go out
// unsigned, and without the other somebody believes that they go out.
func (d *document) erpHMACSecret() Secret {
	raw, secretThere := d.lookup(erpHMACSecret)
	_, urlThere := d.lookup(erpWebhookURL)
	switch {
	case !secretThere && urlThere:
		d.report(erpHMACSecret, "is required with erp_webhook_url: it signs what goes there")
	case secretThere && !urlThere:
		d.report(erpHMACSecret, "is set without erp_webhook_url, so no event goes out")
	}
	if !secretThere {
		return Secret{}
	}
	secret, _ := d.hmacSecret(erpHMACSecret, raw)

	return secret
}
