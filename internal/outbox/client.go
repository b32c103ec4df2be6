package outbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"

	"sperrd/internal/httpclient"
	"sperrd/internal/telemetry"
	"sperrd/internal/webhook"
)

// maxAnswer bounds what is read of an answer, in bytes. Nothing in it matters but the
// beginning, for the operator.
const maxAnswer = 64 << 10

// Client delivers events to one ERP. It is safe for concurrent use.
type Client struct {
	url       string
	signer    *webhook.Signer
	timeout   time.Duration
	transport *http.Transport
	now       func() time.Time
	redact    func(string) string
}

// NewClient returns a client of the ERP at url, an http or https URL that may have a
// path and a query but no user and no fragment. Deliveries are signed with secret, see
// [webhook.NewSigner]. One that has no answer after timeout, connecting included, has
// failed. now is the clock of the signatures. No error of NewClient contains the URL
// or the secret: either may be what lets somebody in.
func NewClient(rawURL, secret string, timeout time.Duration, now func() time.Time) (*Client, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, errors.New("ERP webhook URL cannot be parsed") // the cause quotes it
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("ERP webhook URL must begin with http:// or https://")
	case u.Hostname() == "":
		return nil, errors.New("ERP webhook URL names no host")
	case u.User != nil || u.Fragment != "":
		return nil, errors.New("ERP webhook URL must not have a user or a fragment")
	case timeout <= 0:
		return nil, fmt.Errorf("ERP timeout must be positive, is %v", timeout)
	}
	signer, err := webhook.NewSigner(secret)
	if err != nil {
		return nil, fmt.Errorf("ERP: %w", err)
	}
	return &Client{
		url: u.String(), signer: signer, timeout: timeout,
		transport: httpclient.NewTransport(), now: now, redact: newRedactor(u, secret),
	}, nil
}

// Close closes the idle connections. Deliveries that are under way finish.
func (c *Client) Close() {
	c.transport.CloseIdleConnections()
}

// deliver sends the event once. Only a 2xx is success; everything else is a failure.
func (c *Client) deliver(ctx context.Context, eventID string, envelope []byte) *failure {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := c.request(ctx, eventID, envelope)
	if err != nil {
		return &failure{code: "not_sent", text: "the request cannot be built"}
	}
	// The transport is called directly: an http.Client on top would follow redirects,
	// and quote the URL in its errors.
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return c.transportFailure(err)
	}
	defer resp.Body.Close()
	var body []byte
	if resp.StatusCode != http.StatusSwitchingProtocols { // its body is the connection, which may never end
		// What broke off is good enough to quote, and a status counts without its body.
		body, _ = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	}
	if resp.StatusCode/100 == 2 {
		return nil
	}
	return c.refusal(resp, body)
}

// request builds one delivery. The id and the bytes are the same each time; the rest
// is of this delivery alone.
func (c *Client) request(ctx context.Context, eventID string, envelope []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(envelope))
	if err != nil {
		return nil, err
	}
	req.GetBody = nil // without it the transport cannot repeat a request by itself
	now := c.now()
	req.Header = c.signer.Sign(eventID, now, envelope)
	req.Header.Set("Content-Type", event.ApplicationCloudEventsJSON)
	req.Header.Set("User-Agent", "sperrd")
	httpclient.SetTransaction(req.Header, uuid.NewString(), now)
	telemetry.ToHeader(ctx, req.Header)
	return req, nil
}
