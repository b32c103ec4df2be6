package telemetry

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const (
	openRejects   = "sperrd_webhook_rejects_open"
	collectErrors = "sperrd_metrics_collect_errors_total"
)

// wantOpen fails unless the metrics show this number and this many failures. Below 0:
// no number.
func wantOpen(t *testing.T, m *Metrics, open, failures float64) {
	t.Helper()
	samples := gather(t, m)
	got, shown := samples[openRejects]
	if !shown {
		got = -1
	}
	if got != open || samples[collectErrors] != failures {
		t.Errorf("%v open after %v failures, want %v after %v", got, samples[collectErrors], open, failures)
	}
}

// open is the reading of one number.
func open(read func(context.Context) (int64, error)) []Reading {
	if read == nil {
		return nil
	}
	return []Reading{NewReading(read, Number[int64]{Name: openRejects, Help: "Open.", Of: func(n int64) float64 { return float64(n) }})}
}

// clock shows the time that it was last set to.
type clock struct{ at time.Time }

func (c *clock) now() time.Time       { return c.at }
func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }

func TestNumber_is_read_at_most_once_in_five_seconds(t *testing.T) {
	t.Parallel()
	reads, c := int64(0), &clock{time.Date(2026, 9, 3, 8, 0, 0, 0, time.UTC)}
	m := startedWith(t, MetricsOptions{
		Readings: open(func(context.Context) (int64, error) { reads++; return reads, nil }),
		Now:      c.now, Logger: slog.New(slog.DiscardHandler),
	})
	wantOpen(t, m, 1, 0)
	c.pass(5*time.Second - time.Nanosecond)
	wantOpen(t, m, 1, 0)
	c.pass(time.Nanosecond)
	wantOpen(t, m, 2, 0)
	wantOpen(t, m, 2, 0)
}

func TestNumber_that_cannot_be_read_is_left_out_and_counted(t *testing.T) {
	t.Parallel()
	var trouble error
	log, c := new(bytes.Buffer), &clock{time.Date(2026, 9, 3, 8, 0, 0, 0, time.UTC)}
	m := startedWith(t, MetricsOptions{
		Readings: open(func(context.Context) (int64, error) { return 7, trouble }),
		Now:      c.now, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	wantOpen(t, m, 7, 0)
	trouble = errors.New("no route to db-7")
	wantOpen(t, m, 7, 0) // is younger than five seconds
	c.pass(5 * time.Second)
	wantOpen(t, m, -1, 1)
	wantOpen(t, m, -1, 1) // nobody asks again yet
	c.pass(5 * time.Second)
	wantOpen(t, m, -1, 2)
	trouble = nil
	c.pass(5 * time.Second)
	wantOpen(t, m, 7, 2)
	if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "db-7") || !strings.Contains(log.String(), openRejects) {
		t.Errorf("log:\n%s\nwant one line with metric and reason", log)
	}
	trouble = errors.New("away again")
	c.pass(5 * time.Second)
	wantOpen(t, m, -1, 3)
	if lines := strings.Count(log.String(), "\n"); lines != 2 {
		t.Errorf("%d lines after a second outage:\n%s", lines, log)
	}
}

func TestNumber_that_does_not_come_holds_a_scrape_up_for_two_seconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := started(t, func(ctx context.Context) (int64, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
		began := time.Now()
		wantOpen(t, m, -1, 1)
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("the scrape took %v", took)
		}
	})
}

func TestNumber_is_shared_by_those_who_ask_at_once(t *testing.T) {
	t.Parallel()
	var reads atomic.Int64
	begun, release := make(chan struct{}), make(chan struct{})
	m := started(t, func(context.Context) (int64, error) {
		if reads.Add(1) == 1 {
			close(begun)
		}
		<-release
		return 4, nil
	})
	var scrapers sync.WaitGroup
	scrapers.Go(func() { wantOpen(t, m, 4, 0) })
	<-begun
	for range 20 {
		scrapers.Go(func() { wantOpen(t, m, 4, 0) })
	}
	close(release)
	scrapers.Wait()
	if n := reads.Load(); n != 1 {
		t.Errorf("the number was read %d times", n)
	}
}

func TestNumber_that_nobody_keeps_is_not_shown(t *testing.T) {
	t.Parallel()
	wantOpen(t, started(t, nil), -1, 0)
}

func TestNumbers_of_one_reading_are_read_together_and_beside_those_of_another(t *testing.T) {
	t.Parallel()
	type pair struct{ one, two float64 }
	met := make(chan struct{})
	m := startedWith(t, MetricsOptions{Now: time.Now, Logger: slog.New(slog.DiscardHandler), Readings: []Reading{
		NewReading(func(context.Context) (pair, error) { met <- struct{}{}; return pair{1, 2}, nil },
			Number[pair]{Name: "sperrd_one", Help: "One.", Labels: map[string]string{"k": "v"}, Of: func(p pair) float64 { return p.one }},
			Number[pair]{Name: "sperrd_two", Help: "Two.", Of: func(p pair) float64 { return p.two }}),
		NewReading(func(context.Context) (int, error) { <-met; return 0, errors.New("no") },
			Number[int]{Name: "sperrd_three", Help: "Three.", Of: func(int) float64 { return 3 }},
			Number[int]{Name: "sperrd_four", Help: "Four.", Of: func(int) float64 { return 4 }}),
	}})
	samples := gather(t, m)
	_, shown := samples["sperrd_three"]
	if samples["sperrd_one v"] != 1 || samples["sperrd_two"] != 2 || shown || samples[collectErrors] != 1 {
		t.Errorf("samples: %v", samples)
	}
}
