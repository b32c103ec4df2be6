package sperr

import (
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"

	"sperrd/internal/outbox"
	"sperrd/internal/werktag"
)

// The catalogue: one type per thing that happens to an order.
const (
	EventAuftragEingegangen      = "de.sperr.auftrag.eingegangen"
	EventAusgefuehrt             = "de.sperr.ausgefuehrt"
	EventVersuchGescheitert      = "de.sperr.versuch.gescheitert"
	EventFehlgeschlagen          = "de.sperr.fehlgeschlagen"
	EventStorniert               = "de.sperr.storniert"
	EventAusfuehrungUeberfaellig = "de.sperr.ausfuehrung.ueberfaellig"
	EventIFTSTAAusstehend        = "de.sperr.iftsta.ausstehend"
)

// newEvent is the envelope. The id is derived (UUIDv5 of order id, type and
// ordinal), so that telling of the same change twice is one event.
func newEvent(o Order, eventType string, ordinal int, subject string, at time.Time) event.Event {
	e := event.New()
	e.SetID(uuid.NewSHA1(o.ID, fmt.Appendf(nil, "%s/%d", eventType, ordinal)).String())
	e.SetSource("urn:mako:sperrd:tenant:" + o.Tenant)
	e.SetType(eventType)
	e.SetSubject(subject)
	e.SetTime(at.UTC())
	return e
}

// The extensions that say which call an event answers (API-Guideline of EDI@Energy).
const (
	extensionReference   = "referenceid"   // the first call of the operation
	extensionTransaction = "transactionid" // the call that did it
)

// refer says which call, or market event, e answers; empty: nobody knows.
func refer(e *event.Event, id string) {
	if id != "" {
		e.SetExtension(extensionReference, id)
	}
}

// entryOf is e as the outbox keeps it. traceparent is the trace of the change, if it was in
// one; the event names it to whoever reads it.
func entryOf(o Order, e event.Event, traceparent *string) outbox.Entry {
	if traceparent != nil {
		e.SetExtension("traceparent", *traceparent)
	}
	return outbox.Entry{Tenant: o.Tenant, OrderID: o.ID, Event: e, Traceparent: traceparent}
}

func withData(e event.Event, data any) (event.Event, error) {
	if err := e.SetData(event.ApplicationJSON, data); err != nil {
		return event.Event{}, fmt.Errorf("build event %s: %w", e.Type(), err)
	}
	return e, nil
}

// eventSubject names the order an event is about; every event carries it.
type eventSubject struct {
	OrderID     uuid.UUID `json:"order_id"`
	MaloID      string    `json:"malo_id"`
	LieferantID string    `json:"lf_mp_id"`
}

func subjectOf(o Order) eventSubject {
	return eventSubject{OrderID: o.ID, MaloID: o.MaloID, LieferantID: o.LieferantID}
}

// auftragEingegangen tells that an order entered the queue.
func auftragEingegangen(o Order, at time.Time) (event.Event, error) {
	var arbeitszeit *string
	if o.Arbeitszeit != nil {
		arbeitszeit = nullable(arbeitszeitCodes[*o.Arbeitszeit])
	}
	return withData(newEvent(o, EventAuftragEingegangen, 0, o.MaloID, at), struct {
		eventSubject
		OrderType     Type    `json:"order_type"`
		PID           *int    `json:"pid"`
		ProcessID     *string `json:"process_id"`
		AusfuehrungAm *string `json:"ausfuehrung_am"`
		FruehestensAm *string `json:"fruehestens_am"`
		Arbeitszeit   *string `json:"arbeitszeit"`
	}{
		subjectOf(o), o.OrderType, o.Pruefidentifikator, o.ProcessID,
		dayText(o.AusfuehrungAm), dayText(o.FruehestensAm), arbeitszeit,
	})
}

// outcomeData is common to the two outcome events. iftsta_dispatched is false in
// both, since the event is written before anything is sent; iftsta_geschuldet says
// whether a Lieferant waits for the report at all.
type outcomeData struct {
	eventSubject
	Status           Status `json:"status"`
	IFTSTACode       string `json:"iftsta_code"`
	IFTSTADispatched bool   `json:"iftsta_dispatched"`
	IFTSTAGeschuldet bool   `json:"iftsta_geschuldet"`
	Detail           any    `json:"detail"`
}

func outcomeOf(o Order, detail any) outcomeData {
	return outcomeData{
		eventSubject: subjectOf(o), Status: o.Status, IFTSTACode: o.Status.iftstaCode(),
		IFTSTAGeschuldet: o.OwesIFTSTA(), Detail: detail,
	}
}

// ausgefuehrt tells that the order was carried out (IFTSTA Z14).
func ausgefuehrt(o Order, at time.Time) (event.Event, error) {
	return withData(newEvent(o, EventAusgefuehrt, 0, o.ID.String(), at), outcomeOf(o, struct {
		Fertigstellung   *time.Time `json:"fertigstellung"`
		Note             *string    `json:"note"`
		PruefschrittCode *string    `json:"pruefschritt_code"`
	}{o.ExecutedAt, o.ExecutionNote, o.PruefschrittCode}))
}

// versuchGescheitert tells that a visit failed and the order stayed open: nothing
// is reported to the Lieferant yet (GPKE Teil 2 § 3.5.1.2 Nr. 5).
func versuchGescheitert(o Order, at time.Time) (event.Event, error) {
	return withData(newEvent(o, EventVersuchGescheitert, o.Sperrversuche, o.MaloID, at), struct {
		eventSubject
		Grund         string `json:"grund"`
		Sperrversuche int    `json:"sperrversuche"`
		Verbleibend   int    `json:"verbleibend"`
	}{subjectOf(o), text(o.LetzterVersuchGrund), o.Sperrversuche, maxSperrversuche - o.Sperrversuche})
}

// fehlgeschlagen tells that the order ended without its act (IFTSTA Z13).
func fehlgeschlagen(o Order, at time.Time) (event.Event, error) {
	return withData(newEvent(o, EventFehlgeschlagen, 0, o.ID.String(), at), outcomeOf(o, struct {
		Reason           *string `json:"reason"`
		PruefschrittCode *string `json:"pruefschritt_code"`
	}{o.FailReason, o.PruefschrittCode}))
}

// storniert tells that a pending order was withdrawn.
func storniert(o Order, at time.Time) (event.Event, error) {
	return withData(newEvent(o, EventStorniert, 0, o.MaloID, at), struct {
		eventSubject
		Note string `json:"note"`
	}{subjectOf(o), "withdrawn before execution, no IFTSTA 21039"})
}

// ausfuehrungUeberfaellig tells that the execution window closed with the order
// still open.
func ausfuehrungUeberfaellig(o Order, at time.Time) (event.Event, error) {
	e := newEvent(o, EventAusfuehrungUeberfaellig, 0, o.MaloID, at)
	refer(&e, o.reference(o.ErstelltTransaktion))
	return withData(e, struct {
		eventSubject
		FaelligAm *string `json:"faellig_am"`
		Frist     string  `json:"frist"`
	}{subjectOf(o), dayText(o.AusfuehrungFaelligAm), FristAusfuehrung.rule().cited()})
}

// iftstaAusstehend tells that the Lieferant is still uninformed after maxAttempts
// attempts or past the Frist, with the attempts really made. It is told once per
// cycle: a reset begins a new one.
func iftstaAusstehend(o Order, maxAttempts int, at time.Time) (event.Event, error) {
	e := newEvent(o, EventIFTSTAAusstehend, o.IFTSTAResets, o.ID.String(), at)
	refer(&e, o.reference(o.AbschlussTransaktion))
	return withData(e, struct {
		eventSubject
		Attempts    int    `json:"attempts"`
		MaxAttempts int    `json:"max_attempts"`
		LastError   string `json:"last_error"`
		Impact      string `json:"impact"`
	}{
		subjectOf(o), o.IFTSTAAttempts, maxAttempts, text(o.IFTSTALastError),
		"LF not informed; its gpke-sperrung-lf process stays open",
	})
}

// dayText is the day as YYYY-MM-DD, nil for none.
func dayText(day *werktag.Date) *string {
	if day == nil {
		return nil
	}
	s := day.String()
	return &s
}
