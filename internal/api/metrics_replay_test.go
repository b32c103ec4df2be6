package api_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"sperrd/internal/api"
)

const webhookReplays = "sperrd_webhook_replays_total"

// seriesOf are the results that a counter has, whether or not they have counted anything.
func (b *bench) seriesOf(t *testing.T, counter string) []string {
	t.Helper()
	var names []string
	for series := range maps.Keys(b.metrics(t)) {
		if result, ok := strings.CutPrefix(series, counter+`{result="`); ok {
			names = append(names, strings.TrimSuffix(result, `"}`))
		}
	}
	slices.Sort(names)
	return names
}

// Whoever writes a rule for one result must find it with 0 before the first one, and none
// that stands in no list.
func TestMetrics_count_each_result_of_a_replay_once(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	event := sample(t, "17115-fixed-date.json")
	first, again := b.refused(t, event), b.refused(t, event)
	storno := b.refused(t, []byte(strings.ReplaceAll(string(event), "17115,", "39000,")))
	foreign := b.refused(t, sample(t, "17116.json"))
	unusable := b.refusedWith(t, http.StatusUnprocessableEntity, edited(t, "51238696012", "51238696782"))
	conflict := b.refused(t, edited(t, "Lindenallee 7", "Lindenallee 9"))
	open := b.refused(t, sample(t, "17117.json"))
	steps := []struct {
		result string
		answer func() answer
		status int
	}{
		{"queued", func() answer { return b.replay(t, first, "", called(callA)...) }, 201},
		{"", func() answer { return b.replay(t, first, "", called(callB, callA)...) }, 201}, // the same once more
		{"redelivery", func() answer { return b.replay(t, again, "") }, 200},
		{"noted", func() answer { return b.replay(t, storno, "") }, 200},
		{"not_ours", func() answer { return b.replay(t, foreign, "") }, 200},
		{"unusable_event", func() answer { return b.replay(t, unusable, "") }, 422},
		{"process_conflict", func() answer { return b.replay(t, conflict, "") }, 409},
		{"reject_settled", func() answer { return b.replay(t, first, "") }, 409},
		{"not_found", func() answer { return b.replay(t, uuid.NewString(), "") }, 404},
		{"invalid_report", func() answer { return b.replay(t, open, `{"reason":"a\u0000b"}`) }, 422},
		{"invalid_report", func() answer { return b.replay(t, open, `{"reason":"a\u0000b"}`, called(callC)...) }, 422},
		{"", func() answer { return b.replay(t, open, `{"reason":"a\u0000b"}`, called(callC)...) }, 422},
		{"", func() answer { return b.replay(t, open, `{"reason":"another content"}`, called(callC)...) }, 409},
		{"", func() answer { return b.replay(t, open, "", called(callA)...) }, 409}, // another delivery
		{"", func() answer { return b.dismiss(t, open, `{"reason":"x"}`, called(callA)...) }, 409},
		{"internal", func() answer {
			b.bySQL(t, `ALTER TABLE sperr_orders RENAME TO away`)
			return b.replay(t, open, "")
		}, 500},
		{"unavailable", func() answer {
			b.pool.Close()
			return b.replay(t, open, "")
		}, 503},
	}
	known, want := b.seriesOf(t, webhookReplays), map[string]float64{}
	for i, step := range steps {
		wantStatus(t, step.answer(), step.status)
		if step.result != "" {
			want[step.result]++
		}
		if diff := cmp.Diff(want, b.resultsOf(t, webhookReplays)); diff != "" {
			t.Errorf("after step %d, %s (-want +got):\n%s", i, step.result, diff)
		}
	}
	for name, got := range map[string][]string{"after all": b.seriesOf(t, webhookReplays), "counted": slices.Sorted(maps.Keys(want))} {
		if diff := cmp.Diff(known, got); diff != "" {
			t.Errorf("results (-at the start +%s):\n%s", name, diff)
		}
	}
}

func TestMetrics_do_not_count_a_replay_that_is_asked_to_come_again(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *settings) { s.twinWait = 20 * time.Millisecond })
	kept := b.refused(t, sample(t, "17115-fixed-date.json"))
	release := b.locked(t, `SELECT FROM webhook_rejects WHERE id = $1 FOR UPDATE`, kept)
	first := inBackground(func() answer { return b.replay(t, kept, "", called(callA)...) })
	b.awaitLocked(t)
	for range 3 {
		wantProblem(t, b.replay(t, kept, "", called(callB, callA)...), http.StatusConflict, "transaction_in_progress")
	}
	release()
	wantQueued(t, first())
	if diff := cmp.Diff(map[string]float64{"queued": 1}, b.resultsOf(t, webhookReplays)); diff != "" {
		t.Errorf("replays (-want +got):\n%s", diff)
	}
}

func TestMetrics_count_a_replay_that_panics_as_internal(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *settings) {
		s.handler = func(o api.Options) http.Handler {
			o.Service = nil
			return api.NewHandler(o)
		}
	})
	wantProblem(t, b.replay(t, uuid.NewString(), ""), http.StatusInternalServerError, "internal")
	if diff := cmp.Diff(map[string]float64{"internal": 1}, b.resultsOf(t, webhookReplays)); diff != "" {
		t.Errorf("replays (-want +got):\n%s", diff)
	}
}
