package config

import (
	"fmt"
	"time"
)

const (
	// leaseMargin is the least time between the end of a request and the end of
	// its lease, in which the outcome of the request is recorded.
	leaseMargin = 5 * time.Second
	// maxRequestTimeout and maxLease bound how long a request that hangs, or a
	// process that was killed, keeps its claim from everybody else.
	maxRequestTimeout = 10 * time.Minute
	maxLease          = time.Hour
	// An interval below minInterval keeps the database busy with nothing to find;
	// above maxInterval what is due waits long behind its retry time.
	minInterval = 10 * time.Millisecond
	maxInterval = 10 * time.Minute
	// maxGiveUpAfter is longer than anybody waits for an event: what is tried for
	// ever holds the later events of its order back for ever.
	maxGiveUpAfter = 365 * 24 * time.Hour
)

func (d *document) iftsta() IFTSTA {
	c := IFTSTA{
		MaxAttempts:  d.integer("iftsta.max_attempts", 8, 1, 1000),
		PollInterval: d.interval("iftsta.poll_interval", 5*time.Second),
		Parallelism:  d.integer("iftsta.parallelism", 32, 1, 1000),
		MaxPerSecond: d.integer("iftsta.max_per_second", 80, 0, 10000),
	}
	var firstOK, longestOK, timeoutOK, leaseOK bool
	c.FirstBackoff, firstOK = d.duration("iftsta.first_backoff", 30*time.Second)
	c.MaxBackoff, longestOK = d.duration("iftsta.max_backoff", 2*time.Hour)
	c.RequestTimeout, timeoutOK = d.durationUpTo("iftsta.request_timeout", 10*time.Second, maxRequestTimeout)
	c.Lease, leaseOK = d.durationUpTo("iftsta.lease", time.Minute, maxLease)
	if firstOK && longestOK && c.FirstBackoff > c.MaxBackoff {
		d.report("iftsta.first_backoff", "must not be longer than iftsta.max_backoff")
	}
	if least, sum := c.leastLease(); timeoutOK && leaseOK && c.Lease < least {
		d.report("iftsta.lease", "must be at least %s: %s", least, sum)
	}

	return c
}

// leastLease is how long a claim may take, and what it is the sum of: the last of
// the outcomes that are claimed together waits for its turn under MaxPerSecond, then
// for its answer, and then for its record.
func (c IFTSTA) leastLease() (least time.Duration, sum string) {
	least = c.RequestTimeout + leaseMargin
	if c.MaxPerSecond == 0 {
		return least, fmt.Sprintf("iftsta.request_timeout + %s", leaseMargin)
	}
	least += time.Duration(c.Parallelism) * time.Second / time.Duration(c.MaxPerSecond)

	return least, fmt.Sprintf("iftsta.request_timeout + iftsta.parallelism / iftsta.max_per_second + %s", leaseMargin)
}

func (d *document) outbox() Outbox {
	c := Outbox{
		PollInterval: d.interval("outbox.poll_interval", 5*time.Second),
		Parallelism:  d.integer("outbox.parallelism", 16, 1, 1000),
	}
	var timeoutOK, leaseOK bool
	c.GiveUpAfter, _ = d.durationUpTo("outbox.give_up_after", 168*time.Hour, maxGiveUpAfter)
	c.Retention, _ = d.duration("outbox.retention", 720*time.Hour)
	c.RequestTimeout, timeoutOK = d.durationUpTo("outbox.request_timeout", 10*time.Second, maxRequestTimeout)
	c.Lease, leaseOK = d.durationUpTo("outbox.lease", time.Minute, maxLease)
	if timeoutOK && leaseOK && c.Lease < c.RequestTimeout+leaseMargin {
		d.report("outbox.lease", "must be at least %s longer than outbox.request_timeout", leaseMargin)
	}

	return c
}

// interval returns how often a loop looks for work.
func (d *document) interval(key string, byDefault time.Duration) time.Duration {
	value, ok := d.durationUpTo(key, byDefault, maxInterval)
	if ok && value < minInterval {
		d.report(key, "must be %s at least", minInterval)
		return byDefault
	}

	return value
}
