package api

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"sperrd/internal/authn"
	"sperrd/internal/authz"
	"sperrd/internal/sperr"
	"sperrd/internal/transaction"
)

// problem is the body of every failure (RFC 9457). FittingCodes is an extension of
// invalid_report: the codes that the report could have carried. The members after it are
// extensions of order_not_pending and nothing_to_reset: the state that stands, so that
// whoever calls twice sees what became of the first call.
type problem struct {
	Type               string             `json:"type"`
	Title              string             `json:"title"`
	Status             int                `json:"status"`
	Detail             string             `json:"detail"`
	Code               string             `json:"code"`
	Errors             []sperr.FieldError `json:"errors,omitempty"`
	FittingCodes       []string           `json:"fitting_codes,omitempty"`
	OrderStatus        sperr.Status       `json:"order_status,omitzero"`
	ExecutedAt         *time.Time         `json:"executed_at,omitzero"`
	LetzterVersuchAm   *time.Time         `json:"letzter_versuch_am,omitzero"`
	IFTSTADispatchedAt *time.Time         `json:"iftsta_dispatched_at,omitzero"`

	// Of reject_settled alone.
	Settlement sperr.Settlement `json:"settlement,omitzero"`
	SettledAt  *time.Time       `json:"settled_at,omitzero"`
	OrderID    *uuid.UUID       `json:"order_id,omitzero"`
}

// retryAfter is what a 503 asks for, in seconds: longer than a database takes to
// hand over, shorter than a person waits.
const retryAfter = "5"

// retryTransactionAfter is what a call is asked to wait, in seconds, for another one of
// its transaction.
const retryTransactionAfter = "1"

const problemType = "application/problem+json"

// writeError answers a failure. The cause of a 5xx goes into the line of the
// request, and nowhere else.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	e := entryOf(r.Context())
	e.add(slog.String("code", p.Code))
	if errors.Is(err, errInvalidTransactionHeader) {
		e.add(slog.String("reason", p.Detail)) // quotes no header
	}
	if conflict, ok := errors.AsType[*transaction.ConflictError](err); ok {
		e.add(slog.String("reason", conflict.Error()))
	}
	if errors.Is(err, transaction.ErrInProgress) {
		w.Header().Set("Retry-After", retryTransactionAfter)
	}
	switch p.Status {
	case http.StatusInternalServerError:
		e.raise(slog.LevelError)
		e.add(slog.Any("error", err))
	case http.StatusServiceUnavailable:
		e.raise(slog.LevelWarn)
		e.add(slog.Any("error", err))
		w.Header().Set("Retry-After", retryAfter)
		if changesAnOrder(e.action) && !e.dryRun && !errors.Is(err, authn.ErrUnavailable) {
			p.Detail = detailUnknown
			if e.keyed {
				p.Detail = detailUnknownKeyed
			}
		}
	case http.StatusUnauthorized:
		if errors.Is(err, authn.ErrUnauthenticated) {
			w.Header().Set("WWW-Authenticate", challenge(err))
			e.add(slog.String("reason", err.Error()))
		}
	case http.StatusForbidden:
		if denial, ok := errors.AsType[*authz.Denial](err); ok && denial.Failed {
			e.raise(slog.LevelError)
		}
		e.add(slog.String("reason", err.Error()))
	case http.StatusRequestEntityTooLarge:
		// The rest of the body is not read: it must not be taken for a next request.
		w.Header().Set("Connection", "close")
	}
	answer, _ := newAnswer(p.Status, problemType, p) // a problem always marshals
	writeAnswer(w, answer)
}

// challenge says how to authenticate (RFC 6750, 3).
func challenge(err error) string {
	const scheme = `Bearer realm="sperrd"`
	if errors.Is(err, errNoToken) || errors.Is(err, errTwoTokens) {
		return scheme
	}
	return scheme + `, error="invalid_token"`
}

// detailUnknown is the detail of a 503 where the call may have taken effect all the
// same: a second "first visit failed" would close an order after one visit.
const detailUnknown = "The service cannot answer now, and the call may have taken effect. " +
	"Read the order before the call is repeated."

// detailUnknownKeyed is the same for a call that is recognised when it comes again.
const detailUnknownKeyed = "The service cannot answer now, and the call may have taken effect. " +
	"Repeat it as the same transaction: it takes effect once."

func changesAnOrder(action string) bool {
	return action == actionCreate || action == actionExecute || action == actionCancel
}

// writeJSON answers with v.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	answer, err := newAnswer(status, "application/json", v)
	if err != nil {
		return err
	}
	writeAnswer(w, answer)
	return nil
}

// newAnswer marshals v before anything is written, so that an answer is whole or an error.
func newAnswer(status int, contentType string, v any) (transaction.Answer, error) {
	// A caller's own broken text may stand in a problem, and a payload is shown to the byte.
	body, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		return transaction.Answer{}, fmt.Errorf("marshal an answer: %w", err)
	}
	return transaction.Answer{Status: status, Header: map[string]string{"Content-Type": contentType}, Body: body}, nil
}

// noContent is the answer of which the status says everything.
func noContent() transaction.Answer {
	return transaction.Answer{Status: http.StatusNoContent, Header: map[string]string{}}
}

func writeAnswer(w http.ResponseWriter, a transaction.Answer) {
	for name, value := range a.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // a client that has gone: nobody to tell
}

// printable makes text of a caller fit for an answer, a log line and a column: valid
// UTF-8, without control characters, at most n characters.
func printable(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n])
	}
	return s
}
