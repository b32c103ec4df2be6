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

// written is a table that can be away, that refuses 13 and in which somebody has locked 7.
type written struct {
	away   bool
	values []int
	lost   []int
	reason error
}

func (w *written) write(_ context.Context, values []int) (locked []int, err error) {
	if w.away {
		return nil, errAway
	}
	if slices.Contains(values, 13) {
		return nil, errPoison
	}
	for _, v := range values {
		if v == 7 {
			locked = append(locked, v)
		} else {
			w.values = append(w.values, v)
		}
	}
	return locked, nil
}

func (w *written) recorder(left time.Duration) Recorder[int] {
	return Recorder[int]{
		Write:   w.write,
		Passing: func(err error) bool { return errors.Is(err, errAway) },
		Left:    func(int) time.Duration { return left },
		Lost: func(_ context.Context, values []int, reason error) {
			w.lost, w.reason = append(w.lost, values...), reason
		},
	}
}

func TestResultsAreWrittenOrComeLaterOrAreLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stopped bool
		away    bool
		left    time.Duration
		results []int

		written, later, lost []int
		reason               error
	}{
		"all are written":                              {left: time.Minute, results: []int{1, 2}, written: []int{1, 2}},
		"one that is locked comes later":               {left: time.Minute, results: []int{1, 7, 2}, written: []int{1, 2}, later: []int{7}},
		"one that spoils the others is lost":           {left: time.Minute, results: []int{1, 13, 7, 2}, written: []int{1, 2}, later: []int{7}, lost: []int{13}, reason: errPoison},
		"alone it is lost too":                         {left: time.Minute, results: []int{13}, lost: []int{13}, reason: errPoison},
		"all come later while it is away":              {left: time.Minute, away: true, results: []int{1, 2}, later: []int{1, 2}},
		"nothing comes after its lease":                {left: again, away: true, results: []int{1, 2}, lost: []int{1, 2}, reason: errAway},
		"what is locked neither":                       {left: again, results: []int{1, 7}, written: []int{1}, lost: []int{7}, reason: ErrLocked},
		"a stop writes what can be":                    {stopped: true, left: time.Minute, results: []int{1, 7}, written: []int{1}, lost: []int{7}, reason: ErrLocked},
		"a stop does not wait for a database for long": {stopped: true, left: time.Minute, away: true, results: []int{1}, lost: []int{1}, reason: errAway},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				if c.stopped {
					stop()
				}
				w := written{away: c.away}
				began := time.Now()
				later := w.recorder(c.left).Record(ctx, c.results)
				if diff := cmp.Diff([][]int{c.written, c.later, c.lost}, [][]int{w.values, later, w.lost}); diff != "" || !errors.Is(w.reason, c.reason) {
					t.Errorf("reason %v; written, later and lost:\n%s", w.reason, diff)
				}
				if took := time.Since(began); !c.stopped && took != 0 || took > atStop+again {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

func TestWhatGoesAwayMidwayKeepsTheRest(t *testing.T) {
	t.Parallel()
	var w written
	r := w.recorder(time.Minute)
	r.Write = func(ctx context.Context, values []int) ([]int, error) {
		w.away = w.away || len(values) == 1 && values[0] == 2
		return w.write(ctx, values)
	}
	later := r.Record(t.Context(), []int{1, 13, 2, 3})
	if diff := cmp.Diff([][]int{{1}, {2, 3}, {13}}, [][]int{w.values, later, w.lost}); diff != "" {
		t.Errorf("written, later and lost:\n%s", diff)
	}
}

func TestAStopWaitsForAMomentaryLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		var w written
		free := time.Now().Add(atStop / 2)
		r := w.recorder(time.Minute)
		r.Write = func(_ context.Context, values []int) ([]int, error) {
			if time.Now().Before(free) {
				return values, nil
			}
			w.values = append(w.values, values...)
			return nil, nil
		}
		if later := r.Record(ctx, []int{1, 2}); len(later) != 0 || len(w.lost) != 0 || len(w.values) != 2 {
			t.Errorf("written %v, later %v, lost %v", w.values, later, w.lost)
		}
	})
}

func TestALeaseHasPassedByWhicheverClockSaysSo(t *testing.T) {
	t.Parallel()
	now := time.Now()
	if Passed(now, now) || !Passed(now.Add(1), now) {
		t.Error("a lease holds until its moment, and no longer")
	}
	suspended := now.Add(-time.Minute) // its monotonic clock has stood still since
	if !Passed(now.Round(0), suspended.Round(0)) {
		t.Error("the wall clock is not looked at")
	}
}
