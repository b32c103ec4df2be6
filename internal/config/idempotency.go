package config

import "time"

const (
	// minRetention outlives a device that has been without a network for a week and
	// then sends its reports once more.
	minRetention = 7 * 24 * time.Hour
	// maxRetention is ten years: nobody repeats a call of that age, and the tables
	// only grow.
	maxRetention = 10 * 365 * 24 * time.Hour
)

func (d *document) idempotency() Idempotency {
	const key = "idempotency.retention"
	c := Idempotency{Required: d.boolean("idempotency.required")}
	var ok bool
	c.Retention, ok = d.durationUpTo(key, 90*24*time.Hour, maxRetention)
	if ok && c.Retention < minRetention {
		d.report(key, "must be %s at least: a call that comes again later is not recognised", minRetention)
	}

	return c
}
