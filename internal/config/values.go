package config

import (
	"slices"
	"strings"
	"time"
)

// lookup returns the value of a key and notes that this version knows the key.
func (d *document) lookup(key string) (value any, ok bool) {
	d.asked[key] = true
	return d.find(key)
}

// text returns a string, its reference followed. ok is false when the key is
// missing, which is no problem in itself, or wrong, which is recorded.
func (d *document) text(key string) (value string, ok bool) {
	raw, ok := d.lookup(key)
	if !ok {
		return "", false
	}

	return d.resolveText(key, raw)
}

func (d *document) resolveText(key string, raw any) (string, bool) {
	text, ok := raw.(string)
	if !ok {
		d.report(key, "must be a string in quotes")
		return "", false
	}
	value, source, err := resolve(text, d.env)
	d.sources[key] = source
	if err != nil {
		d.report(key, "%s", err)
		return "", false
	}

	return value, true
}

// required is text for a key without a default.
func (d *document) required(key string) (value string, ok bool) {
	if _, there := d.lookup(key); !there {
		d.report(key, "is required")
		return "", false
	}

	return d.text(key)
}

// choice returns one of the allowed strings, or the default.
func (d *document) choice(key, byDefault string, allowed ...string) string {
	value, ok := d.text(key)
	if !ok {
		return byDefault
	}
	if !slices.Contains(allowed, value) {
		d.report(key, "must be one of %s", strings.Join(allowed, ", "))
	}

	return value
}

// integer returns a whole number from low to high, or the default.
func (d *document) integer(key string, byDefault, low, high int) int {
	raw, ok := d.lookup(key)
	if !ok {
		return byDefault
	}
	value, ok := raw.(int64)
	if !ok || value < int64(low) || value > int64(high) {
		d.report(key, "must be a whole number from %d to %d", low, high)
		return byDefault
	}

	return int(value)
}

// boolean returns true or false; the default is false.
func (d *document) boolean(key string) bool {
	raw, ok := d.lookup(key)
	if !ok {
		return false
	}
	value, ok := raw.(bool)
	if !ok {
		d.report(key, "must be true or false, without quotes")
	}

	return value
}

// duration returns a positive duration, or the default. ok is false when the
// value is wrong, so that no rule about two durations is reported on top.
func (d *document) duration(key string, byDefault time.Duration) (value time.Duration, ok bool) {
	raw, there := d.lookup(key)
	if !there {
		return byDefault, true
	}
	if _, isText := raw.(string); !isText {
		d.report(key, `must be a duration with its unit, such as "30s" or "2h" (90 days are "2160h")`)
		return byDefault, false
	}
	text, ok := d.resolveText(key, raw)
	if !ok {
		return byDefault, false
	}
	value, err := time.ParseDuration(text)
	switch {
	case err != nil:
		d.report(key, `must be a duration with its unit, such as "30s" or "2h" (90 days are "2160h")`)
	case value <= 0:
		d.report(key, "must be longer than zero")
	default:
		return value, true
	}

	return byDefault, false
}

// durationUpTo is duration with an upper limit.
func (d *document) durationUpTo(key string, byDefault, limit time.Duration) (value time.Duration, ok bool) {
	value, ok = d.duration(key, byDefault)
	if ok && value > limit {
		d.report(key, "must be %s at most", limit)
		return byDefault, false
	}

	return value, ok
}
