package api_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// refused delivers an event that is refused for the query of the sender's URL alone, which
// is no part of it, and returns the id under which it is kept.
func (b *bench) refused(t *testing.T, body []byte, header ...string) string {
	t.Helper()
	id := uuid.NewString()
	h := signedAs(t, id, body)
	h.Set("Content-Type", "application/cloudevents+json")
	for i := 0; i+1 < len(header); i += 2 {
		h[http.CanonicalHeaderKey(header[i])] = []string{header[i+1]}
	}
	wantProblem(t, b.send(t, http.MethodPost, "/webhook?x=1", bytes.NewReader(body), h), http.StatusBadRequest, "invalid_parameter")
	return b.rejectOf(t, id)
}

// refusedWith delivers an event that is refused with a status, for what it says.
func (b *bench) refusedWith(t *testing.T, status int, body []byte, header ...string) string {
	t.Helper()
	id := uuid.NewString()
	wantStatus(t, b.deliverAs(t, id, body, header...), status)
	return b.rejectOf(t, id)
}

// rejectOf is the id under which the delivery with a webhook id is kept.
func (b *bench) rejectOf(t *testing.T, webhookID string) (id string) {
	t.Helper()
	if err := b.pool.QueryRow(t.Context(), `SELECT id::text FROM webhook_rejects WHERE webhook_id = $1`, webhookID).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

func (b *bench) replay(t *testing.T, id, body string, header ...string) answer {
	t.Helper()
	return b.call(t, http.MethodPost, rejects+"/"+id+"/replay", body, header...)
}

func (b *bench) dismiss(t *testing.T, id, body string, header ...string) answer {
	t.Helper()
	return b.call(t, http.MethodPost, rejects+"/"+id+"/dismiss", body, header...)
}

func (b *bench) reject(t *testing.T, id string) reject {
	t.Helper()
	return decode[reject](t, b.get(t, rejects+"/"+id), http.StatusOK)
}

// wantQueued fails unless a tells of a new order; it returns its id.
func wantQueued(t *testing.T, a answer) string {
	t.Helper()
	id := decode[map[string]string](t, a, http.StatusCreated)["id"]
	if got := a.header.Get("Location"); id == "" || got != orders+"/"+id {
		t.Errorf("body %s, Location %q", a.body, got)
	}
	return id
}

// wantReceipt fails unless a tells of a replay of which no order came.
func wantReceipt(t *testing.T, a answer, receipt, id string) {
	t.Helper()
	want := map[string]any{"receipt": receipt, "id": nil}
	if id != "" {
		want["id"] = id
	}
	if diff := cmp.Diff(want, decode[map[string]any](t, a, http.StatusOK)); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

// wantOpen fails unless a delivery stands as it stood before.
func (b *bench) wantOpen(t *testing.T, before reject) {
	t.Helper()
	after := b.reject(t, before.ID)
	if diff := cmp.Diff(before, after); diff != "" || after.Settlement != nil {
		t.Errorf("the delivery (-before +after):\n%s", diff)
	}
}
