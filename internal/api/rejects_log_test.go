package api_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestReplay_is_in_the_log_without_the_delivery(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	kept := b.refused(t, sample(t, "17115-fixed-date.json"))
	junk := b.refusedWith(t, http.StatusUnprocessableEntity, edited(t, "51238696012", "51238696782"))
	id := wantQueued(t, b.replay(t, kept, "", called(callA)...))
	wantStatus(t, b.replay(t, junk, ""), http.StatusUnprocessableEntity)
	wantStatus(t, b.dismiss(t, junk, `{"reason":"Bauer, Lindenallee 7"}`), http.StatusNoContent)
	wantStatus(t, b.replay(t, kept, "", "transactionId", "42"), http.StatusBadRequest)

	lines := b.log.requests(t)
	for i, want := range []map[string]any{
		{"reject_id": kept, "receipt": "queued", "order_id": id, "subject": "dev-admin", "transaction_id": callA, "status": 201.0},
		{"reject_id": junk, "code": "unusable_event", "subject": "dev-admin", "status": 422.0},
		{"reject_id": junk, "subject": "dev-admin", "status": 204.0},
		{"reject_id": kept, "code": "invalid_transaction_header", "status": 400.0},
	} {
		got := lines[2+i]
		for name, value := range want {
			if got[name] != value {
				t.Errorf("line %d: %s is %v, want %v", i, name, got[name], value)
			}
		}
		if _, named := got["order_id"]; named && want["order_id"] == nil {
			t.Errorf("line %d names an order: %v", i, got)
		}
	}
	settled := b.log.lines(t, "refused delivery settled")
	for i, want := range []struct{ id, how string }{{kept, "replayed"}, {junk, "dismissed"}} {
		got := settled[i]
		if got["reject_id"] != want.id || got["settlement"] != want.how || got["actor"] != "dev-admin" || got["webhook_id"] != b.reject(t, want.id).WebhookID {
			t.Errorf("line %v, want %s of %s", got, want.how, want.id)
		}
	}
	for _, secret := range []string{"Lindenallee", "51238696012", "Gerichtsvollzieher", "9900012345678"} {
		if strings.Contains(b.log.String(), secret) {
			t.Errorf("the log tells %s", secret)
		}
	}
}
