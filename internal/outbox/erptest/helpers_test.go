package erptest

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	secret = "erp-Schlüssel-0001"
	order1 = "7f3a0000-0000-4000-8000-000000000001"
	order2 = "7f3a0000-0000-4000-8000-000000000002"
)

var tuesday = time.Date(2026, 9, 1, 8, 0, 0, 0, time.UTC)

func newServer() *Server {
	return New(Options{Secret: secret, Now: func() time.Time { return tuesday }})
}

// delivery is one request that a test may spoil before it is signed and sent.
type delivery struct {
	id, creation, transaction, contentType string
	at                                     time.Time
	key                                    []byte
	body                                   string
}

// deliver returns a correct delivery of an event about an order.
func deliver(orderID, eventID, eventType string) delivery {
	e := event.New()
	e.SetID(eventID)
	e.SetSource("urn:test")
	e.SetType(eventType)
	_ = e.SetData(event.ApplicationJSON, map[string]string{"order_id": orderID}) // strings only
	body, _ := json.Marshal(e)
	return delivery{
		id: eventID, at: tuesday, key: []byte(secret), body: string(body),
		creation: "2026-09-01T08:00:00.000Z", transaction: uuid.NewString(),
		contentType: "application/cloudevents+json",
	}
}

// header signs by hand, so that the library is not its own witness.
func (d delivery) header() http.Header {
	stamp := strconv.FormatInt(d.at.Unix(), 10)
	mac := hmac.New(sha256.New, d.key)
	fmt.Fprintf(mac, "%s.%s.%s", d.id, stamp, d.body)
	h := http.Header{}
	h.Set("Content-Type", d.contentType)
	h.Set("webhook-id", d.id)
	h.Set("webhook-timestamp", stamp)
	h.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	h.Set("transactionId", d.transaction)
	h.Set("creationDateTime", d.creation)
	return h
}

// post delivers without a network.
func post(s *Server, d delivery) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/any/path", strings.NewReader(d.body))
	r.Header = d.header()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// send delivers through the network, where connections can be cut.
func send(ctx context.Context, url string, d delivery) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/events", strings.NewReader(d.body))
	if err != nil {
		return 0, err
	}
	r.GetBody = nil // one call, one request
	r.Header = d.header()
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

func wantStatus(t *testing.T, w *httptest.ResponseRecorder, status int) {
	t.Helper()
	if w.Code != status {
		t.Errorf("status %d (%s), want %d", w.Code, strings.TrimSpace(w.Body.String()), status)
	}
}
