package api_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// aged moves the first receipt of a delivery into the past.
func (b *bench) aged(t *testing.T, id, at string) {
	t.Helper()
	if _, err := b.pool.Exec(t.Context(), `UPDATE webhook_rejects SET first_seen_at = $2 WHERE id = $1`, id, at); err != nil {
		t.Fatal(err)
	}
}

func TestReplay_makes_the_order_that_the_delivery_should_have_made(t *testing.T) {
	t.Parallel()
	taken, g := newBench(t), newGuarded(t)
	wantStatus(t, taken.deliver(t, sample(t, "17115-fixed-date.json")), http.StatusCreated)
	kept := g.refused(t, sample(t, "17115-fixed-date.json"))
	a := g.asCalled(t, sub(somebody), http.MethodPost, rejects+"/"+kept+"/replay", `{"reason":"URL von makod berichtigt"}`, called(callB, callA))
	wantFirst(t, a, http.StatusCreated, callB, callA)
	id := wantQueued(t, a)
	if got := a.header.Get(contentLocation); got != orders+"/"+id {
		t.Errorf("%s %q", contentLocation, got)
	}

	list := decode[[]map[string]any](t, g.as(t, nil, http.MethodGet, orders, ""), http.StatusOK)
	for _, row := range list {
		delete(row, "id")
		delete(row, "iftsta_next_attempt_at") // of the database's clock
	}
	if diff := cmp.Diff(taken.columns(t), list); diff != "" {
		t.Errorf("order (-taken at once +replayed):\n%s", diff)
	}
	settled := decode[reject](t, g.as(t, nil, http.MethodGet, rejects+"/"+kept, ""), http.StatusOK)
	got := [5]string{*settled.Settlement, *settled.SettledAt, *settled.SettledBy, *settled.SettlementReason, *settled.OrderID}
	if want := [5]string{"replayed", "2026-09-03T08:00:00Z", somebody, "URL von makod berichtigt", id}; got != want {
		t.Errorf("settled as %q, want %q", got, want)
	}
	type line struct {
		Actor         string            `json:"actor"`
		Action        string            `json:"action"`
		TransactionID string            `json:"transaction_id"`
		Detail        map[string]string `json:"detail"`
	}
	history := decode[[]line](t, g.as(t, nil, http.MethodGet, orders+"/"+id+"/history", ""), http.StatusOK)
	want := []line{{somebody, "created", callB, map[string]string{
		"reject_id": kept, "webhook_id": settled.WebhookID, "event_id": "5f0c0f64-6a0e-4f0e-9c39-0f6a3f1d7a01", "initial_transaction_id": callA,
		"uebertragungstag_source": "event",
	}}}
	if diff := cmp.Diff(want, history); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	if n := g.count(t, `SELECT count(*) FROM webhook_rejects WHERE settlement_transaction = '`+callB+`'`); n != 1 {
		t.Errorf("the delivery does not name the call")
	}
	if n := g.count(t, `SELECT count(*) FROM event_outbox WHERE ce_type = 'de.sperr.auftrag.eingegangen'`); n != 1 {
		t.Errorf("%d events of the arrival, want 1", n)
	}
}

// The Lieferant kept its Vorlauffrist three weeks ago; that nobody could read the event
// then is not its fault.
func TestReplay_leaves_the_Uebertragungstag_where_it_was(t *testing.T) {
	t.Parallel()
	type judged struct {
		Uebertragungstag string `json:"uebertragungstag"`
		Eingehalten      bool   `json:"vorlauffrist_eingehalten"`
		CreatedAt        string `json:"created_at"`
	}
	const seen = "2026-08-13T22:30:00Z" // the 14th in Berlin
	for name, c := range map[string]struct{ replace, day string }{
		"the time of the event":                {`"time": "2026-08-12T09:12:31Z"`, "2026-08-12"},
		"no time: the first receipt":           {`"time": null`, "2026-08-14"},
		"a time after it: the receipt as well": {`"time": "2026-08-20T09:12:31Z"`, "2026-08-14"},
	} {
		b := newBench(t)
		kept := b.refused(t, edited(t, `"time": "2026-08-13T09:12:31Z"`, c.replace))
		b.aged(t, kept, seen)
		id := wantQueued(t, b.replay(t, kept, ""))
		want := judged{c.day, true, "2026-09-03T08:00:00Z"}
		if diff := cmp.Diff(want, decode[judged](t, b.get(t, orders+"/"+id), http.StatusOK)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got := b.reject(t, kept).FirstSeenAt; got != seen {
			t.Errorf("%s: first seen at %s now", name, got)
		}
	}
}

func TestReplay_of_what_brings_no_order_says_so_and_settles(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	redelivery := b.refused(t, sample(t, "17115-fixed-date.json"))
	// The market was faster: makod has delivered the process once more.
	id := decode[map[string]string](t, b.deliver(t, sample(t, "17115-fixed-date.json")), http.StatusCreated)["id"]
	storno := b.refused(t, bytes.ReplaceAll(sample(t, "17115-fixed-date.json"), []byte("17115,"), []byte("39000,")))
	unknown := b.refused(t, bytes.ReplaceAll(sample(t, "17117.json"), []byte("17117"), []byte("39000")))
	foreign := b.refused(t, sample(t, "unrelated-55001.json"))
	before := b.order(t, id)

	wantReceipt(t, b.replay(t, redelivery, ""), "redelivery", id)
	if diff := cmp.Diff(before, b.order(t, id)); diff != "" {
		t.Errorf("a redelivery has changed the order:\n%s", diff)
	}
	wantReceipt(t, b.replay(t, storno, "{}"), "noted", id)
	wantReceipt(t, b.replay(t, unknown, ""), "not_ours", "")
	wantReceipt(t, b.replay(t, foreign, `{"reason":"Lieferbeginn"}`), "not_ours", "")

	if o := b.order(t, id); o.Status != "pending" || !strings.Contains(strings.Join(o.Warnungen, " "), "39000") {
		t.Errorf("order %s with warnings %q", o.Status, o.Warnungen)
	}
	for kept, order := range map[string]string{redelivery: id, storno: id, unknown: "", foreign: ""} {
		r := b.reject(t, kept)
		if r.Settlement == nil || *r.Settlement != "replayed" || (r.OrderID == nil) != (order == "") || order != "" && *r.OrderID != order {
			t.Errorf("settled as %+v, want it replayed, of order %q", r, order)
		}
	}
	if n := b.orderCount(t); n != 1 {
		t.Errorf("%d orders, want 1", n)
	}
	detail := b.count(t, `SELECT count(*) FROM sperr_order_history WHERE action = 'stornierung_received' AND actor = 'dev-admin'
		AND detail ->> 'reject_id' = '`+storno+`' AND detail ? 'webhook_id'`)
	if detail != 1 {
		t.Error("the history does not say who noted the Stornierung, and from which delivery")
	}
}
