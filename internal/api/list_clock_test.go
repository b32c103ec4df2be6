package api_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/werktag"
)

// The day of 23 hours and the day of 25 hours begin and end at midnight in Berlin, as any.
func TestList_due_keeps_its_day_when_the_clocks_change(t *testing.T) {
	t.Parallel()
	for name, day := range map[string]werktag.Date{
		"forward": werktag.NewDate(2026, time.March, 29), "back": werktag.NewDate(2026, time.October, 25),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var clock atomic.Int64 // Unix time
			b := newBench(t, func(s *settings) { s.options.Now = func() time.Time { return time.Unix(clock.Load(), 0) } })
			today := b.create(t, strings.Replace(fullOrder, "2026-09-07", day.String(), 1)).ID
			tomorrow := b.create(t, strings.Replace(fullOrder, "2026-09-07", day.AddDays(1).String(), 1)).ID
			begins, ends := day.Start(), day.AddDays(1).Start()
			for _, c := range []struct {
				at   time.Time
				want []string
			}{
				{begins.Add(-30 * time.Minute), []string{}},
				{begins.Add(30 * time.Minute), []string{today}}, // 00:30
				{begins.Add(150 * time.Minute), []string{today}},
				{begins.Add(210 * time.Minute), []string{today}},
				{ends.Add(-30 * time.Minute), []string{today}},
				{ends.Add(30 * time.Minute), []string{today, tomorrow}},
			} {
				clock.Store(c.at.Unix())
				if diff := cmp.Diff(c.want, ids(b.list(t, "?due=true"))); diff != "" {
					t.Errorf("due at %s (-want +got):\n%s", c.at, diff)
				}
			}
		})
	}
}
