package makod

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/google/uuid"

	"sperrd/internal/httpclient"
)

// read turns an answer into its meaning.
func (c *Client) read(a answer) (Accepted, error) {
	members := object(a.body)
	id, ok := namedProcess(members)
	switch {
	case a.status/100 == 2 && ok:
		return Accepted{ProcessID: id}, nil
	case a.status/100 == 2:
		// makod says yes but not to what. The command was carried out, or a
		// proxy answered in its place.
		return Accepted{}, &Error{
			Status: a.status, Code: CodeUndecodableAnswer,
			Detail: httpclient.Clean(c.redact(string(a.body)), maxText), unclear: true, cause: a.readErr,
		}
	case a.status == http.StatusConflict && text(members, "error") == codeDuplicateProcess && ok:
		return Accepted{ProcessID: id, Duplicate: true}, nil
	}
	return Accepted{}, c.refusal(a)
}

// refusal describes an answer that is no success. makod's own answers are JSON
// with error and detail; its rate limiter, its framework and proxies in front
// of it answer with plain text or HTML, which then is the detail.
func (c *Client) refusal(a answer) *Error {
	e := &Error{Status: a.status, cause: a.readErr, unclear: mayBeApplied(a.status)}
	e.RetryAfter, e.hasRetryAfter = retryAfter(a.header.Get("Retry-After"), c.now())

	members := object(a.body)
	e.Code = httpclient.Clean(c.redact(text(members, "error")), maxCode)
	if e.Code == "" {
		e.Code = "http_" + strconv.Itoa(a.status)
	}
	detail := text(members, "detail")
	if a.status == http.StatusConflict && e.Code == CodeInvalidState {
		e.Found = foundState(detail)
	}
	if detail == "" && text(members, "error") == "" {
		detail = string(a.body)
	}
	e.Detail = httpclient.Clean(c.redact(detail), maxText)
	return e
}

// mayBeApplied reports whether a command answered with this status may have
// been carried out nevertheless: the answer came from something that gave up
// waiting, or from makod after an unknown part of the work. A 3xx and the other
// 4xx are given before anything is done.
func mayBeApplied(status int) bool {
	return status < 300 || status == http.StatusRequestTimeout || status >= 500
}

// object reads the members of a JSON object, nil if it is none. Members are
// looked at one by one, so that an unexpected type in one spoils no other.
func object(body []byte) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return nil
	}
	return members
}

// text returns the member as text, empty if it is absent or no string.
func text(members map[string]json.RawMessage, name string) string {
	var s string
	if json.Unmarshal(members[name], &s) != nil {
		return ""
	}
	return s
}

// namedProcess returns the process id in canonical form. The nil UUID names no
// process and is none.
func namedProcess(members map[string]json.RawMessage) (string, bool) {
	id, err := uuid.Parse(text(members, "process_id"))
	if err != nil || id == uuid.Nil {
		return "", false
	}
	return id.String(), true
}

var statePattern = regexp.MustCompile(`\bexpected\s+[A-Za-z]\w*,\s+found\s+([A-Za-z]\w*)`)

// foundState returns the state makod found its process in. The words around
// "expected X, found Y" are prose and may change.
func foundState(detail string) string {
	if m := statePattern.FindStringSubmatch(detail); m != nil {
		return m[1]
	}
	return ""
}

// maxRetryAfter bounds what a Retry-After can ask for.
const maxRetryAfter = 24 * time.Hour

// retryAfter is [httpclient.RetryAfter], at most maxRetryAfter.
func retryAfter(value string, now time.Time) (time.Duration, bool) {
	wait, ok := httpclient.RetryAfter(value, now)
	return min(wait, maxRetryAfter), ok
}
