package authn

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestDemand_the_end_of_Run_ends_every_wait(t *testing.T) {
	t.Parallel()
	now := newClock().Now()
	d := newDemand()
	d.serve(true)
	ended, _, _ := d.ask(now, d.latest(), false)
	if other, _, _ := d.ask(now, d.latest(), false); other != ended {
		t.Error("not one fetch for both")
	}
	d.serve(false)
	<-ended.ended
	if ended, _, refusal := d.ask(now, d.latest(), false); ended != nil || refusal != "nobody fetches new ones" {
		t.Errorf("after the end: %v, %q", ended, refusal)
	}
	d.serve(true)
	if len(d.wake) > 0 {
		t.Error("a fetch is left over that nobody waits for")
	}
}

// The provider answers with its old keys, then rotates, and then the answer arrives.
func TestDemand_who_came_late_gets_one_fetch_more(t *testing.T) {
	t.Parallel()
	now := newClock().Now()
	d := newDemand()
	d.serve(true)
	first, late, _ := d.ask(now, d.latest(), false)
	if second, other, _ := d.ask(now, d.latest(), false); second != first || late || other {
		t.Error("a fetch that has not begun is not shared as one that answers the question")
	}
	<-d.wake
	d.begin()
	if second, late, _ := d.ask(now, d.latest(), false); second != first || !late {
		t.Error("who asks while it is under way is not told to be late")
	}
	d.end(now, false, nil)
	if ended, _, _ := d.ask(now, d.latest(), false); ended != nil {
		t.Error("who was not late gets another fetch at once")
	}
	more, late, refusal := d.ask(now, d.latest(), true)
	if same, _, _ := d.ask(now, d.latest(), true); more == nil || same != more || late || refusal != "" {
		t.Fatalf("who was late gets no fetch, or not one for all: %q", refusal)
	}
	<-d.wake
	d.begin()
	d.end(now, false, nil)
	if ended, _, refusal := d.ask(now, d.latest(), true); ended != nil || !strings.Contains(refusal, "again in 5s") {
		t.Errorf("a second fetch more: %q", refusal)
	}
	if got, want := fmt.Sprint(stormOf(d, now, time.Minute, false)), "[5 15 30 45]"; got != want {
		t.Errorf("it lengthens the pauses: fetches at %s, want %s", got, want)
	}
}

// Between the look at the keys and the question a fetch ends.
func TestDemand_who_looked_before_a_fetch_ended_looks_again(t *testing.T) {
	t.Parallel()
	now := newClock().Now()
	d := newDemand()
	d.serve(true)
	seen := d.latest()
	first, _, _ := d.ask(now, seen, false)
	<-d.wake
	d.begin()
	d.end(now, true, nil)
	again, late, refusal := d.ask(now, seen, false)
	if again != first || !late || refusal != "" {
		t.Errorf("not sent back to the keys: %q", refusal)
	}
	if len(d.wake) != 0 {
		t.Error("another fetch is asked for")
	}
	if f, _, _ := d.ask(now, d.latest(), true); f == nil || f == first {
		t.Error("and whoever finds nothing there either gets no fetch")
	}
}

// stormOf asks each second and returns when there was a fetch, in seconds.
func stormOf(d *demand, start time.Time, duration time.Duration, news bool) (fetches []int) {
	for s := range int(duration / time.Second) {
		now := start.Add(time.Duration(s) * time.Second)
		if ended, _, _ := d.ask(now, d.latest(), false); ended != nil {
			<-d.wake
			d.end(now, news, nil)
			fetches = append(fetches, s)
		}
	}
	return fetches
}

func TestDemand_pauses_grow_up_to_a_quarter_of_a_minute(t *testing.T) {
	t.Parallel()
	start := newClock().Now()
	d := newDemand()
	d.serve(true)
	if got, want := fmt.Sprint(stormOf(d, start, time.Minute, false)), "[0 5 15 30 45]"; got != want {
		t.Errorf("fetches at %s, want %s", got, want)
	}
	// After exactly the longest pause of silence the storm may still go on, after more it is over.
	again := start.Add(59*time.Second + longestPause)
	if got, want := fmt.Sprint(stormOf(d, again, 20*time.Second, false)), "[0 15]"; got != want {
		t.Errorf("after the longest pause: fetches at %s, want %s", got, want)
	}
	again = again.Add(19*time.Second + longestPause + time.Second)
	if got, want := fmt.Sprint(stormOf(d, again, 20*time.Second, false)), "[0 5 15]"; got != want {
		t.Errorf("after more than that: fetches at %s, want %s", got, want)
	}
}

func TestDemand_a_new_key_ends_the_pauses(t *testing.T) {
	t.Parallel()
	start := newClock().Now()
	d := newDemand()
	d.serve(true)
	stormOf(d, start, 30*time.Second, false)
	stormOf(d, start.Add(30*time.Second), time.Second, true)
	if got, want := fmt.Sprint(stormOf(d, start.Add(31*time.Second), 20*time.Second, false)), "[0 5 15]"; got != want {
		t.Errorf("fetches at %s, want %s", got, want)
	}
}
