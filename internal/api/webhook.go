package api

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"sperrd/internal/sperr"
	"sperrd/internal/telemetry"
	"sperrd/internal/webhook"
)

// maxWebhookID is the room for a webhook id that nobody has verified, in characters.
const maxWebhookID = 512

// handleWebhook takes one market event. Its sender gives up for good on any 4xx, so
// that a body which carried a good signature and is refused all the same is kept
// here: it may be the only trace of a Sperrauftrag. Where that fails, or the database
// is away, the answer is a 503 and the event comes again.
func (s *server) handleWebhook(w http.ResponseWriter, r *http.Request) error {
	result := telemetry.WebhookInternal // of a panic
	defer func() { s.Metrics.CountWebhook(result) }()
	receipt, err := s.takeEvent(r)
	result = webhookResult(receipt, err)
	if err != nil {
		return err
	}
	if receipt.Kind == sperr.ReceiptQueued {
		return writeJSON(w, http.StatusCreated, map[string]uuid.UUID{"id": receipt.OrderID})
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// takeEvent says what becomes of a delivery.
func (s *server) takeEvent(r *http.Request) (sperr.Receipt, error) {
	body, err := s.readBody(r)
	if err != nil {
		entryOf(r.Context()).raise(slog.LevelWarn)
		return sperr.Receipt{}, err
	}
	id, err := s.verify(r, body)
	if err != nil {
		return sperr.Receipt{}, err
	}
	receipt, err := s.receive(r, id, body)
	if err != nil {
		return sperr.Receipt{}, s.keep(r, id, body, err)
	}
	return receipt, nil
}

// verify is the id of a delivery whose signature is good. Which check failed is for
// the log alone: in the answer it would help a forger.
func (s *server) verify(r *http.Request, body []byte) (string, error) {
	e := entryOf(r.Context())
	claimed := printable(r.Header.Get(webhook.HeaderID), maxWebhookID)
	e.add(slog.String("webhook_id", printable(claimed, 100)))
	if s.Verifier == nil {
		return claimed, nil
	}
	id, err := s.Verifier.Verify(r.Header, body)
	if err != nil {
		e.raise(slog.LevelWarn)
		e.add(slog.String("reason", err.Error()))
	}
	return id, err
}

// errQuery refuses what no part of the event is: two readers could differ about it.
var errQuery = &fault{kind: errInvalidParameter, detail: "The webhook takes no query parameters."}

// receive reads the event and hands it over.
func (s *server) receive(r *http.Request, id string, body []byte) (sperr.Receipt, error) {
	if r.URL.RawQuery != "" {
		return sperr.Receipt{}, errQuery
	}
	event, err := readEvent(r.Header, body)
	if err != nil {
		return sperr.Receipt{}, err
	}
	e := entryOf(r.Context())
	e.add(slog.String("event_id", printable(event.ID(), 100)))
	ctx, cancel := bounded(r)
	defer cancel()
	ctx, span := s.eventTrace(ctx, r.Header, event)
	defer span.End()
	receipt, err := s.Service.Receive(ctx, id, event)
	if conflict, ok := errors.AsType[*sperr.ProcessConflictError](err); ok {
		noteOrder(r, conflict.OrderID)
	}
	if err != nil {
		return sperr.Receipt{}, err
	}
	e.add(slog.String("receipt", receiptNames[receipt.Kind]))
	if receipt.OrderID != uuid.Nil {
		noteOrder(r, receipt.OrderID)
	}
	return receipt, nil
}

// receiptNames are how a receipt is named in the log, in an answer and in the metrics.
var receiptNames = map[sperr.ReceiptKind]string{
	sperr.ReceiptNotOurs: "not_ours", sperr.ReceiptQueued: "queued",
	sperr.ReceiptRedelivery: "redelivery", sperr.ReceiptNoted: "noted",
}

// keep stores a delivery that is refused with a 4xx and returns the refusal.
func (s *server) keep(r *http.Request, id string, body []byte, refusal error) error {
	p := problemOf(refusal)
	if p.Status >= http.StatusInternalServerError {
		return refusal // nothing is decided: the sender tries again
	}
	entryOf(r.Context()).raise(slog.LevelWarn)
	err := s.Service.KeepReject(r.Context(), sperr.WebhookReject{
		WebhookID: id, Status: p.Status, Code: p.Code, Reason: printable(p.Detail, 2000),
		Headers: eventHeaders(r.Header), Body: body,
	})
	if err != nil {
		return fmt.Errorf("%w: keep a delivery refused as %s: %w", errUnavailable, p.Code, err)
	}
	return refusal
}

// eventHeaders are the headers that belong to an event: with the body they are all
// of it. Bytes that are no UTF-8 are written as percent-escapes, which is what they
// mean in these headers anyway.
func eventHeaders(h http.Header) sperr.EventHeaders {
	kept := sperr.EventHeaders{}
	for name, values := range h {
		lower := strings.ToLower(name)
		if lower != "content-type" && lower != "content-encoding" && !strings.HasPrefix(lower, "ce-") {
			continue
		}
		for _, value := range values {
			kept[lower] = append(kept[lower], escapeInvalid(value))
		}
	}
	return kept
}

// headerOf is what eventHeaders has kept, as readEvent takes it.
func headerOf(kept sperr.EventHeaders) http.Header {
	h := http.Header{}
	for name, values := range kept {
		for _, value := range values {
			h.Add(name, value)
		}
	}
	return h
}

func escapeInvalid(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, "%%%02X", s[0])
		} else {
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	return b.String()
}
