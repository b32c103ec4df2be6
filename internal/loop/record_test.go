package loop

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	errAway   = errors.New("away")
	errPoison = errors.New("poison")
)

// written is a table that can be away for the first calls and that refuses 13.
type written struct {
	away   int
	calls  [][]int
	values []int
}

func (w *written) write(_ context.Context, values []int) error {
	w.calls = append(w.calls, values)
	if w.away > 0 {
		w.away--
		return errAway
	}
	if slices.Contains(values, 13) {
		return errPoison
	}
	w.values = append(w.values, values...)
	return nil
}

func (w *written) recorder(left time.Duration) Recorder[int] {
	return Recorder[int]{
		Write:   w.write,
		Passing: func(err error) bool { return errors.Is(err, errAway) },
		Left:    func(int) time.Duration { return left },
	}
}

func TestResultsAreWrittenTogether(t *testing.T) {
	t.Parallel()
	var w written
	if lost, err := w.recorder(time.Minute).Record(t.Context(), []int{1, 2, 3}); lost != nil || err != nil || len(w.calls) != 1 {
		t.Errorf("lost %v, %v in %d calls", lost, err, len(w.calls))
	}
}

func TestOneResultThatCannotBeWrittenLosesNoOther(t *testing.T) {
	t.Parallel()
	var w written
	lost, err := w.recorder(time.Minute).Record(t.Context(), []int{1, 13, 2, 3})
	if !errors.Is(err, errPoison) {
		t.Errorf("reason = %v", err)
	}
	if diff := cmp.Diff([][]int{{13}, {1, 2, 3}}, [][]int{lost, w.values}); diff != "" {
		t.Errorf("lost and written:\n%s", diff)
	}
}

func TestWhatPassesIsWaitedForWithinWhatIsLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		away  int
		left  time.Duration
		took  time.Duration
		calls int
		lost  bool
	}{
		"back after three seconds": {away: 2, left: time.Minute, took: 3 * time.Second, calls: 3},
		"away for longer":          {away: 99, left: time.Minute, took: 7 * time.Second, calls: 4, lost: true},
		"the lease ends before":    {away: 99, left: 1500 * time.Millisecond, took: time.Second, calls: 2, lost: true},
		"no time left":             {away: 99, left: 0, calls: 1, lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := written{away: c.away}
				began := time.Now()
				r := w.recorder(0)
				r.Left = func(int) time.Duration { return c.left - time.Since(began) }
				lost, err := r.Record(t.Context(), []int{1, 2})
				if took := time.Since(began); took != c.took || len(w.calls) != c.calls || (len(lost) == 2) != c.lost || (err != nil) != c.lost {
					t.Errorf("lost %v, %v after %v and %d calls", lost, err, took, len(w.calls))
				}
			})
		})
	}
}

func TestAStopWaitsForNoRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := written{away: 99}
		began := time.Now()
		time.AfterFunc(1500*time.Millisecond, cancel)
		lost, err := w.recorder(time.Hour).Record(ctx, []int{1})
		if took := time.Since(began); len(lost) != 1 || !errors.Is(err, errAway) || took != 1500*time.Millisecond || len(w.calls) != 2 {
			t.Errorf("lost %v, %v after %v and %d calls", lost, err, took, len(w.calls))
		}
		cancel()
		if _, err := w.recorder(time.Hour).Record(ctx, []int{1}); !errors.Is(err, errAway) || len(w.calls) != 3 {
			t.Errorf("after the stop: %v and %d calls; want one try", err, len(w.calls))
		}
	})
}

func TestWhatGoesAwayMidwayLosesTheRest(t *testing.T) {
	t.Parallel()
	var w written
	r := w.recorder(0)
	r.Write = func(ctx context.Context, values []int) error {
		if len(values) == 1 && values[0] == 2 {
			w.away = 1
		}
		return w.write(ctx, values)
	}
	lost, err := r.Record(t.Context(), []int{1, 13, 2, 3})
	if diff := cmp.Diff([]int{13, 2, 3}, lost); diff != "" || !errors.Is(err, errAway) {
		t.Errorf("%v, lost:\n%s", err, diff)
	}
}
