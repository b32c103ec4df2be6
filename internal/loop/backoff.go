package loop

import (
	"math/rand/v2"
	"time"
)

// Backoff is the wait after the given number of attempts: first, times four each time, up
// to longest, spread over its second half so that what failed together does not come back
// together.
func Backoff(first, longest time.Duration, attempts int) time.Duration {
	wait := first
	for range attempts - 1 {
		if wait >= longest/4 {
			wait = longest
			break
		}
		wait *= 4
	}
	return jittered(min(wait, longest))
}

// jittered is at random between half of wait and all of it.
func jittered(wait time.Duration) time.Duration { return wait/2 + rand.N(wait/2+1) }
