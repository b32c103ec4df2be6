package makodtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// deliveryTimeout is makod's own for one delivery.
const deliveryTimeout = 30 * time.Second

// maxDeliveryAnswer bounds what is read of the receiver's answer, in bytes.
const maxDeliveryAnswer = 1 << 20

// Deliver posts one CloudEvent in structured mode, once, as makod delivers
// de.mako.process.initiated. Header carries the signature of the caller, and may
// replace the content type. It returns the receiver's status and body; a
// redirect is not followed but returned.
func (s *Server) Deliver(ctx context.Context, target string, event []byte, header http.Header) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(event))
	if err != nil {
		return 0, nil, fmt.Errorf("deliver an event: %w", err)
	}
	// The key below makes net/http repeat the request when a connection breaks;
	// one call is to be one delivery.
	req.GetBody = nil
	var envelope struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(event, &envelope) // tests deliver broken events too
	req.Header.Set("Content-Type", "application/cloudevents+json")
	if envelope.ID != "" {
		req.Header.Set("X-Idempotency-Key", envelope.ID)
	}
	for name, values := range header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}

	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return 0, nil, fmt.Errorf("deliver an event: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDeliveryAnswer))
	if err != nil {
		return resp.StatusCode, body, fmt.Errorf("read the answer to an event: %w", err)
	}
	return resp.StatusCode, body, nil
}
