package authn

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sperrd/internal/authn/authntest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is set by hand.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 9, 1, 8, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// bench is a provider and who asks it, both by the same clock.
type bench struct {
	*clock
	issuer *authntest.Issuer
	authn  *Authenticator
	lines  lines
}

// newBench has asked nobody yet.
func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{clock: newClock(), issuer: authntest.Start(t), lines: make(lines, 100)}
	b.issuer.Now = b.Now
	b.authn = New(Options{
		Issuer: b.issuer.URL(), Audience: authntest.Audience, Now: b.Now, Logger: slog.New(b.lines),
	})
	return b
}

// newWith asks a provider over a transport of the test's own.
func newWith(issuer string, transport http.RoundTripper) *Authenticator {
	a := New(Options{Issuer: issuer, Audience: authntest.Audience})
	a.client = newClient(transport)
	return a
}

// newReadyBench knows the keys.
func newReadyBench(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.refresh(t)
	return b
}

func (b *bench) refresh(t *testing.T) {
	t.Helper()
	if err := b.authn.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// run lets Run do its work until the test ends, and waits for its first fetch.
func (b *bench) run(t *testing.T) {
	t.Helper()
	b.start(t)
	b.lines.await(t, "keys of the OIDC provider fetched")
}

// start does the same, but waits for nothing.
func (b *bench) start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.authn.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(stop)
	return stop
}

func (b *bench) mustPass(t *testing.T, token string) Claims {
	t.Helper()
	claims, err := b.authn.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	return claims
}

// mustRefuse expects a reason that contains the text and nothing of the token.
func (b *bench) mustRefuse(t *testing.T, token, reason string) {
	t.Helper()
	_ = b.refusal(t, token, reason)
}

// refusal is the same for those who want to know more.
func (b *bench) refusal(t *testing.T, token, reason string) *TokenError {
	t.Helper()
	claims, err := b.authn.Authenticate(t.Context(), token)
	var refused *TokenError
	if !errors.As(err, &refused) || !errors.Is(err, ErrUnauthenticated) || errors.Is(err, ErrUnavailable) {
		t.Fatalf("claims %+v, error %v; want a TokenError", claims, err)
	}
	if claims.Subject != "" || claims.Tenant != "" || claims.Roles != nil {
		t.Errorf("a refused token has the claims %+v", claims)
	}
	if !strings.Contains(err.Error(), reason) {
		t.Errorf("the reason %q does not say %q", err, reason)
	}
	for part := range strings.SplitSeq(token, ".") {
		if len(part) > 20 && strings.Contains(err.Error(), part[:20]) {
			t.Errorf("the reason %q holds a part of the token", err)
		}
	}
	return refused
}

// lines is a log that a test can wait for.
type lines chan slog.Record

func (l lines) Enabled(context.Context, slog.Level) bool { return true }
func (l lines) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l lines) WithGroup(string) slog.Handler            { return l }

func (l lines) Handle(_ context.Context, r slog.Record) error {
	l <- r.Clone()
	return nil
}

// await returns the attributes of the next line, which must have this message.
func (l lines) await(t *testing.T, message string) map[string]string {
	t.Helper()
	select {
	case r := <-l:
		attributes := map[string]string{"level": r.Level.String()}
		r.Attrs(func(a slog.Attr) bool {
			attributes[a.Key] = a.Value.String()
			return true
		})
		if r.Message != message {
			t.Fatalf("the line %q %v; want %q", r.Message, attributes, message)
		}
		return attributes
	case <-time.After(20 * time.Second):
		t.Fatalf("no line %q", message)
	}
	return nil
}
