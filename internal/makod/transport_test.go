package makod

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sperrd/internal/makod/makodtest"
)

func TestSubmit_timeout_is_unclear(t *testing.T) {
	t.Parallel()
	srv, _ := newMakod(t)
	c, err := NewClient(srv.Start(t), apiKey, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	srv.FailNext(1, makodtest.Hang())
	_, err = c.Submit(t.Context(), bestaetigen())
	e := mustFail(t, err)
	if e.Code != CodeTimeout || !e.Unclear() || e.Postponed() || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, unclear %v", e, e.Unclear())
	}
}

func TestSubmit_canceled_while_makod_works_is_unclear(t *testing.T) {
	t.Parallel()
	srv, c := newMakod(t)
	gate := srv.Hold()
	defer gate.Release()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_ = gate.Wait(t.Context(), 1)
		cancel()
	}()
	_, err := c.Submit(ctx, bestaetigen())
	if e := mustFail(t, err); e.Code != CodeCanceled || !e.Unclear() || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, unclear %v", e, e.Unclear())
	}
}

func TestSubmit_canceled_for_a_reason_keeps_both(t *testing.T) {
	t.Parallel()
	_, c := newMakod(t)
	reason := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	_, err := c.Submit(ctx, bestaetigen())
	if e := mustFail(t, err); e.Code != CodeCanceled || !errors.Is(err, context.Canceled) || !errors.Is(err, reason) {
		t.Errorf("%v (%s)", e, e.Code)
	}
}

func TestSubmit_canceled_before_it_begins_is_clear(t *testing.T) {
	t.Parallel()
	srv, c := newMakod(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Submit(ctx, bestaetigen())
	if e := mustFail(t, err); e.Code != CodeCanceled || e.Unclear() {
		t.Errorf("%v, unclear %v", e, e.Unclear())
	}
	if n := len(srv.Requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestSubmit_refused_connection_is_clear(t *testing.T) {
	t.Parallel()
	ts := httptest.NewServer(http.NotFoundHandler())
	ts.Close()
	c := newClient(t, ts.URL)
	_, err := c.Submit(t.Context(), bestaetigen())
	if e := mustFail(t, err); e.Code != CodeUnreachable || e.Unclear() || e.Status != 0 || !strings.HasPrefix(e.Text(), "unreachable: dial tcp") {
		t.Errorf("%v, unclear %v", e, e.Unclear())
	}
	if err := c.Ping(t.Context()); mustFail(t, err).Code != CodeUnreachable {
		t.Errorf("ping: %v", err)
	}
}

func TestSubmit_failed_handshake_is_clear(t *testing.T) {
	t.Parallel()
	reached := false
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true })
	unknownCA := httptest.NewUnstartedServer(handler)
	unknownCA.Config.ErrorLog = quiet
	unknownCA.StartTLS()
	defer unknownCA.Close()
	plain := httptest.NewServer(handler)
	defer plain.Close()
	for _, url := range []string{unknownCA.URL, "https" + strings.TrimPrefix(plain.URL, "http")} {
		_, err := newClient(t, url).Submit(t.Context(), bestaetigen())
		if e := mustFail(t, err); e.Code != CodeUnreachable || e.Unclear() {
			t.Errorf("%v, unclear %v", e, e.Unclear())
		}
	}
	if reached {
		t.Error("a request arrived")
	}
}

func TestSubmit_works_over_TLS_and_knows_what_was_sent(t *testing.T) {
	t.Parallel()
	srv, _ := newMakod(t)
	ts := httptest.NewTLSServer(srv)
	defer ts.Close()
	c := newClient(t, ts.URL)
	c.transport.TLSClientConfig.RootCAs = ts.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	if _, err := c.Submit(t.Context(), bestaetigen()); err != nil {
		t.Fatal(err)
	}
	srv.FailNext(1, makodtest.Drop())
	_, err := c.Submit(t.Context(), bestaetigen())
	if e := mustFail(t, err); e.Code != CodeConnectionLost || !e.Unclear() {
		t.Errorf("%v, unclear %v", e, e.Unclear())
	}
}

func TestSubmit_write_that_never_left_is_clear(t *testing.T) {
	t.Parallel()
	srv, c := newMakod(t)
	var deaf atomic.Bool
	dial := c.transport.DialContext
	c.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		counted := conn.(*countedConn)
		counted.Conn = deafConn{counted.Conn, &deaf}
		return counted, nil
	}
	// The first command leaves a connection that has written before.
	if _, err := c.Submit(t.Context(), bestaetigen()); err != nil {
		t.Fatal(err)
	}
	deaf.Store(true)
	_, err := c.Submit(t.Context(), bestaetigen())
	if e := mustFail(t, err); e.Code != CodeUnreachable || e.Unclear() || !errors.Is(err, errDeaf) {
		t.Errorf("%v, unclear %v", e, e.Unclear())
	}
	if n := len(srv.Requests()); n != 1 {
		t.Errorf("%d requests arrived, want the first only", n)
	}
}

var errDeaf = errors.New("nothing can be written")

// deafConn is a connection that breaks at the first write once it is deaf.
type deafConn struct {
	net.Conn
	deaf *atomic.Bool
}

func (c deafConn) Write(p []byte) (int, error) {
	if c.deaf.Load() {
		return 0, errDeaf
	}
	return c.Conn.Write(p)
}

func TestWire_is_in_doubt_when_the_context_ends_with_a_connection(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	w := new(wire)
	if w.mayHaveSent(ended) {
		t.Error("in doubt without a connection")
	}
	w.gotConn(httptrace.GotConnInfo{Conn: &countedConn{}})
	if w.mayHaveSent(t.Context()) {
		t.Error("in doubt although nothing was written")
	}
	if !w.mayHaveSent(ended) {
		t.Error("sure although a write may be under way")
	}
}

func TestSubmit_reads_a_bounded_answer(t *testing.T) {
	t.Parallel()
	c := clientOf(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		blank := make([]byte, 64<<10)
		for i := range blank {
			blank[i] = ' '
		}
		for {
			if _, err := w.Write(blank); err != nil {
				return // the client has enough
			}
		}
	})
	_, err := c.Submit(t.Context(), bestaetigen())
	if e := mustFail(t, err); e.Code != CodeUndecodableAnswer || !e.Unclear() {
		t.Errorf("%v, unclear %v", e, e.Unclear())
	}
}

func TestSubmit_does_not_wait_for_a_connection_that_changes_its_protocol(t *testing.T) {
	t.Parallel()
	given := make(chan struct{})
	c := clientOf(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "something")
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		<-given // keeps the connection open for longer than the client has patience
	})
	ended := make(chan *Error, 1)
	go func() {
		_, err := c.Submit(t.Context(), bestaetigen())
		failure, _ := errors.AsType[*Error](err)
		ended <- failure
	}()
	select {
	case e := <-ended:
		if e == nil || e.Status != http.StatusSwitchingProtocols {
			t.Errorf("error is %v", e)
		}
	case <-time.After(patience / 2):
		t.Error("the client waits for the end of the connection")
	}
	close(given)
}
