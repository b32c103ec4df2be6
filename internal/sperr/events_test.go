package sperr

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// goldenOrder is an order with every field an event can carry.
func goldenOrder() Order {
	executedAt := time.Date(2026, 9, 1, 7, 45, 12, 0, time.UTC)
	return Order{
		ID: uuid.MustParse("6a0f6f0e-9c55-4b0e-8a0e-2f3d9f6f1b11"), Tenant: testTenant, MaloID: testMalo, LieferantID: testLF,
		OrderType: TypeSperrung, Pruefidentifikator: ptr(17115), ProcessID: ptr("0b7c1e2a-1111-4000-8000-000000000001"),
		AusfuehrungAm: ptr(day("2026-09-01")), AusfuehrungFaelligAm: ptr(day("2026-09-09")),
		Status: StatusExecuted, Sperrversuche: 1, LetzterVersuchGrund: ptr("niemand angetroffen"),
		ExecutedAt: &executedAt, ExecutionNote: ptr("TW-2026-0901-001"), FailReason: ptr("Zutritt verweigert"), PruefschrittCode: ptr("A07"),
		IFTSTAAttempts: 5, IFTSTALastError: ptr("409 invalid_state: found Rejected"), IFTSTAResets: 2,
		EventID: ptr("7d1f6f0e-1111-4b0e-8a0e-2f3d9f6f1b11"), AbschlussTransaktion: ptr("3c9f6f0e-2222-4b0e-8a0e-2f3d9f6f1b11"),
		IFTSTATransaktion: ptr(uuid.MustParse("9e0f6f0e-3333-4b0e-8a0e-2f3d9f6f1b11")),
	}
}

func TestEventsAreGolden(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 9, 1, 10, 20, 0, 0, time.FixedZone("CEST", 7200))
	market, operator, failed := goldenOrder(), goldenOrder(), goldenOrder()
	operator.ProcessID, operator.Pruefidentifikator, operator.AusfuehrungAm = nil, nil, nil
	operator.OrderType, operator.Arbeitszeit = TypeEntsperrung, ptr(ArbeitszeitAuchAusserhalb)
	failed.Status, failed.PruefschrittCode = StatusFailed, ptr("A02")
	for name, build := range map[string]func() (event.Event, error){
		"auftrag.eingegangen":          func() (event.Event, error) { return auftragEingegangen(market, at) },
		"auftrag.eingegangen.operator": func() (event.Event, error) { return auftragEingegangen(operator, at) },
		"ausgefuehrt":                  func() (event.Event, error) { return ausgefuehrt(market, at) },
		"ausgefuehrt.operator":         func() (event.Event, error) { return ausgefuehrt(operator, at) },
		"versuch.gescheitert":          func() (event.Event, error) { return versuchGescheitert(market, at) },
		"fehlgeschlagen":               func() (event.Event, error) { return fehlgeschlagen(failed, at) },
		"storniert":                    func() (event.Event, error) { return storniert(market, at) },
		"ausfuehrung.ueberfaellig":     func() (event.Event, error) { return ausfuehrungUeberfaellig(market, at) },
		"iftsta.ausstehend":            func() (event.Event, error) { return iftstaAusstehend(market, testMaxAttempts, at) },
	} {
		e, err := build()
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		wantGolden(t, name, e)
	}
}

// wantGolden compares v as JSON with its golden file.
func wantGolden(t *testing.T, name string, v any) {
	t.Helper()
	compact, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, compact, "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	path := filepath.Join("testdata", "golden", name+".json")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestAnEventIDIsDerivedFromTheChange(t *testing.T) {
	t.Parallel()
	o := goldenOrder()
	id := func(o Order, build func(Order, time.Time) (event.Event, error)) string {
		e, err := build(o, testNow)
		if err != nil {
			t.Fatal(err)
		}
		return e.ID()
	}
	if again := goldenOrder(); id(o, ausgefuehrt) != id(again, ausgefuehrt) {
		t.Error("the same change has two ids")
	}
	ids := map[string]bool{id(o, ausgefuehrt): true, id(o, fehlgeschlagen): true, id(o, storniert): true, id(o, versuchGescheitert): true}
	o.Sperrversuche = 2
	ids[id(o, versuchGescheitert)] = true
	o.ID = uuid.New()
	ids[id(o, ausgefuehrt)] = true
	ausstehend := func(o Order, at time.Time) (event.Event, error) { return iftstaAusstehend(o, 8, at) }
	ids[id(o, ausstehend)] = true
	o.IFTSTAResets++
	ids[id(o, ausstehend)] = true
	if len(ids) != 8 {
		t.Errorf("%d ids for 8 changes", len(ids))
	}
}

func TestTheOutboxHoldsTheEventAsItIsSent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	want, err := auftragEingegangen(order, order.CreatedAt)
	refer(&want, *order.EventID)
	if err != nil {
		t.Fatal(err)
	}
	got := b.envelope(t, order.ID, EventAuftragEingegangen)
	var wantData, gotData map[string]any
	if err := errors.Join(want.DataAs(&wantData), got.DataAs(&gotData)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantData, gotData); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Context.String(), got.Context.String()); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if tenants := column[string](t, b.pool, `SELECT tenant FROM event_outbox`); len(tenants) != 1 || tenants[0] != testTenant {
		t.Errorf("tenants in the outbox = %v", tenants)
	}
}
