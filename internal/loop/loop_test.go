package loop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answer is what a step returns, after it has taken some time.
type answer struct {
	rest  time.Duration
	err   error
	takes time.Duration
}

// course is the course of a loop through a list of answers. In the step after the
// last of them it ends the context.
type course struct {
	loop   Loop
	log    bytes.Buffer
	begins []time.Duration // of the steps, since the start of the loop
	length time.Duration   // until Run returned
}

// run runs a loop through the answers, in a bubble. With stopAfter its context ends
// then, if it has not before. during, which may be nil, happens in each step.
func run(ctx context.Context, stopAfter time.Duration, during func(step int, wake *Signal), answers ...answer) *course {
	c := &course{}
	ctx, end := context.WithTimeout(ctx, stopAfter)
	defer end()
	start := time.Now()
	c.loop = Loop{Name: "test", Wake: NewSignal(), Logger: slog.New(slog.NewTextHandler(&c.log, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))}
	c.loop.Step = func(context.Context) (time.Duration, error) {
		step := len(c.begins)
		c.begins = append(c.begins, time.Since(start))
		if during != nil {
			during(step, c.loop.Wake)
		}
		if step == len(answers) {
			end()
			return 0, nil
		}
		elapse(answers[step].takes)
		return answers[step].rest, answers[step].err
	}
	c.loop.Run(ctx)
	c.length = time.Since(start)
	return c
}

// pauses are the times from each step to the next.
func (c *course) pauses() []time.Duration {
	var pauses []time.Duration
	for i := 1; i < len(c.begins); i++ {
		pauses = append(pauses, c.begins[i]-c.begins[i-1])
	}
	return pauses
}

func wantDurations(t *testing.T, what string, got []time.Duration, want ...time.Duration) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

const (
	never   = 1000 * time.Hour
	second  = time.Second
	refused = `level=ERROR msg="loop fails and goes on trying" loop=test error=refused` + "\n"
	timeout = `level=ERROR msg="loop fails and goes on trying" loop=test error=timeout` + "\n"
)

var (
	errRefused = errors.New("refused")
	errTimeout = errors.New("timeout")
)

func TestLoopRestsAsLongAsItsStepSays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := run(t.Context(), never, nil, answer{rest: 3 * second}, answer{}, answer{rest: 10 * second, takes: second})
		wantDurations(t, "begins of steps", c.begins, 0, 3*second, 3*second, 14*second)
	})
}

func TestWakeEndsARest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := run(t.Context(), never, func(step int, wake *Signal) {
			if step == 0 {
				time.AfterFunc(7*second, wake.Set)
			}
		}, answer{rest: time.Hour}, answer{rest: time.Hour})
		wantDurations(t, "begins of steps", c.begins, 0, 7*second, 7*second+time.Hour)
	})
}

func TestWakeDuringAStepIsNotLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := run(t.Context(), never, func(step int, wake *Signal) {
			if step == 0 {
				wake.Set()
			}
		}, answer{rest: time.Hour, takes: second}, answer{rest: time.Hour})
		wantDurations(t, "begins of steps", c.begins, 0, second, second+time.Hour)
	})
}

func TestPausesAfterFailuresDoubleUpToThirtySecondsWithJitter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fail := answer{err: errRefused}
		longest := []time.Duration{second, 2 * second, 4 * second, 8 * second, 16 * second, 30 * second, 30 * second}
		early, late := make([]int, len(longest)), make([]int, len(longest))
		for range 100 {
			c := run(t.Context(), never, nil, fail, fail, fail, fail, fail, fail, fail)
			for i, pause := range c.pauses() {
				if pause < longest[i]/2 || pause > longest[i] {
					t.Fatalf("pause after failure %d is %v, want the second half of %v", i+1, pause, longest[i])
				}
				if pause < longest[i]*3/4 {
					early[i]++
				} else {
					late[i]++
				}
			}
		}
		for i := range longest {
			if early[i] == 0 || late[i] == 0 {
				t.Errorf("pauses after failure %d do not vary: %d early, %d late", i+1, early[i], late[i])
			}
		}
	})
}

func TestPausesBeginAnewAfterARecovery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fail := answer{err: errRefused}
		pauses := run(t.Context(), never, nil, fail, fail, fail, answer{}, fail).pauses()
		if last := pauses[4]; last < second/2 || last > second {
			t.Errorf("first pause after a recovery is %v, want 500 ms to 1 s", last)
		}
	})
}

func TestWakeDoesNotShortenThePauseAfterAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := run(t.Context(), never, func(step int, wake *Signal) {
			if step == 0 {
				wake.Set()
				time.AfterFunc(100*time.Millisecond, wake.Set)
			}
		}, answer{err: errRefused}, answer{rest: time.Hour}, answer{rest: time.Hour})
		pauses := c.pauses()
		if pauses[0] < second/2 {
			t.Errorf("a signal has shortened the pause after a failure to %v", pauses[0])
		}
		wantDurations(t, "rests after the failure, the first ended by the signal", pauses[1:], 0, time.Hour)
	})
}

func TestFailureIsLoggedOnceForEachTextAndOnceOnRecovery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := answer{err: errRefused}, answer{err: errTimeout}
		c := run(t.Context(), never, nil, a, a, b, a, b, answer{}, answer{}, a)
		want := refused + timeout + `level=INFO msg="loop works again" loop=test failures=5` + "\n" + refused
		if diff := cmp.Diff(want, c.log.String()); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

func TestTextsThatNeverRepeatDoNotFloodTheLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var answers []answer
		for port := range 200 {
			answers = append(answers, answer{err: fmt.Errorf("refused by port %d", port)})
		}
		for minutes, most := range map[int]int{1: 8, 2: 12, 10: 44} {
			c := run(t.Context(), time.Duration(minutes)*time.Minute, nil, answers...)
			if lines := strings.Count(c.log.String(), "\n"); lines < minutes || lines > most {
				t.Errorf("%d lines in %d minutes, want at most %d", lines, minutes, most)
			}
		}
	})
}

func TestLogForgetsTheOldestTextsOfALongSeries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answers := []answer{{err: errRefused}}
		for port := range remembered {
			answers = append(answers, answer{err: fmt.Errorf("refused by port %d", port)})
		}
		answers = append(answers, answer{err: errRefused}, answer{err: fmt.Errorf("refused by port %d", remembered-1)})
		c := run(t.Context(), never, nil, answers...)
		if got := strings.Count(c.log.String(), "level=ERROR"); got != remembered+2 {
			t.Errorf("%d lines, want %d: the first text twice, the others once:\n%s", got, remembered+2, &c.log)
		}
	})
}

func TestRunReturnsAfterTheStepInHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := run(t.Context(), 2*second, nil, answer{takes: 5 * second}, answer{})
		wantDurations(t, "length of the run, begins of steps", append(c.begins, c.length), 0, 5*second)
	})
}

func TestEndOfContextEndsARestAndAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rest := run(t.Context(), 2*second, nil, answer{rest: time.Hour})
		pause := run(t.Context(), 200*time.Millisecond, nil, answer{err: errRefused})
		wantDurations(t, "lengths of the runs", []time.Duration{rest.length, pause.length}, 2*second, 200*time.Millisecond)
	})
}

func TestNoStepBeginsOnceContextHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if c := run(t.Context(), 0, nil, answer{}); len(c.begins) != 0 {
			t.Error("a step has begun after the end of the context")
		}
	})
}

func TestStepThatWasToldToStopHasNeitherFailedNorRecovered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// The second step stops without an error; run ends the context in it.
		c := run(t.Context(), never, nil, answer{err: errRefused})
		if diff := cmp.Diff(refused, c.log.String()); diff != "" {
			t.Errorf("log of a failing loop that stops (-want +got):\n%s", diff)
		}
		c = run(t.Context(), second, nil, answer{takes: 2 * second, err: context.DeadlineExceeded})
		if c.log.Len() != 0 {
			t.Errorf("log of a working loop that stops, want nothing:\n%s", &c.log)
		}
	})
}
