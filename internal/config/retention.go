package config

import "time"

const (
	// minRedactAfter leaves a month to find out what happened on site.
	minRedactAfter = 30 * 24 * time.Hour
	maxRedactAfter = 10 * 365 * 24 * time.Hour
)

// retention needs the section [idempotency]: an answer that may still be repeated must be
// the one that was given.
func (d *document) retention(calls Idempotency) Retention {
	const key = "retention.redact_after"
	if _, there := d.lookup(key); !there {
		return Retention{}
	}
	age, ok := d.durationUpTo(key, 0, maxRedactAfter)
	switch {
	case !ok:
	case age < minRedactAfter:
		d.report(key, "must be %s at least", minRedactAfter)
	case age < calls.Retention:
		d.report(key, "must not be shorter than idempotency.retention (%s): a call that comes again gets the answer that it got", calls.Retention)
	}
	return Retention{RedactAfter: age}
}
