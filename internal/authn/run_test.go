package authn

import (
	"context"
	"crypto/rand"
	"errors"
	"runtime"
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
	if got := b.issuer.KeyFetches(); got != 3 {
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

// The provider answers with its old keys, then rotates, and then the answer arrives.
func TestRun_a_key_that_is_newer_than_the_fetch_under_way_is_asked_for_again(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run(t)
	hold := b.issuer.Hang(authntest.KeySet)
	stray := b.unknown(t)
	var requests sync.WaitGroup
	requests.Go(func() { b.mustRefuse(t, stray, "the provider was asked for new ones") })
	<-hold.Reached()
	b.issuer.Rotate(t)
	rotated := b.issuer.Token(t, nil)
	b.advance(time.Second)
	requests.Go(func() { b.mustPass(t, rotated) })
	for asked := b.authn.demand.lastAsked; asked() != b.Now(); { // it waits for the old answer
		runtime.Gosched()
	}
	hold.Release()
	requests.Wait()
	if got := b.issuer.KeyFetches(); got != 3 {
		t.Errorf("%d fetches", got)
	}
}

// lastAsked is when somebody wanted a fetch.
func (d *demand) lastAsked() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked
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
