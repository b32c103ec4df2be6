package config

import "fmt"

// Warnings returns what does not stop the start and is still to be said at each
// one, worded for the log of the operator.
func (c *Config) Warnings() []string {
	warnings := c.authWarnings()
	if c.ERPWebhookURL.Reveal() == "" {
		warnings = append(warnings, "erp_webhook_url is missing: the events for the ERP pile up in the table event_outbox, undelivered")
	}
	if longest := max(c.IFTSTA.RequestTimeout, c.Outbox.RequestTimeout); c.ShutdownGrace < longest {
		warnings = append(warnings, fmt.Sprintf("shutdown_grace is shorter than a request_timeout (%s): a stop may cut what waits for makod or the ERP", longest))
	}
	return warnings
}
