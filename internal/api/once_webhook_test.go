package api_test

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"sperrd/internal/webhook"
)

// deliverAt delivers body under an id at a moment of the sender's clock; header lines add.
func (b *bench) deliverAt(t *testing.T, id string, at time.Time, body []byte, header ...string) answer {
	t.Helper()
	signer, err := webhook.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	h := signer.Sign(id, at, body)
	h.Set("Content-Type", "application/cloudevents+json")
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return b.send(t, http.MethodPost, "/webhook", bytes.NewReader(body), h)
}

// wantPlain fails unless a has the status and none of the headers of a recognised call.
func wantPlain(t *testing.T, a answer, status int) {
	t.Helper()
	wantStatus(t, a, status)
	wantEcho(t, a, "", "")
	if mark, there := a.header[replayMark]; there {
		t.Errorf("%s %q at the webhook", replayMark, mark)
	}
	if status == http.StatusNoContent && len(a.body) != 0 {
		t.Errorf("body %q of a 204", a.body)
	}
}

func TestWebhook_redelivered_with_new_timestamps_and_then_under_a_new_id_is_one_order(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := sample(t, "17115-fixed-date.json")
	first := b.deliverAt(t, "w-1", now, body)
	wantPlain(t, first, http.StatusCreated)
	id := decode[map[string]string](t, first, http.StatusCreated)["id"]
	for i := range 3 {
		wantPlain(t, b.deliverAt(t, "w-1", now.Add(time.Duration(i+1)*time.Second), body), http.StatusNoContent)
	}
	wantPlain(t, b.deliverAt(t, "w-2", now, body), http.StatusNoContent)
	b.wantTraces(t, traces{Orders: "pending", History: "created", Events: "auftrag.eingegangen"})
	if n := b.count(t, `SELECT count(*) FROM sperr_orders WHERE webhook_id = 'w-1' AND id = '`+id+`'`); n != 1 {
		t.Error("the order does not name the delivery that brought it")
	}
}

// The key of a market event is its process, whatever a client's headers say.
func TestWebhook_ignores_the_headers_of_a_transaction(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	wantPlain(t, b.deliverAt(t, "w-1", now, sample(t, "17115-fixed-date.json"), called(callA)...), http.StatusCreated)
	wantPlain(t, b.deliverAt(t, "w-2", now, sample(t, "17115-earliest-date.json"), called(callA)...), http.StatusCreated)
	wantPlain(t, b.deliverAt(t, "w-3", now, sample(t, "17117.json"), "transactionId", "42", "Idempotency-Key", ""), http.StatusCreated)
	if got := b.traces(t); got.Orders != "pending pending pending" || got.Records != 0 || got.Calls != 0 {
		t.Errorf("left behind %+v", got)
	}
}

// Nothing of a delivery that failed is remembered: its redelivery is a first one.
func TestWebhook_that_fails_in_the_database_is_done_when_it_comes_again_under_the_same_id(t *testing.T) {
	t.Parallel()
	for name, fault := range breakdowns {
		if fault.table != "sperr_order_history" {
			continue // no call is recorded here
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			body := sample(t, "17115-fixed-date.json")
			repair := b.breakdown(t, fault.kind, fault.table, fault.trigger, fault.do)
			for range 2 {
				failed := b.deliverAt(t, "w-1", now, body)
				wantPlain(t, failed, fault.status)
				wantProblem(t, failed, fault.status, fault.code)
			}
			b.wantTraces(t, traces{})
			repair()
			wantPlain(t, b.deliverAt(t, "w-1", now.Add(time.Second), body), http.StatusCreated)
			wantPlain(t, b.deliverAt(t, "w-1", now.Add(2*time.Second), body), http.StatusNoContent)
			b.wantTraces(t, traces{Orders: "pending", History: "created", Events: "auftrag.eingegangen"})
			if codes := b.kept(t); len(codes) != 0 {
				t.Errorf("kept %v of a delivery that comes again", codes)
			}
		})
	}
}
