package loop

import "time"

// Passed reports whether the moment until has passed at now, by the clock that says so. A
// machine that was suspended has a monotonic clock that stood still meanwhile, and one whose
// clock is set has a wall clock that jumps.
func Passed(now, until time.Time) bool {
	return now.After(until) || now.Round(0).After(until.Round(0))
}
