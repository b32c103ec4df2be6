package authn

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"sperrd/internal/authn/authntest"
)

func (b *bench) unknown(t *testing.T) string {
	t.Helper()
	return b.issuer.Sign(t, b.issuer.Key(), map[string]any{"kid": rand.Text()}, b.issuer.Claims(nil))
}

func TestAuthenticate_without_keys_is_unavailable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.authn.Authenticate(t.Context(), b.issuer.Token(t, nil))
	if !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUnauthenticated) {
		t.Errorf("error %v", err)
	}
	b.mustRefuse(t, "no token", "") // which no key would make good
	if got := b.issuer.Discoveries(); got != 0 {
		t.Errorf("%d requests to the provider", got)
	}
}

func TestRun_recovers_from_a_provider_that_is_down_at_first(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.issuer.SetDown(true)
	b.start(t)
	line := b.lines.await(t, "keys of the OIDC provider could not be fetched")
	if line["level"] != "WARN" || line["issuer"] != b.issuer.URL() || line["keys"] != "0" || !strings.Contains(line["reason"], "EOF") {
		t.Errorf("line %v", line)
	}
	token := b.issuer.Token(t, nil)
	if _, err := b.authn.Authenticate(t.Context(), token); !errors.Is(err, ErrUnavailable) {
		t.Errorf("error %v", err)
	}
	b.issuer.SetDown(false)
	line = b.lines.await(t, "keys of the OIDC provider fetched")
	if line["level"] != "INFO" || line["issuer"] != b.issuer.URL() || line["audience"] != "sperrd" || line["keys"] != "1" || line["hint"] != mapperHint {
		t.Errorf("line %v", line)
	}
	b.mustPass(t, token)
}

func TestRun_a_rotated_key_is_known_within_one_request(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run(t)
	old := b.issuer.Token(t, nil)
	for range 3 { // a fetch that brings a key delays no other
		b.issuer.Rotate(t)
		b.mustPass(t, b.issuer.Token(t, nil))
	}
	if fetches, discoveries := b.issuer.KeyFetches(), b.issuer.Discoveries(); fetches != 4 || discoveries != 1 {
		t.Errorf("%d fetches of the keys and %d of the discovery document", fetches, discoveries)
	}
	b.mustRefuse(t, old, "the provider was asked for new ones")
}

func TestRun_nodes_of_a_provider_that_disagree_cause_no_storm(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run(t)
	one := b.issuer.Key()
	other := b.issuer.Rotate(t)
	sets := [][]byte{keySetOf(t, other.JWK()), keySetOf(t, one.JWK())}
	for i := range 100 {
		b.issuer.SetKeySet(sets[i%2])
		_, _ = b.authn.Authenticate(t.Context(), b.unknown(t))
	}
	// One at the start, one that shows the other node, one that shows nothing new.
	if got := b.issuer.KeyFetches(); got > 4 {
		t.Errorf("%d fetches", got)
	}
}

func TestRun_requests_for_a_new_key_share_one_fetch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run(t)
	b.issuer.Rotate(t)
	hold := b.issuer.Hang(authntest.KeySet)
	var requests sync.WaitGroup
	token := b.issuer.Token(t, nil)
	for range 100 {
		requests.Go(func() {
			if _, err := b.authn.Authenticate(t.Context(), token); err != nil {
				t.Error(err)
			}
		})
	}
	<-hold.Reached()
	hold.Release()
	requests.Wait()
	if got := b.issuer.KeyFetches(); got != 2 {
		t.Errorf("%d fetches", got)
	}
}

func TestRun_a_storm_of_unknown_keys_comes_to_nothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run(t)
	var tokens []string
	for range 1000 {
		tokens = append(tokens, b.unknown(t))
	}
	var requests sync.WaitGroup
	for _, token := range tokens {
		requests.Go(func() {
			if _, err := b.authn.Authenticate(t.Context(), token); !errors.Is(err, ErrUnauthenticated) {
				t.Errorf("error %v", err)
			}
		})
	}
	requests.Wait()
	// The first, one for all who asked, and perhaps one more for those who came late.
	stormed := b.issuer.KeyFetches()
	if stormed > 3 {
		t.Errorf("%d fetches", stormed)
	}

	// Nobody waits for a fetch that is not to be: this one would never end.
	hold := b.issuer.Hang(authntest.KeySet)
	b.mustRefuse(t, tokens[0], "asked for new ones a moment ago, and is again in 5s")
	b.issuer.Rotate(t)
	rotated := b.issuer.Token(t, nil)
	b.advance(4 * time.Second)
	b.mustRefuse(t, rotated, "is again in 1s")
	hold.Release()
	b.advance(time.Second)
	b.mustPass(t, rotated)
	if got := b.issuer.KeyFetches(); got != stormed+1 {
		t.Errorf("%d fetches after the storm", got-stormed)
	}
}

func TestRun_a_failed_fetch_is_logged_and_bounded_too(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run(t)
	b.issuer.Answer(authntest.KeySet, 500)
	b.mustRefuse(t, b.unknown(t), "the provider was asked for new ones, but could not say")
	line := b.lines.await(t, "keys of the OIDC provider could not be fetched")
	if line["keys"] != "1" || !strings.Contains(line["reason"], "500") {
		t.Errorf("line %v", line)
	}
	b.mustRefuse(t, b.unknown(t), "is again in 5s")
	b.mustPass(t, b.issuer.Token(t, nil))

	b.issuer.Answer(authntest.KeySet, 0)
	b.advance(5 * time.Second)
	b.mustRefuse(t, b.unknown(t), "the provider was asked for new ones")
	b.lines.await(t, "keys of the OIDC provider fetched")
}

func TestRun_end_leaves_nobody_waiting(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	stop := b.start(t)
	b.lines.await(t, "keys of the OIDC provider fetched")
	hold := b.issuer.Hang(authntest.KeySet)
	refused, token := make(chan error), b.unknown(t)
	go func() {
		_, err := b.authn.Authenticate(context.Background(), token)
		refused <- err
	}()
	<-hold.Reached()
	stop() // in the midst of a fetch
	if err := <-refused; !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("error %v", err)
	}
	b.mustRefuse(t, b.unknown(t), "nobody fetches new ones")
	if len(b.lines) > 0 {
		t.Error("the end was logged as a failure")
	}
}

func TestDemand_the_end_of_Run_ends_every_wait(t *testing.T) {
	t.Parallel()
	now := newClock().Now()
	d := newDemand()
	d.serve(true)
	ended, _, _ := d.ask(now, false)
	if other, _, _ := d.ask(now, false); other != ended {
		t.Error("not one fetch for both")
	}
	d.serve(false)
	<-ended.ended
	if ended, _, refusal := d.ask(now, false); ended != nil || refusal != "nobody fetches new ones" {
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
	first, late, _ := d.ask(now, false)
	if second, other, _ := d.ask(now, false); second != first || late || other {
		t.Error("a fetch that has not begun is not shared as one that answers the question")
	}
	<-d.wake
	d.begin()
	if second, late, _ := d.ask(now, false); second != first || !late {
		t.Error("who asks while it is under way is not told to be late")
	}
	d.end(now, false, nil)
	if ended, _, _ := d.ask(now, false); ended != nil {
		t.Error("who was not late gets another fetch at once")
	}
	more, late, refusal := d.ask(now, true)
	if same, _, _ := d.ask(now, true); more == nil || same != more || late || refusal != "" {
		t.Fatalf("who was late gets no fetch, or not one for all: %q", refusal)
	}
	<-d.wake
	d.begin()
	d.end(now, false, nil)
	if ended, _, refusal := d.ask(now, true); ended != nil || !strings.Contains(refusal, "again in 5s") {
		t.Errorf("a second fetch more: %q", refusal)
	}
	if got, want := fmt.Sprint(stormOf(d, now, time.Minute, false)), "[5 15 30 45]"; got != want {
		t.Errorf("it lengthens the pauses: fetches at %s, want %s", got, want)
	}
}

// stormOf asks each second and returns when there was a fetch, in seconds.
func stormOf(d *demand, start time.Time, duration time.Duration, news bool) (fetches []int) {
	for s := range int(duration / time.Second) {
		now := start.Add(time.Duration(s) * time.Second)
		if ended, _, _ := d.ask(now, false); ended != nil {
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
