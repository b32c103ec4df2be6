package loop

import (
	"testing"
	"time"
)

func TestBackoffGrowsByFourUpToItsCap(t *testing.T) {
	t.Parallel()
	for attempts, want := range map[int]time.Duration{
		0: 30 * time.Second, 1: 30 * time.Second, 2: 2 * time.Minute, 3: 8 * time.Minute, 4: 32 * time.Minute, 5: 2 * time.Hour, 8: 2 * time.Hour, 1000: 2 * time.Hour,
	} {
		least, most := want, time.Duration(0)
		for range 200 {
			wait := Backoff(30*time.Second, 2*time.Hour, attempts)
			least, most = min(least, wait), max(most, wait)
		}
		if least < want/2 || most > want || most-least < want/4 {
			t.Errorf("after %d attempts: %v to %v, want spread over %v to %v", attempts, least, most, want/2, want)
		}
	}
}
