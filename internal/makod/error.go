package makod

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sperrd/internal/httpclient"
)

// Words of this package for failures that makod has no word for. An answer
// without a word of makod has the code "http_" and its status.
const (
	// CodeUnreachable: no connection came about, nothing was sent.
	CodeUnreachable = "unreachable"
	// CodeConnectionLost: the connection broke before an answer came.
	CodeConnectionLost = "connection_lost"
	// CodeTimeout: no answer in time.
	CodeTimeout = "timeout"
	// CodeCanceled: the caller gave up.
	CodeCanceled = "canceled"
	// CodeUndecodableAnswer: a 2xx that names no process.
	CodeUndecodableAnswer = "undecodable_answer"
	// CodeInvalidCommand: the command cannot be sent as it is; nothing was sent.
	CodeInvalidCommand = "invalid_command"
)

// Words of makod that callers tell apart.
const (
	CodeProcessNotFound  = "process_not_found"
	CodeAmbiguousProcess = "ambiguous_process"
	CodeInvalidState     = "invalid_state"

	codeDuplicateProcess = "duplicate_process"
)

// States of makod's process that [Error.Found] can name. Both commands expect
// StateValidationPassed.
const (
	StateValidationPassed = "ValidationPassed"
	// StateAusgefuehrt: a CommandBestaetigen was carried out.
	StateAusgefuehrt = "Ausgefuehrt"
	// StateRejected: a CommandFehlgeschlagen was carried out, or validation
	// failed, or a deadline of makod passed.
	StateRejected = "Rejected"
	// StateStorniert: the Lieferant withdrew the order (ORDCHG 39000).
	StateStorniert = "Storniert"
)

const (
	maxText = 500
	maxCode = 64
)

// Error is a command that was not accepted. Its texts are valid UTF-8 without
// control characters and contain no secret, whatever makod answered.
type Error struct {
	// Status is the HTTP status, 0 when no answer came.
	Status int
	// Code is makod's own word, or one of this package where makod gave none.
	Code string
	// Detail is makod's prose, at most 500 characters.
	Detail string
	// Found is the state of the process, for a Code of invalid_state.
	Found string
	// RetryAfter is the wait makod asked for, at most 24 h.
	RetryAfter time.Duration

	hasRetryAfter bool
	unclear       bool
	cause         error
}

// Unclear reports whether makod may have carried out the command although this
// call failed: the connection broke or the time ran out after the request may
// have been sent, the answer was a 5xx or 408, or a 2xx that names no process.
func (e *Error) Unclear() bool { return e.unclear }

// Postponed reports whether makod asks to come back later without having looked
// at the command: 429, and 503 with Retry-After. Such an attempt should not count.
func (e *Error) Postponed() bool {
	return e.RateLimited() ||
		e.Status == http.StatusServiceUnavailable && e.hasRetryAfter
}

// RateLimited reports whether makod puts off whatever this peer sends: 429.
func (e *Error) RateLimited() bool { return e.Status == http.StatusTooManyRequests }

// Text is the failure for humans, as in "409 invalid_state: workflow error: …".
// It is at most 500 characters and safe to store and to show.
func (e *Error) Text() string {
	word := e.Code
	if e.Status != 0 {
		status := strconv.Itoa(e.Status)
		word = status + " " + e.Code
		if e.Code == "http_"+status {
			word = strings.TrimSpace(status + " " + http.StatusText(e.Status))
		}
	}
	if e.Detail == "" {
		return word
	}
	return httpclient.Clean(word+": "+e.Detail, maxText)
}

// Error is [Error.Text].
func (e *Error) Error() string { return e.Text() }

// Unwrap returns the cause, so that a timeout is context.DeadlineExceeded.
func (e *Error) Unwrap() error { return e.cause }

// transportError describes a call that ended without an answer.
func (c *Client) transportError(err error, mayHaveSent bool) *Error {
	e := &Error{unclear: mayHaveSent, cause: err}
	var netErr net.Error
	switch {
	case errors.Is(err, context.Canceled):
		e.Code = CodeCanceled
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		e.Code = CodeTimeout
	case mayHaveSent:
		e.Code = CodeConnectionLost
	default:
		e.Code = CodeUnreachable
	}
	e.Detail = httpclient.Clean(c.redact(err.Error()), maxText)
	return e
}

// redact removes the API key from a text that came from outside. Servers quote
// what they refuse, and the text ends in the database and in events.
func (c *Client) redact(s string) string {
	if c.apiKey == "" {
		return s
	}
	return strings.ReplaceAll(s, c.apiKey, "[redacted]")
}
