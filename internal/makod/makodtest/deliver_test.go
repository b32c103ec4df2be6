package makodtest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDeliver_posts_the_event_once_with_the_header_given(t *testing.T) {
	t.Parallel()
	const event = `{"specversion":"1.0","id":"5f0c0f64-6a0e-4f0e-9c39-0f6a3f1d7a01"}`
	type delivery struct {
		Method, ContentType, Key, WebhookID, Body string
	}
	var got []delivery
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, delivery{
			r.Method, r.Header.Get("Content-Type"), r.Header.Get("X-Idempotency-Key"), r.Header.Get("webhook-id"), string(body),
		})
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusTemporaryRedirect)
		_, _ = io.WriteString(w, "moved")
	}))
	defer receiver.Close()

	s, _ := newServer(t)
	header := http.Header{"webhook-id": {"msg_1"}}
	status, body, err := s.Deliver(t.Context(), receiver.URL, []byte(event), header)
	if status != 307 || string(body) != "moved" || err != nil {
		t.Errorf("%d %s %v", status, body, err)
	}
	header["content-type"] = []string{"application/json"}
	if _, _, err := s.Deliver(t.Context(), receiver.URL, []byte("{"), header); err != nil {
		t.Error(err)
	}
	wanted := []delivery{
		{"POST", "application/cloudevents+json", "5f0c0f64-6a0e-4f0e-9c39-0f6a3f1d7a01", "msg_1", event},
		{"POST", "application/json", "", "msg_1", "{"},
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Error(diff)
	}
}

func TestDeliver_reports_an_unreachable_receiver(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewServer(http.NotFoundHandler())
	receiver.Close()
	s, _ := newServer(t)
	if status, _, err := s.Deliver(t.Context(), receiver.URL, []byte("{}"), nil); err == nil || status != 0 {
		t.Errorf("%d, %v", status, err)
	}
}
