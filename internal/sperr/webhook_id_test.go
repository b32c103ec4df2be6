package sperr

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnOrderKeepsWhichDeliveryHasBroughtIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := marketEvent(t, pidSperrauftrag, testMalo, nil)
	e.SetID("event-1")
	receipt, err := b.service.Receive(t.Context(), "msg_1", e)
	if err != nil {
		t.Fatal(err)
	}
	order := b.get(t, receipt.OrderID)
	if text(order.WebhookID) != "msg_1" || text(order.EventID) != "event-1" {
		t.Errorf("webhook id %v, event id %v", order.WebhookID, order.EventID)
	}
	history, err := b.repo.History(t.Context(), order.ID)
	if err != nil || len(history) != 1 || string(history[0].Detail) != `{"event_id": "event-1", "webhook_id": "msg_1", "uebertragungstag_source": "event"}` {
		t.Errorf("history = %s, %v", history[0].Detail, err)
	}
	again := e.Clone()
	again.SetID("event-2")
	for _, id := range []string{"msg_1", "msg_2"} {
		got, err := b.service.Receive(t.Context(), id, again)
		if err != nil || got != (Receipt{Kind: ReceiptRedelivery, OrderID: order.ID}) {
			t.Errorf("redelivery as %s = %+v, %v", id, got, err)
		}
	}
	if diff := cmp.Diff(order, b.get(t, order.ID)); diff != "" || len(b.actions(t, order.ID)) != 1 {
		t.Errorf("a redelivery changed the order:\n%s", diff)
	}
}

func TestADeliveryAndItsOrderAreKeptTogetherOrNotAtAll(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(t, `CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$`)
	b.exec(t, `CREATE TRIGGER broken BEFORE INSERT ON event_outbox FOR EACH ROW EXECUTE FUNCTION broken()`)
	e := marketEvent(t, pidSperrauftrag, testMalo, nil)
	if _, err := b.service.Receive(t.Context(), "msg_1", e); err == nil {
		t.Fatal("no error")
	}
	b.exec(t, `DROP TRIGGER broken ON event_outbox`)
	receipt, err := b.service.Receive(t.Context(), "msg_1", e) // the same delivery once more
	if err != nil || receipt.Kind != ReceiptQueued || text(b.get(t, receipt.OrderID).WebhookID) != "msg_1" {
		t.Errorf("after a failure the redelivery is %+v, %v; want the order queued", receipt, err)
	}
}

func TestAnIDThatCannotBeKeptCostsNoOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	longest := strings.Repeat("ü", 256)
	i := 0
	for name, c := range map[string]struct {
		id   string
		kept bool
	}{
		"none":          {"", false},
		"the longest":   {longest, true},
		"too long":      {longest + "x", false},
		"a NUL":         {"msg\x00", false},
		"a line break":  {"msg\r\nX-Forged: 1", false},
		"an escape":     {"msg\x1b[2J", false},
		"a C1 control":  {"msg\u0085x", false},
		"no UTF-8":      {"msg\xff", false},
		"blanks, signs": {`"msg", 4 \ %s`, true},
	} {
		i++
		e := marketEvent(t, pidSperrauftrag, maloWith(i), nil)
		if c.id != "" { // an event has one
			e.SetID(c.id)
		}
		receipt, err := b.service.Receive(t.Context(), c.id, e)
		if err != nil || receipt.Kind != ReceiptQueued {
			t.Errorf("%s: %+v, %v; want the order queued", name, receipt, err)
			continue
		}
		want := map[bool]string{true: c.id}[c.kept]
		got := b.get(t, receipt.OrderID)
		if text(got.WebhookID) != want {
			t.Errorf("%s: webhook id %q, want %q", name, text(got.WebhookID), want)
		}
		if c.id != "" && text(got.EventID) != want {
			t.Errorf("%s: event id %q, want %q", name, text(got.EventID), want)
		}
		envelope := b.envelope(t, got.ID, EventAuftragEingegangen)
		wantCall(t, envelope, text(got.EventID), "")
	}
}
