package api

import (
	"net/http"
	"unicode/utf8"

	"sperrd/internal/sperr"
)

func (s *server) handleRejects(w http.ResponseWriter, r *http.Request) error {
	p, err := readParameters(r, "limit", "cursor")
	if err != nil {
		return err
	}
	limit, err := p.limit()
	if err != nil {
		return err
	}
	ctx, cancel := bounded(r)
	defer cancel()
	page, err := s.Repository.WebhookRejects(ctx, limit, p["cursor"])
	if err != nil {
		return err
	}
	p.linkNext(w, r, page.Next)
	return writeJSON(w, http.StatusOK, page.Rejects)
}

// keptDelivery is one refused delivery in full: what a human needs to see what the
// sender meant. The body is base64, since it need not be text.
type keptDelivery struct {
	sperr.WebhookReject
	Headers  map[string]string `json:"headers"`
	Body     []byte            `json:"body"`
	BodyText *string           `json:"body_text"` // null where the body is not UTF-8
}

func (s *server) handleReject(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
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
