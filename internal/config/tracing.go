package config

import "strings"

// tracingEndpoint returns the collector without a trailing slash, or nothing when the key
// is missing.
func (d *document) tracingEndpoint() string {
	const key = "tracing.endpoint"
	value, ok := d.text(key)
	if !ok {
		return ""
	}
	if u, ok := d.webURL(key, value); ok && (u.RawQuery != "" || u.ForceQuery || strings.Contains(value, "#")) {
		d.report(key, "must not hold a query or a fragment")
	}
	return strings.TrimRight(value, "/")
}

// ratio returns a number above 0 up to 1, or the default.
func (d *document) ratio(key string, byDefault float64) float64 {
	raw, ok := d.lookup(key)
	if !ok {
		return byDefault
	}
	value, ok := raw.(float64)
	if whole, isWhole := raw.(int64); isWhole {
		value, ok = float64(whole), true
	}
	if !ok || !(value > 0 && value <= 1) { // NaN is neither
		d.report(key, "must be a number above 0, and 1 at most")
		return byDefault
	}
	return value
}
