package sperr

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
)

func TestWhatAHumanShouldSeeIsAWarningInTheLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	b := newBench(t, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	odd := marketEvent(t, pidSperrauftrag, testMalo, nil)
	odd.SetExtension("makopid", 0)
	for text, e := range map[string]event.Event{
		"event is not for the queue":                odd,
		"Stornierung of a process without an order": marketEvent(t, pidStornierung, testMalo, nil),
	} {
		log.Reset()
		if _, err := b.service.Receive(t.Context(), "", e); err != nil {
			t.Fatal(err)
		}
		if line := log.String(); !strings.Contains(line, "level=WARN") || !strings.Contains(line, text) {
			t.Errorf("log = %q, want a warning %q", line, text)
		}
	}
}

func TestRedeliveryGuard(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, again, marktd := sample(t, "17115-fixed-date.json"), sample(t, "17115-fixed-date.json"), sample(t, "17115-redelivered-by-marktd.json")
	receipt, err := b.service.Receive(t.Context(), "", first)
	if err != nil || receipt.Kind != ReceiptQueued {
		t.Fatalf("first = %+v, %v", receipt, err)
	}
	stored := b.get(t, receipt.OrderID)
	upper := sample(t, "17115-fixed-date.json")
	upper.SetSubject(strings.ToUpper(upper.Subject()))
	for name, e := range map[string]event.Event{"same": again, "through marktd": marktd, "process in upper case": upper} {
		got, err := b.service.Receive(t.Context(), "", e)
		if err != nil || got != (Receipt{Kind: ReceiptRedelivery, OrderID: receipt.OrderID}) {
			t.Errorf("%s = %+v, %v", name, got, err)
		}
	}
	if diff := cmp.Diff(stored, b.get(t, receipt.OrderID)); diff != "" {
		t.Errorf("a redelivery changed the order:\n%s", diff)
	}
	if diff := cmp.Diff([]string{EventAuftragEingegangen}, b.events(t, receipt.OrderID)); diff != "" {
		t.Errorf("events:\n%s", diff)
	}
}

func TestARedeliveryThatContradictsIsAConflict(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	original := sample(t, "17115-fixed-date.json")
	receipt, err := b.service.Receive(t.Context(), "", original)
	if err != nil {
		t.Fatal(err)
	}
	stored := b.get(t, receipt.OrderID)
	for field, value := range map[string]any{
		"malo_id": otherMalo, "lf_mp_id": "4012345000023", "ausfuehrung_am": "2026-09-02",
		"treffpunkt": map[string]any{"ort": "Potsdam"}, "hinweis": "anders",
	} {
		var data map[string]any
		if err := original.DataAs(&data); err != nil {
			t.Fatal(err)
		}
		data[field] = value
		e := original.Clone()
		if err := e.SetData("application/json", data); err != nil {
			t.Fatal(err)
		}
		_, err := b.service.Receive(t.Context(), "", e)
		var conflict *ProcessConflictError
		if !errors.As(err, &conflict) || conflict.OrderID != receipt.OrderID || !strings.HasPrefix(conflict.Fields[0], field) {
			t.Errorf("%s: %v, want a conflict about it", field, err)
		}
	}
	if diff := cmp.Diff(stored, b.get(t, receipt.OrderID)); diff != "" {
		t.Errorf("a conflict changed the order:\n%s", diff)
	}
}

func TestARedeliveryIsComparedWithAnOrderPutInBySQL(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := marketEvent(t, pidSperrauftrag, testMalo, nil)
	b.exec(t, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, pruefidentifikator, process_id, fruehestens_am)
		VALUES ($1, $2, $3, 'sperrung', 17115, $4, '2026-09-01')`, testTenant, testMalo, testLF, e.Subject())
	if receipt, err := b.service.Receive(t.Context(), "", e); err != nil || receipt.Kind != ReceiptRedelivery {
		t.Errorf("the same order = %+v, %v; want a redelivery", receipt, err)
	}
	other := marketEvent(t, pidSperrauftrag, otherMalo, nil)
	other.SetSubject(e.Subject())
	var conflict *ProcessConflictError
	if _, err := b.service.Receive(t.Context(), "", other); !errors.As(err, &conflict) {
		t.Errorf("another MaLo = %v, want a conflict", err)
	}
}

func TestParallelDeliveriesOfOneProcessMakeOneOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	receipts := make([]Receipt, 20)
	var wg sync.WaitGroup
	for i := range receipts {
		wg.Go(func() {
			var err error
			if receipts[i], err = b.service.Receive(t.Context(), "", sample(t, "17115-fixed-date.json")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	queued := slices.IndexFunc(receipts, func(r Receipt) bool { return r.Kind == ReceiptQueued })
	for i, r := range receipts {
		if r.OrderID != receipts[queued].OrderID || (i != queued) != (r.Kind == ReceiptRedelivery) {
			t.Errorf("delivery %d = %+v", i, r)
		}
	}
	if n := column[int](t, b.pool, `SELECT count(*)::int FROM event_outbox`)[0]; n != 1 {
		t.Errorf("%d events, want 1", n)
	}
}

func TestAStornierungIsNotedOnItsOrderOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	storno := marketEvent(t, pidStornierung, testMalo, nil)
	storno.SetSubject(*order.ProcessID)
	for range 2 {
		if _, err := b.service.Receive(t.Context(), "", storno); err != nil {
			t.Fatal(err)
		}
	}
	got := b.get(t, order.ID)
	if got.Status != StatusPending || !hasWarning(got, "ORDCHG 39000") || len(got.Warnungen) != len(order.Warnungen)+1 {
		t.Errorf("order = %s, %q", got.Status, got.Warnungen)
	}
	if diff := cmp.Diff([]string{actionCreated, actionStornierung}, b.actions(t, order.ID)); diff != "" {
		t.Errorf("history:\n%s", diff)
	}
	again, err := b.service.Receive(t.Context(), "", storno)
	if err != nil || again != (Receipt{Kind: ReceiptNoted, OrderID: order.ID}) {
		t.Errorf("the same Stornierung again = %+v, %v", again, err)
	}
	storno.SetSubject("p\x00")
	_, err = b.service.Receive(t.Context(), "", storno)
	wantInvalid(t, err, SubjectEvent, "subject")
	storno.SetSubject(*order.ProcessID)
	if err := storno.SetData("application/json", map[string]any{"receiver": "9900000000001"}); err != nil {
		t.Fatal(err)
	}
	if foreign, err := b.service.Receive(t.Context(), "", storno); err != nil || foreign.Kind != ReceiptNotOurs {
		t.Errorf("Stornierung for another Netzbetreiber = %+v, %v", foreign, err)
	}
	unknown, err := b.service.Receive(t.Context(), "", marketEvent(t, pidStornierung, otherMalo, nil))
	if err != nil || unknown.Kind != ReceiptNotOurs {
		t.Errorf("Stornierung of an unknown process = %+v, %v", unknown, err)
	}
}
