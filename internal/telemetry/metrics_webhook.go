package telemetry

// WebhookResult is what became of one delivery to the webhook. A refusal has the code
// of its problem.
type WebhookResult string

// What a delivery can come to.
const (
	WebhookQueued     WebhookResult = "queued"     // a new order
	WebhookRedelivery WebhookResult = "redelivery" // its process has the order already
	WebhookNoted      WebhookResult = "noted"      // a Stornierung
	WebhookNotOurs    WebhookResult = "not_ours"   // acknowledged and passed over

	WebhookInvalidSignature     WebhookResult = "invalid_signature"
	WebhookInvalidJSON          WebhookResult = "invalid_json"
	WebhookInvalidBody          WebhookResult = "invalid_body"
	WebhookInvalidParameter     WebhookResult = "invalid_parameter"
	WebhookUnsupportedMediaType WebhookResult = "unsupported_media_type"
	WebhookUnusableEvent        WebhookResult = "unusable_event"
	WebhookProcessConflict      WebhookResult = "process_conflict"
	WebhookBodyTooLarge         WebhookResult = "body_too_large"
	WebhookUnavailable          WebhookResult = "unavailable" // comes again
	WebhookInternal             WebhookResult = "internal"    // comes again
)

func webhookResults() []WebhookResult {
	return []WebhookResult{
		WebhookQueued, WebhookRedelivery, WebhookNoted, WebhookNotOurs,
		WebhookInvalidSignature, WebhookInvalidJSON, WebhookInvalidBody, WebhookInvalidParameter,
		WebhookUnsupportedMediaType, WebhookUnusableEvent, WebhookProcessConflict,
		WebhookBodyTooLarge, WebhookUnavailable, WebhookInternal,
	}
}

// CountWebhook counts one delivery.
func (m *Metrics) CountWebhook(result WebhookResult) {
	if m != nil {
		m.webhookEvents.count(result)
	}
}

// ReplayResult is what became of one replay of a refused delivery. A refusal has the
// code of its problem. What says that a call is none of its own, transaction_conflict or
// transaction_in_progress, is no result.
type ReplayResult string

// What a replay can come to.
const (
	ReplayQueued          ReplayResult = "queued"
	ReplayRedelivery      ReplayResult = "redelivery"
	ReplayNoted           ReplayResult = "noted"
	ReplayNotOurs         ReplayResult = "not_ours"
	ReplayUnusableEvent   ReplayResult = "unusable_event"
	ReplayProcessConflict ReplayResult = "process_conflict"
	ReplayRejectSettled   ReplayResult = "reject_settled" // somebody was faster
	ReplayNotFound        ReplayResult = "not_found"
	ReplayInvalidReport   ReplayResult = "invalid_report" // for its reason
	ReplayUnavailable     ReplayResult = "unavailable"
	ReplayInternal        ReplayResult = "internal"
)

func replayResults() []ReplayResult {
	return []ReplayResult{
		ReplayQueued, ReplayRedelivery, ReplayNoted, ReplayNotOurs,
		ReplayUnusableEvent, ReplayProcessConflict, ReplayRejectSettled, ReplayNotFound, ReplayInvalidReport,
		ReplayUnavailable, ReplayInternal,
	}
}

// CountReplay counts one replay.
func (m *Metrics) CountReplay(result ReplayResult) {
	if m != nil {
		m.webhookReplays.count(result)
	}
}
