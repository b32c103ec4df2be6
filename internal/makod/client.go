// Package makod is the client of makod's command API. makod runs the market
// processes of the Netzbetreiber; a command tells it how a Sperrung or an
// Entsperrung ended, and makod tells the Lieferant.
//
// One call of [Client.Submit] is at most one request on the wire. The package
// repeats nothing by itself: whether and when a command is sent again is the
// decision of the caller, who counts the attempts. What it does is say exactly
// what is known after a call: accepted, refused, or unclear ([Error.Unclear]).
package makod

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sperrd/internal/httpclient"
)

const (
	commandsPath = "/api/v1/commands"
	livePath     = "/health/live"
)

// Client submits commands to one makod. It is safe for concurrent use.
type Client struct {
	base      string
	apiKey    string
	timeout   time.Duration
	transport *http.Transport
	now       func() time.Time
}

// NewClient returns a client of the makod at baseURL, an http or https URL
// that may have a path but no user, query or fragment; slashes at its end are
// cut. An empty apiKey sends no Authorization header, for a makod without keys.
// A call that has no answer after timeout, connecting included, ends with
// [CodeTimeout]. No error of NewClient contains the URL or the key.
func NewClient(baseURL, apiKey string, timeout time.Duration) (*Client, error) {
	u, err := url.Parse(baseURL)
	if err != nil {
		// The cause quotes the URL, and a URL may carry a password.
		return nil, errors.New("makod URL cannot be parsed")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("makod URL must begin with http:// or https://")
	case u.Hostname() == "":
		return nil, errors.New("makod URL names no host")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("makod URL must not have a user, query or fragment")
	case !isToken(apiKey):
		return nil, errors.New("makod API key must be visible ASCII without spaces")
	case timeout <= 0:
		return nil, fmt.Errorf("makod timeout must be positive, is %v", timeout)
	}
	return &Client{
		base:      strings.TrimRight(u.String(), "/"),
		apiKey:    apiKey,
		timeout:   timeout,
		transport: newTransport(),
		now:       time.Now,
	}, nil
}

// isToken reports whether s can stand in a header as it is; empty can.
func isToken(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// Close closes the idle connections. Calls that are under way finish.
func (c *Client) Close() {
	c.transport.CloseIdleConnections()
}

// Accepted is the answer to a command that makod has carried out.
type Accepted struct {
	// ProcessID is the process the command ran against, a canonical lower-case
	// UUID. makod finds the process by MaLo, so it can be another one than the
	// payload names.
	ProcessID string
	// Duplicate tells that makod answered 409 duplicate_process and named the
	// process that already stands for this command.
	Duplicate bool
}

// Submit sends the command once. Any 2xx with a process id, and 409
// duplicate_process with one, is success; every other end is an *[Error].
func (c *Client) Submit(ctx context.Context, cmd Command) (Accepted, error) {
	body, err := encode(cmd)
	if err != nil {
		return Accepted{}, &Error{Code: CodeInvalidCommand, Detail: httpclient.Clean(err.Error(), maxText), cause: err}
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := c.request(ctx, cmd, body)
	if err != nil {
		return Accepted{}, &Error{Code: CodeInvalidCommand, Detail: "the request cannot be built", cause: err}
	}
	a, failure := c.roundTrip(req)
	if failure != nil {
		return Accepted{}, failure
	}
	return c.read(a)
}

// Ping asks makod whether it is alive. It needs no key and says nothing about
// the validity of ours. The error, if any, is an *[Error].
func (c *Client) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+livePath, nil)
	if err != nil {
		return &Error{Code: CodeUnreachable, Detail: "the request cannot be built", cause: err}
	}
	a, failure := c.roundTrip(req)
	if failure != nil {
		return failure
	}
	if a.status/100 != 2 {
		return c.refusal(a)
	}
	return nil
}
