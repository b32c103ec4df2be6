package outbox

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sperrd/internal/httpclient"
)

const (
	// maxText is how many characters of an answer are kept.
	maxText = 500
	// minSecret is the length from which a part of the URL counts as a secret that an
	// answer must not repeat: a token is longer, and the words of a path are shorter.
	minSecret = 8
)

// failure is a delivery that the ERP did not take.
type failure struct {
	status int    // 0 without an answer
	code   string // http_503, timeout, connection_failed, not_sent
	text   string // for humans; valid UTF-8 on one line, without URL and secret
	// permanent: the ERP will not take this event ever, however often it comes.
	permanent  bool
	retryAfter time.Duration // the wait it asked for, 0 for none
}

// permanentStatuses say something about the event. Any other, a 401 or 404 too, can
// come from a rotated secret or from an ERP that is just being deployed.
var permanentStatuses = []int{
	http.StatusBadRequest, http.StatusGone, http.StatusRequestEntityTooLarge,
	http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity,
}

// refusal describes an answer that is no success.
func (c *Client) refusal(resp *http.Response, body []byte) *failure {
	status := strconv.Itoa(resp.StatusCode)
	text := strings.TrimSpace(status + " " + http.StatusText(resp.StatusCode))
	if detail := httpclient.Clean(c.redact(string(body)), maxText); detail != "" {
		text = httpclient.Clean(text+": "+detail, maxText)
	}
	return &failure{
		status: resp.StatusCode, code: "http_" + status, text: text,
		permanent:  slices.Contains(permanentStatuses, resp.StatusCode),
		retryAfter: retryAfter(resp.Header.Get("Retry-After"), c.now()),
	}
}

// transportFailure describes a delivery that ended without an answer.
func (c *Client) transportFailure(err error) *failure {
	f := &failure{code: "connection_failed", text: httpclient.Clean(c.redact(err.Error()), maxText)}
	var netErr net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &netErr) && netErr.Timeout() {
		f.code = "timeout"
	}
	return f
}

// retryAfter is [httpclient.RetryAfter], at least one second and at most the longest
// backoff; 0 for no wish at all.
func retryAfter(value string, now time.Time) time.Duration {
	wait, ok := httpclient.RetryAfter(value, now)
	if !ok {
		return 0
	}
	return min(max(wait, time.Second), maxBackoff)
}

// newRedactor returns a function that removes from a text what lets somebody in: the
// secret and whatever of the URL may be a token. Servers quote what they refuse, and
// the text ends in the database and in the log.
func newRedactor(u *url.URL, secret string) func(string) string {
	parts := []string{u.String(), u.RequestURI(), u.RawQuery, u.Path}
	parts = append(parts, strings.Split(u.Path, "/")...)
	parts = append(parts, strings.FieldsFunc(u.RawQuery, func(r rune) bool { return r == '&' || r == '=' })...)
	for _, values := range u.Query() {
		parts = append(parts, values...)
	}
	parts = slices.DeleteFunc(parts, func(part string) bool { return len(part) < minSecret })
	parts = append(parts, secret, strings.TrimPrefix(secret, "whsec_"))
	// The longest first: a part of it that goes before would leave the rest.
	slices.SortFunc(parts, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, part := range parts {
		pairs = append(pairs, part, "[redacted]")
	}
	return strings.NewReplacer(pairs...).Replace
}
