package makod

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"

	"sperrd/internal/makod/makodtest"
)

const (
	apiKey    = "makod-key-0001"
	maloID    = "51238696012"
	processID = "0b7c1e2a-1111-4000-8000-000000000001"
	orderKey  = "sperrd-iftsta-6a0f6f0e-9c55-4b0e-8a0e-2f3d9f6f1b11"
)

// patience is far longer than any answer on the loopback takes.
const patience = 20 * time.Second

// newMakod starts a simulated makod with one open process and a client of it.
func newMakod(t *testing.T) (*makodtest.Server, *Client) {
	t.Helper()
	srv := makodtest.New(makodtest.Options{APIKey: apiKey})
	spawn(t, srv)
	return srv, newClient(t, srv.Start(t))
}

func spawn(t *testing.T, srv *makodtest.Server) {
	t.Helper()
	if _, err := srv.Spawn(makodtest.Process{ID: processID, MaloID: maloID, PID: 17115}); err != nil {
		t.Fatal(err)
	}
}

func newClient(t *testing.T, url string) *Client {
	t.Helper()
	c, err := NewClient(url, apiKey, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// clientOf returns a client of a server that answers by hand.
func clientOf(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	ts := httptest.NewServer(handler)
	t.Cleanup(ts.Close)
	return newClient(t, ts.URL)
}

// bestaetigen returns a first attempt.
func bestaetigen() Command {
	return Command{
		Name: CommandBestaetigen, Marktrolle: MarktrolleNB, IdempotencyKey: orderKey, TransactionID: uuid.NewString(),
		Payload: map[string]any{"malo_id": maloID, "note": "TW-2026-0903-001"},
	}
}

// mustFail returns the *Error that a call has to end with.
func mustFail(t *testing.T, err error) *Error {
	t.Helper()
	var failure *Error
	if !errors.As(err, &failure) {
		t.Fatalf("error is %v (%T), want an *Error", err, err)
	}
	return failure
}
