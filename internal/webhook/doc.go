// Package webhook signs and verifies messages as the Standard Webhooks
// specification has it: HMAC-SHA256 over "<id>.<timestamp>.<raw body>", in the
// headers webhook-id, webhook-timestamp and webhook-signature.
//
// It looks at bytes only. It never reads a body, never parses one, and never
// remembers which ids it has seen: telling a redelivery from a new event is the
// business of whoever stores the event.
package webhook

// The three headers of a signed message.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)
