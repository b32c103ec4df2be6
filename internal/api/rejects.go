package api

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"sperrd/internal/sperr"
)

// keptCodes are the problem codes of the deliveries that are kept.
var keptCodes = []string{
	"invalid_json", "invalid_body", "invalid_parameter", "unsupported_media_type", "unusable_event", "process_conflict",
}

func (s *server) handleRejects(w http.ResponseWriter, r *http.Request) error {
	p, err := readParameters(r, "status", "code", "limit", "cursor")
	if err != nil {
		return err
	}
	filter, err := p.rejectsFilter()
	if err != nil {
		return err
	}
	ctx, cancel := bounded(r)
	defer cancel()
	page, err := s.Repository.WebhookRejects(ctx, filter)
	if err != nil {
		return err
	}
	p.linkNext(w, r, page.Next)
	return writeJSON(w, http.StatusOK, page.Rejects)
}

// rejectsFilter is what the parameters of the list ask for. Without a status it is the
// work that is left.
func (p parameters) rejectsFilter() (f sperr.RejectsFilter, err error) {
	if f.Limit, err = p.limit(); err != nil {
		return f, err
	}
	f.Status, f.Code, f.Cursor = sperr.RejectsOpen, p["code"], p["cursor"]
	if status, given := p["status"]; given {
		f.Status = sperr.RejectStatus(status)
	}
	if err := oneOf("status", f.Status, sperr.RejectStatuses()); err != nil {
		return f, err
	}
	if f.Code == "" {
		return f, nil
	}
	return f, oneOf("code", f.Code, keptCodes)
}

// oneOf refuses a parameter whose value is none of those there are.
func oneOf[T ~string](parameter string, value T, all []T) error {
	if slices.Contains(all, value) {
		return nil
	}
	names := make([]string, len(all))
	for i, name := range all {
		names[i] = string(name)
	}
	return fieldFault(errInvalidParameter, parameter, "must be one of "+strings.Join(names, ", "))
}

// rejectID is pathID of a refused delivery, which the line of the request then names.
func rejectID(r *http.Request) (uuid.UUID, error) {
	id, err := pathID(r)
	if err == nil {
		noteReject(r, id)
	}
	return id, err
}

func noteReject(r *http.Request, id uuid.UUID) {
	entryOf(r.Context()).add(slog.String("reject_id", id.String()))
}

// keptDelivery is one refused delivery in full: what a human needs to see what the
// sender meant. The body is base64, since it need not be text.
type keptDelivery struct {
	sperr.WebhookReject
	Headers  sperr.EventHeaders `json:"headers"`
	Body     []byte             `json:"body"`
	BodyText *string            `json:"body_text"` // null where the body is not UTF-8
}

func (s *server) handleReject(w http.ResponseWriter, r *http.Request) error {
	id, err := rejectID(r)
	if err != nil {
		return err
	}
	ctx, cancel := bounded(r)
	defer cancel()
	reject, err := s.Repository.WebhookReject(ctx, id)
	if err != nil {
		return err
	}
	kept := keptDelivery{WebhookReject: reject, Headers: reject.Headers, Body: reject.Body}
	if utf8.Valid(reject.Body) {
		text := string(reject.Body)
		kept.BodyText = &text
	}
	return writeJSON(w, http.StatusOK, kept)
}
