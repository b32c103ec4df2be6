package loop

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// plant is a pump whose pieces are the times that the work on them takes. A result is
// its piece.
type plant struct {
	pump    *Pump[time.Duration, time.Duration]
	queue   []time.Duration // not claimed
	start   time.Time
	claims  []claim
	records []record
	later   []time.Duration // what the next Record puts off

	mu      sync.Mutex
	inWork  int
	busiest int // the most pieces that were in work together
}

// claim and record are calls, at a time since the start.
type claim struct {
	At    time.Duration
	Limit int
}

type record struct {
	At      time.Duration
	Results []time.Duration
}

// elapse lets time pass in a bubble.
func elapse(d time.Duration) { pause(context.Background(), d, nil) }

// newPlant returns a plant in a bubble; a Record takes the time recording.
func newPlant(hands int, recording time.Duration, queue ...time.Duration) *plant {
	p := &plant{queue: queue, start: time.Now()}
	p.pump = NewPump(PumpOptions[time.Duration, time.Duration]{
		Hands: hands,
		Claim: func(_ context.Context, limit int) ([]time.Duration, error) {
			p.claims = append(p.claims, claim{time.Since(p.start), limit})
			n := min(limit, len(p.queue))
			pieces := p.queue[:n]
			p.queue = p.queue[n:]
			return pieces, nil
		},
		Work: func(_ context.Context, piece time.Duration) time.Duration {
			p.count(1)
			elapse(piece)
			p.count(-1)
			return piece
		},
		Record: func(_ context.Context, results []time.Duration) (later []time.Duration) {
			p.records = append(p.records, record{time.Since(p.start), results})
			elapse(recording)
			later, p.later = p.later, nil
			return later
		},
	})
	return p
}

func (p *plant) count(change int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inWork += change
	p.busiest = max(p.busiest, p.inWork)
}

// step is a Step that must not fail.
func (p *plant) step(ctx context.Context, t *testing.T) (more bool) {
	t.Helper()
	more, err := p.pump.Step(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return more
}

func (p *plant) recorded() int {
	n := 0
	for _, r := range p.records {
		n += len(r.Results)
	}
	return n
}

func (p *plant) wantClaims(t *testing.T, want ...claim) {
	t.Helper()
	if diff := cmp.Diff(want, p.claims); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
}

func (p *plant) wantRecords(t *testing.T, want ...record) {
	t.Helper()
	if diff := cmp.Diff(want, p.records); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

const ms = time.Millisecond

func TestNoMorePiecesInWorkThanHands(t *testing.T) {
	t.Parallel()
	for _, hands := range []int{1, 2, 3, 8} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlant(hands, 0, make([]time.Duration, 30)...)
			for i := range p.queue {
				p.queue[i] = time.Duration(i+1) * second
			}
			for p.step(t.Context(), t) {
			}
			p.pump.Settle()
			if p.busiest != hands {
				t.Errorf("%d pieces in work, want %d", p.busiest, hands)
			}
			if p.recorded() != 30 {
				t.Errorf("%d results recorded, want 30", p.recorded())
			}
		})
	}
}

func TestPieceThatHangsHoldsItsOwnHandOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(2, 0, time.Hour, second, second, second)
		for p.step(t.Context(), t) {
		}
		p.pump.Settle()
		p.wantClaims(t, claim{0, 2}, claim{second, 1}, claim{2 * second, 1}, claim{3 * second, 1})
		p.wantRecords(
			t,
			record{second, []time.Duration{second}},
			record{2 * second, []time.Duration{second}},
			record{3 * second, []time.Duration{second}},
			record{time.Hour, []time.Duration{time.Hour}},
		)
	})
}

func TestResultsThatComeDuringARecordAreOneGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(5, 5*second, second, 2*second, 3*second, 4*second, 8*second)
		p.step(t.Context(), t)
		p.pump.Settle()
		p.wantRecords(
			t,
			record{second, []time.Duration{second}},
			record{6 * second, []time.Duration{2 * second, 3 * second, 4 * second}},
			record{11 * second, []time.Duration{8 * second}},
		)
		if settled := time.Since(p.start); settled != 16*second {
			t.Errorf("settled after %v, want 16s: with the end of the last record", settled)
		}
	})
}

func TestHandIsFreeOnlyWhenItsResultIsRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(1, 3*second, second, second)
		p.step(t.Context(), t)
		p.step(t.Context(), t)
		p.wantClaims(t, claim{0, 1}, claim{4 * second, 1})
		p.pump.Settle()
	})
}

func TestClaimWaitsForHalfOfTheHands(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pieces []time.Duration // one for each hand
		want   claim           // the one after them
	}{
		"until half are free":       {[]time.Duration{second, second + 20*ms, second + 30*ms, time.Hour}, claim{second + 20*ms, 2}},
		"half of an odd number":     {[]time.Duration{second, second + 20*ms, time.Hour}, claim{second + 20*ms, 2}},
		"50 ms and no longer":       {[]time.Duration{second, second + 20*ms, second + 60*ms, time.Hour, time.Hour, time.Hour}, claim{second + 50*ms, 2}},
		"not at all with two hands": {[]time.Duration{second, time.Hour}, claim{second, 1}},
		"not at all with one hand":  {[]time.Duration{second}, claim{second, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPlant(len(test.pieces), 0, test.pieces...)
				p.step(t.Context(), t)
				p.step(t.Context(), t)
				p.wantClaims(t, claim{0, len(test.pieces)}, test.want)
				p.pump.Settle()
			})
		})
	}
}

func TestClaimIsAtOnceForAllHandsWhenAllAreFree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(4, 0, second, second, second, second)
		p.step(t.Context(), t)
		p.pump.Settle()
		p.step(t.Context(), t)
		p.wantClaims(t, claim{0, 4}, claim{second, 4})
	})
}

func TestStepTellsWhetherThereMayBeMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(2, 0, second, second, second)
		got := []bool{}
		for range 3 {
			got = append(got, p.step(t.Context(), t))
			p.pump.Settle()
		}
		if diff := cmp.Diff([]bool{true, false, false}, got); diff != "" {
			t.Errorf("more, of a full, a partial and an empty claim (-want +got):\n%s", diff)
		}
	})
}

func TestClaimThatFailsFreesItsHands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(3, 0, second, second, second)
		working := p.pump.do.Claim
		p.pump.do.Claim = func(context.Context, int) ([]time.Duration, error) { return nil, errRefused }
		for range 4 {
			if more, err := p.pump.Step(t.Context()); more || !errors.Is(err, errRefused) {
				t.Errorf("Step = %v, %v, want the error of the claim", more, err)
			}
		}
		p.pump.do.Claim = working
		p.step(t.Context(), t)
		p.pump.Settle()
		p.wantClaims(t, claim{0, 3})
	})
}

func TestClaimOfTooManyPiecesKeepsToTheHands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(2, 0)
		p.pump.do.Claim = func(context.Context, int) ([]time.Duration, error) {
			return []time.Duration{second, second, second, second, second}, nil
		}
		for range 3 {
			if !p.step(t.Context(), t) {
				t.Error("Step knows of no more, want more after a full claim")
			}
			p.pump.Settle()
		}
		if p.busiest != 2 || p.recorded() != 15 || len(p.pump.free) != 2 {
			t.Errorf("%d in work, %d recorded, %d hands free; want 2, 15, 2", p.busiest, p.recorded(), len(p.pump.free))
		}
	})
}

func TestNothingIsClaimedOnceContextHasEnded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		busy []time.Duration // what the four hands do
		end  time.Duration
	}{
		"with all hands free":       {[]time.Duration{}, 0},
		"with half of them free":    {[]time.Duration{time.Hour, time.Hour}, 0},
		"while it waits for a hand": {[]time.Duration{time.Hour, time.Hour, time.Hour, time.Hour}, second},
		"while it gathers hands":    {[]time.Duration{second, time.Hour, time.Hour, time.Hour}, second + 10*ms},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPlant(4, 0, test.busy...)
				p.step(t.Context(), t)
				ctx, end := context.WithTimeout(t.Context(), test.end)
				defer end()
				// Free hands and the end of ctx are both ready: any of them may be seen first.
				for range 50 {
					p.step(ctx, t)
				}
				if len(p.claims) != 1 || time.Since(p.start) != test.end {
					t.Errorf("claims %v after %v, want none but the first and %v", p.claims, time.Since(p.start), test.end)
				}
				p.pump.Settle()
				if free := len(p.pump.free); free != 4 {
					t.Errorf("%d hands free in the end, want 4", free)
				}
			})
		})
	}
}

func TestWorkAndRecordGetTheContextOfTheStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		var atWork, atRecord error
		p := newPlant(1, 0, second)
		p.pump.do.Work = func(ctx context.Context, piece time.Duration) time.Duration {
			<-ctx.Done()
			atWork = ctx.Err()
			return piece
		}
		p.pump.do.Record = func(ctx context.Context, _ []time.Duration) []time.Duration { atRecord = ctx.Err(); return nil }
		p.step(ctx, t)
		end()
		p.pump.Settle()
		if atWork == nil || atRecord == nil {
			t.Errorf("work saw %v, record saw %v, want the end of the step's context", atWork, atRecord)
		}
	})
}

func TestPanicOfRecordKeepsItsMessage(t *testing.T) {
	t.Parallel()
	p := newPlant(1, 0)
	p.pump.do.Record = func(context.Context, []time.Duration) []time.Duration { panic("record is broken") }
	defer func() {
		if got := recover(); got != "record is broken" {
			t.Errorf("recovered %v, want the panic of Record", got)
		}
	}()
	p.pump.finish(t.Context(), second)
}

func TestEverythingClaimedIsRecordedWhenALoopHasStoppedAndSettled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(4, 100*ms)
		for i := range 1000 {
			p.queue = append(p.queue, time.Duration(i%7+1)*100*ms)
		}
		ctx, end := context.WithTimeout(t.Context(), 10*second)
		defer end()
		Loop{Name: "test", Logger: slog.New(slog.DiscardHandler), Step: func(ctx context.Context) (time.Duration, error) {
			_, err := p.pump.Step(ctx)
			return 0, err
		}}.Run(ctx)
		stopped := time.Since(p.start)
		p.pump.Settle()
		claimed := 1000 - len(p.queue)
		if stopped != 10*second || claimed == 0 || claimed == 1000 || p.recorded() != claimed {
			t.Errorf("stopped after %v with %d claimed and %d recorded, want 10s and as many", stopped, claimed, p.recorded())
		}
	})
}

func TestWhatIsRecordedLaterHoldsItsHandAndNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(2, 0, 1, 2, 3)
		p.later = []time.Duration{1}
		p.step(t.Context(), t) // 1 and 2; 1 is put off
		p.step(t.Context(), t) // 3, with the hand of 2
		p.pump.Settle()
		last := p.records[len(p.records)-1]
		if diff := cmp.Diff([]time.Duration{1}, last.Results); diff != "" || last.At < again || p.recorded() != 4 {
			t.Errorf("recorded %d, last %+v", p.recorded(), last)
		}
		if got := p.claims[1]; got.Limit != 1 || got.At >= again {
			t.Errorf("the second claim was %+v, want one piece before the second", got)
		}
	})
}

func TestAStopHandsInAtOnceWhatIsRecordedLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := newPlant(1, 0, 1)
		p.later = []time.Duration{1}
		p.step(ctx, t)
		synctest.Wait()
		cancel()
		p.pump.Settle()
		if p.recorded() != 2 || time.Since(p.start) >= again {
			t.Errorf("%d records after %v, want the second one at once", p.recorded(), time.Since(p.start))
		}
	})
}
