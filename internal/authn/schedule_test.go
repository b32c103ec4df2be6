package authn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"sperrd/internal/authn/authntest"
)

// roundTripper stands where no network can: among clocks that are not real.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// attempts runs Run for a while and returns when it asked the provider, in seconds
// from the start. keys says whether some are known already.
func attempts(t *testing.T, duration time.Duration, keys bool, answer roundTripper) []int {
	t.Helper()
	start := time.Now()
	var asked []int
	a := newWith("https://idp.example", roundTripper(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, int(time.Since(start).Seconds()))
		return answer(r)
	}))
	if keys {
		a.keys.Store(&keySet{count: 1})
	}
	ctx, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()
	a.Run(ctx)
	return asked
}

func down(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }

func hanging(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestRun_retries_a_provider_that_fails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keys   bool // those of five minutes ago
		while  time.Duration
		answer roundTripper
		want   string
	}{
		"quickly at first while there are no keys": {false, 100 * time.Second, down, "[0 1 3 7 15 31 61 91]"},
		"every 30 s while the old keys do":         {true, 400 * time.Second, down, "[300 330 360 390]"},
		"after 10 s without an answer":             {true, 400 * time.Second, hanging, "[300 340 380]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if got := fmt.Sprint(attempts(t, c.while, c.keys, c.answer)); got != c.want {
					t.Errorf("asked at %s, want %s", got, c.want)
				}
			})
		})
	}
}

// healthy serves both documents, with one key.
func healthy(t *testing.T) roundTripper {
	keys := keySetOf(t, authntest.NewKey(t, "ES256").JWK())
	return func(r *http.Request) (*http.Response, error) {
		body := keys
		if r.URL.Path != "/keys" {
			body = []byte(`{"issuer":"https://idp.example","jwks_uri":"https://idp.example/keys"}`)
		}
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
	}
}

func TestRun_refreshes_every_five_minutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got := attempts(t, 11*time.Minute, false, healthy(t))
		if want := "[0 0 300 300 600 600]"; fmt.Sprint(got) != want {
			t.Errorf("asked at %v, want %s", got, want)
		}
	})
}

func TestAuthenticate_waits_for_a_key_no_longer_than_it_may(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ patience, want time.Duration }{
		"the request ends": {3 * time.Second, 3 * time.Second},
		"the longest wait": {time.Hour, LongestWait},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := newWith("https://idp.example", roundTripper(healthy(t)))
				if err := a.Refresh(t.Context()); err != nil {
					t.Fatal(err)
				}
				a.client = newClient(roundTripper(hanging))
				go a.Run(t.Context())
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), c.patience)
				defer cancel()
				start := time.Now()
				_, err := a.keysFor(ctx, "unknown")
				if took := time.Since(start); err == nil || took != c.want {
					t.Errorf("error %v after %s", err, took)
				}
			})
		})
	}
}
