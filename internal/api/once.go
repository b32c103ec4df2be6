package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"sperrd/internal/sperr"
	"sperrd/internal/telemetry"
	"sperrd/internal/transaction"
)

// changer reads what a request wants to be changed. It changes nothing itself.
type changer func(*http.Request) (change, error)

// change is what a request wants to be changed, readable but not judged yet.
type change struct {
	orderID  uuid.UUID // zero: it will be a new one, or that of a delivery
	rejectID uuid.UUID // zero: it settles no refused delivery
	body     []byte    // as it came
	do       func(context.Context, sperr.Call) (sperr.Result, error)
	// preview answers what do would do. Where it is given the request is a dry run: do is
	// not called, and the call is not recognised when it comes again.
	preview func(context.Context) (transaction.Answer, error)
	answer  func(sperr.Result) (transaction.Answer, error) // where it was done
}

// serving is how a route is served: by a handler, or by a changer whose change is made
// once for every operation, however often it is asked for.
type serving struct {
	handle handler
	read   changer
	note   func(*http.Request, uuid.UUID) // of a changer: names what the id in the path is of
	why    string                         // a handler of a method that changes something: why no call is recognised
}

// reads serves a route that changes nothing.
func reads(h handler) serving { return serving{handle: h} }

// once serves a route that changes something: a call that carries the headers of
// transaction_header.go and comes again gets the answer of the first one.
// The id in its path is that of an order.
func once(read changer) serving { return serving{read: read, note: noteOrder} }

// onceOfReject is once with the id of a refused delivery in the path.
func onceOfReject(read changer) serving { return serving{read: read, note: noteReject} }

// unkeyed serves a route whose method says that it changes something, and on which no
// call is recognised, for this reason.
func unkeyed(h handler, why string) serving { return serving{handle: h, why: why} }

// identify reads by which ids the caller knows a call and repeats them in the answer,
// whatever that will be. Its error is answered after the caller is admitted.
func (s *server) identify(w http.ResponseWriter, r *http.Request) (identifiers, error) {
	ids, err := readIdentifiers(r.Header, s.Now(), s.IdempotencyRetention)
	if err == nil {
		err = checkTrailer(r.Trailer)
	}
	if err != nil {
		ids = echoed(r.Header)
	}
	ids.echo(w.Header())
	if err == nil && s.IdempotencyRequired && !ids.given() && !wantsDryRun(r) {
		err = errNoIdentifiers
	}
	if ids.given() {
		entryOf(r.Context()).keyed = true
		entryOf(r.Context()).add(
			slog.String("transaction_id", transaction.Shown(ids.id)), slog.String("initial_transaction_id", transaction.Shown(ids.initial)))
	}
	return ids, err
}

// serveOnce answers a call of a route served by once.
func (s *server) serveOnce(w http.ResponseWriter, r *http.Request, read changer, ids identifiers) error {
	c, err := read(r)
	if err != nil {
		return err
	}
	if c.preview != nil {
		return servePreview(w, r, c)
	}
	call := sperr.Call{Actor: actor(r)}
	if ids.given() {
		attempt, err := attemptOf(r, ids, c)
		if err != nil {
			return err
		}
		call.Attempt = &attempt
	}
	c.body = nil // up to 1 MiB, which nobody should hold while makod is asked
	call.Answer = c.answerOf
	ctx, cancel := bounded(r)
	defer cancel()
	result, err := c.do(ctx, call)
	s.countCall(r, call, result, err)
	if kept := result.Answered; kept != nil {
		setEcho(w.Header(), transaction.Shown(ids.id), transaction.Shown(kept.LogicalID))
		writeKept(w, r, *kept)
		return nil
	}
	if err != nil {
		return err
	}
	if id := result.Order.ID; c.orderID == uuid.Nil && id != uuid.Nil {
		noteOrder(r, id)
	}
	answer, err := c.answer(result)
	if err != nil {
		return err
	}
	writeAnswer(w, answer)
	return nil
}

// countCall counts whether a call was known.
func (s *server) countCall(r *http.Request, call sperr.Call, result sperr.Result, err error) {
	counted := telemetry.CallFirst
	switch {
	case as[*transaction.ConflictError](err):
		counted = telemetry.CallConflict
	case errors.Is(err, transaction.ErrInProgress):
		counted = telemetry.CallInProgress
	case call.Attempt == nil:
		counted = telemetry.CallWithoutIDs
	case result.Answered == nil:
		return // trouble: nothing is remembered
	case result.Answered.Replayed:
		counted = telemetry.CallReplayed
	}
	s.Metrics.CountCall(r.Method, chi.RouteContext(r.Context()).RoutePattern(), counted)
}

// attemptOf is what recognises a call: its ids, its caller, and what it asks for. The
// caller is not his token, which is another one each time.
func attemptOf(r *http.Request, ids identifiers, c change) (transaction.Attempt, error) {
	claims := caller(r)
	operation := r.Method + " " + chi.RouteContext(r.Context()).RoutePattern()
	for _, id := range []uuid.UUID{c.orderID, c.rejectID} {
		if id != uuid.Nil {
			operation += " " + id.String()
		}
	}
	values := r.URL.Query()
	values.Del(parameterDryRun)                // false, which is as good as absent
	if query := values.Encode(); query != "" { // sorted by key
		operation += "?" + query
	}
	fingerprint, err := transaction.NewFingerprint(operation, c.body, ids.reference)
	if err != nil {
		return transaction.Attempt{}, err
	}
	return transaction.Attempt{
		ID: ids.id, Initial: ids.initial, CreatedAt: ids.createdAt, Reference: ids.reference,
		Principal: claims.Issuer + " " + claims.Subject, Operation: operation, Fingerprint: fingerprint,
	}, nil
}

// answerOf is what is kept of a result, or of a refusal.
func (c change) answerOf(result sperr.Result, refusal error) (transaction.Answer, error) {
	var answer transaction.Answer
	var err error
	if refusal != nil {
		p := problemOf(refusal)
		answer, err = newAnswer(p.Status, problemType, p)
	} else {
		answer, err = c.answer(result)
	}
	if err != nil {
		return transaction.Answer{}, err
	}
	// Where to read how the order stands now: the answer itself never changes.
	if id := result.Order.ID; id != uuid.Nil {
		answer.Header["Content-Location"] = orderPath(id)
	}
	return answer, nil
}

// writeKept sends an answer as it is kept.
func writeKept(w http.ResponseWriter, r *http.Request, kept sperr.Answered) {
	e := entryOf(r.Context())
	if kept.Header["Content-Type"] == problemType {
		var p struct {
			Code string `json:"code"`
		}
		if err := json.Unmarshal(kept.Body, &p); err == nil {
			e.add(slog.String("code", p.Code))
		}
	}
	if kept.OrderID != uuid.Nil && !e.has("order_id") {
		noteOrder(r, kept.OrderID)
	}
	if kept.Replayed {
		e.add(slog.Bool("replayed", true), slog.String("logical_id", transaction.Shown(kept.LogicalID)))
		w.Header().Set("Idempotent-Replayed", "true")
	}
	writeAnswer(w, kept.Answer)
}
