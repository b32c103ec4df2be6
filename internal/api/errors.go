package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"sperrd/internal/authn"
	"sperrd/internal/authz"
	"sperrd/internal/postgres"
	"sperrd/internal/sperr"
	"sperrd/internal/transaction"
	"sperrd/internal/webhook"
)

// The kinds of failure that arise here, before anything of the domain is asked.
var (
	errInvalidJSON          = errors.New("invalid JSON")
	errInvalidBody          = errors.New("invalid body")
	errInvalidParameter     = errors.New("invalid parameter")
	errMethodNotAllowed     = errors.New("method not allowed")
	errNotAcceptable        = errors.New("not acceptable")
	errBodyTooLarge         = errors.New("body too large")
	errUnsupportedMediaType = errors.New("unsupported media type")
	errUnavailable          = errors.New("unavailable")
	errForeignOrigin        = errors.New("foreign origin")
)

// errNoIdentifiers answers a call without identifiers where each must have them.
var errNoIdentifiers = &fault{
	kind:   errInvalidTransactionHeader,
	detail: "This service takes a call that changes something only with transactionId and creationDateTime, or with an Idempotency-Key.",
	fields: []sperr.FieldError{{Field: headerTransactionID, Reason: "is missing"}},
}

// conflictDetails say in what a call differs from the first one of its transaction. They
// say nothing of whose that one was, nor of its answer.
var conflictDetails = map[transaction.Reason]string{
	transaction.ReasonPrincipal: "The transaction id is taken. Nothing was done.",
	transaction.ReasonOperation: "The transaction id was used on another route or order, or for another delivery. Nothing was done. Each report needs an id of its own.",
	transaction.ReasonContent: "The first call of this transaction had another body or referenceId. Nothing was done. " +
		"A corrected report is a new transaction: another transactionId, and no initialTransactionId.",
	transaction.ReasonBound: "The transactionId was used for another operation than initialTransactionId names. Nothing was done.",
}

// errForeignPage tells nothing about the caller that its browser does not know.
var errForeignPage = &fault{kind: errForeignOrigin, detail: "A web page of another origin may not call this."}

// The ways to have no token at all.
var (
	errNoToken   = &fault{kind: authn.ErrUnauthenticated, detail: "A bearer token is needed: Authorization: Bearer <token>."}
	errTwoTokens = &fault{kind: authn.ErrUnauthenticated, detail: "Exactly one Authorization header is needed."}
	errWrongKey  = &fault{kind: authn.ErrUnauthenticated, detail: "The key is not the one of this service."}
)

// kind is one row of the table: how a kind of failure is answered. code never
// changes, so that a program can tell by it; detail is the text where the failure
// brings none.
type kind struct {
	status int
	code   string
	title  string
	detail string
	is     func(error) bool
}

// kinds is the one table from failure to answer; the first row that fits decides.
var kinds = []kind{
	{http.StatusBadRequest, "invalid_json", "The body is not JSON", "", is(errInvalidJSON)},
	{http.StatusBadRequest, "invalid_body", "The body has the wrong shape", "", is(errInvalidBody)},
	{http.StatusBadRequest, "invalid_parameter", "A query parameter is not usable", "", is(errInvalidParameter, sperr.ErrCursor)},
	{http.StatusBadRequest, "invalid_transaction_header", "The headers of the transaction are not usable", "", is(errInvalidTransactionHeader)},
	{http.StatusUnauthorized, "invalid_signature", "The signature is not valid", "The request carries no valid Standard Webhooks signature.", is(webhook.ErrSignature)},
	{http.StatusUnauthorized, "unauthenticated", "Not authenticated", "The token is not valid here.", is(authn.ErrUnauthenticated)},
	{http.StatusForbidden, "forbidden", "Not permitted", "The caller may not do this.", is(authz.ErrForbidden, errForeignOrigin)},
	{http.StatusNotFound, "not_found", "Not found", "There is nothing with this id.", is(sperr.ErrNotFound)},
	{http.StatusMethodNotAllowed, "method_not_allowed", "Method not allowed", "", is(errMethodNotAllowed)},
	{http.StatusNotAcceptable, "not_acceptable", "Not acceptable", "", is(errNotAcceptable)},
	{http.StatusConflict, "order_not_pending", "The order is closed", "", as[*sperr.NotPendingError]},
	{http.StatusConflict, "nothing_to_reset", "No IFTSTA is outstanding", "", as[*sperr.NothingToResetError]},
	{http.StatusConflict, "transaction_conflict", "The transaction id belongs to another call", "", as[*transaction.ConflictError]},
	{http.StatusConflict, "transaction_in_progress", "The transaction is in progress", "A call of this transaction is being worked on. Send this one again.", is(transaction.ErrInProgress)},
	{http.StatusConflict, "process_conflict", "The event contradicts the order of its process", "", as[*sperr.ProcessConflictError]},
	{http.StatusConflict, "reject_settled", "The delivery is settled", "", as[*sperr.RejectSettledError]},
	{http.StatusRequestEntityTooLarge, "body_too_large", "The body is too large", "A body may have 1 MiB.", is(errBodyTooLarge)},
	{http.StatusUnsupportedMediaType, "unsupported_media_type", "Unsupported media type", "", is(errUnsupportedMediaType)},
	{http.StatusUnprocessableEntity, "invalid_order", "The order is against the rules", "", faultyIn(sperr.SubjectOrder)},
	{http.StatusUnprocessableEntity, "invalid_report", "The report is against the rules", "", faultyIn(sperr.SubjectReport)},
	{http.StatusUnprocessableEntity, "unusable_event", "The event cannot become an order", "", func(err error) bool {
		return faultyIn(sperr.SubjectEvent)(err) || as[*sperr.UnreadableError](err)
	}},
	{http.StatusServiceUnavailable, "unavailable", "Temporarily unavailable", "Tokens cannot be checked yet: the keys of their issuer are missing. " +
		"Nothing was done. Try again later.", is(authn.ErrUnavailable)},
	// A client that has gone reads no answer; what it abandoned is not our failure.
	{http.StatusServiceUnavailable, "unavailable", "Temporarily unavailable", "The service cannot answer now. Try again later.", func(err error) bool {
		return errors.Is(err, errUnavailable) || postgres.IsUnavailable(err) || errors.Is(err, context.Canceled)
	}},
}

// internal answers what the table does not know. Its text is fixed: what went wrong
// inside stands in the log alone.
var internal = kind{http.StatusInternalServerError, "internal", "Internal error", "The service has failed; its log says why.", nil}

func is(targets ...error) func(error) bool {
	return func(err error) bool {
		for _, target := range targets {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
}

func as[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func faultyIn(subject sperr.Subject) func(error) bool {
	return func(err error) bool {
		invalid, ok := errors.AsType[*sperr.ValidationError](err)
		return ok && invalid.Subject == subject
	}
}

// fault is a failure of the request itself, with words for whoever sent it.
type fault struct {
	kind   error // one of the kinds above
	detail string
	fields []sperr.FieldError
}

func (f *fault) Error() string { return f.kind.Error() + ": " + f.detail }

func (f *fault) Unwrap() error { return f.kind }

// fieldFault is a fault of one named field or parameter.
func fieldFault(kind error, field, reason string) *fault {
	field = cmp.Or(printable(field, 100), `""`)
	return &fault{
		kind: kind, detail: field + " " + reason + ".",
		fields: []sperr.FieldError{{Field: field, Reason: reason}},
	}
}

// problemOf turns a failure into the answer to it.
func problemOf(err error) problem {
	k := internal
	for _, row := range kinds {
		if row.is(err) {
			k = row
			break
		}
	}
	p := problem{
		Type: "urn:sperrd:problem:" + k.code, Title: k.title, Status: k.status, Detail: k.detail, Code: k.code,
	}
	if k.code != internal.code {
		p.describe(err)
	}
	return p
}

// describe adds what err itself has to say.
func (p *problem) describe(err error) {
	if f, ok := errors.AsType[*fault](err); ok {
		p.Detail, p.Errors = f.detail, f.fields
	}
	if token, ok := errors.AsType[*authn.TokenError](err); ok && token.Expired {
		p.Detail = "The token has expired."
	}
	if errors.Is(err, sperr.ErrCursor) {
		p.Errors = []sperr.FieldError{{Field: "cursor", Reason: "is not one that this list gave"}}
		p.Detail = "cursor is not one that this list gave."
	}
	if invalid, ok := errors.AsType[*sperr.ValidationError](err); ok {
		p.Errors, p.Detail, p.FittingCodes = invalid.Fields, sentence(invalid.Fields), invalid.FittingCodes
	}
	if conflict, ok := errors.AsType[*sperr.ProcessConflictError](err); ok {
		for _, field := range conflict.Fields {
			p.Errors = append(p.Errors, sperr.FieldError{Field: field, Reason: "differs from the order"})
		}
		p.Detail = fmt.Sprintf("The process already has order %s, which stands: %s", conflict.OrderID, sentence(p.Errors))
	}
	if closed, ok := errors.AsType[*sperr.NotPendingError](err); ok {
		o := closed.Order
		p.Detail = fmt.Sprintf("The order is %s and takes no further report.", o.Status)
		p.OrderStatus, p.ExecutedAt, p.IFTSTADispatchedAt = o.Status, o.ExecutedAt, o.IFTSTADispatchedAt
		p.LetzterVersuchAm = o.LetzterVersuchAm
	}
	if conflict, ok := errors.AsType[*transaction.ConflictError](err); ok {
		p.Detail = conflictDetails[conflict.Reason]
	}
	if nothing, ok := errors.AsType[*sperr.NothingToResetError](err); ok {
		p.Detail = "The order has no IFTSTA outstanding: " + nothing.Reason() + "."
		p.OrderStatus, p.IFTSTADispatchedAt = nothing.Order.Status, nothing.Order.IFTSTADispatchedAt
	}
	if settled, ok := errors.AsType[*sperr.RejectSettledError](err); ok {
		p.describeSettled(settled.Reject)
	}
	if unreadable, ok := errors.AsType[*sperr.UnreadableError](err); ok {
		p.describeUnreadable(unreadable.Cause)
	}
}

func sentence(fields []sperr.FieldError) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = f.Field + " " + f.Reason
	}
	return strings.Join(parts, "; ") + "."
}
