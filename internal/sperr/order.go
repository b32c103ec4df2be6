package sperr

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"sperrd/internal/telemetry"
	"sperrd/internal/transaction"
	"sperrd/internal/werktag"
)

// Type says what an order asks for.
type Type string

// The two order types, spelled as the column spells them.
const (
	TypeSperrung    Type = "sperrung"
	TypeEntsperrung Type = "entsperrung"
)

// Valid reports whether t is one of the two order types.
func (t Type) Valid() bool { return t == TypeSperrung || t == TypeEntsperrung }

// The PIDs of the ORDERS that carry an order.
const (
	pidSperrauftrag    = 17115
	pidEntsperrauftrag = 17117
)

// typeOfPID is the type of the orders that a PID carries; ok is false for a PID that
// carries none.
func typeOfPID(pid int) (t Type, ok bool) {
	switch pid {
	case pidSperrauftrag:
		return TypeSperrung, true
	case pidEntsperrauftrag:
		return TypeEntsperrung, true
	}
	return "", false
}

// auftragsstatus is SG15 STS DE9015 of the IFTSTA 21039 (IFTSTA AHB 2.1 § 7.2).
func (t Type) auftragsstatus() string {
	if t == TypeEntsperrung {
		return "Z38"
	}
	return "Z37"
}

// Status is the state of an order; every state but StatusPending is terminal.
type Status string

// The four states, spelled as the column spells them.
const (
	StatusPending   Status = "pending"
	StatusExecuted  Status = "executed"
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled"
)

// Valid reports whether s is one of the four states.
func (s Status) Valid() bool {
	switch s {
	case StatusPending, StatusExecuted, StatusFailed, StatusCancelled:
		return true
	}
	return false
}

// iftstaCode is SG15 STS DE4405 of the IFTSTA 21039: Z14 erfolgreich, Z13
// gescheitert (IFTSTA AHB 2.1 § 7.2). Only StatusExecuted and StatusFailed have one.
func (s Status) iftstaCode() string {
	if s == StatusExecuted {
		return "Z14"
	}
	return "Z13"
}

// abschluss says in German how an order came to its end.
func (s Status) abschluss() string {
	switch s {
	case StatusExecuted:
		return "ausgeführt"
	case StatusFailed:
		return "gescheitert"
	case StatusCancelled:
		return "storniert"
	default:
		return string(s)
	}
}

// Arbeitszeit says when an Entsperrung may be carried out (IMD+7081).
type Arbeitszeit string

// Within working hours (Z53), or outside them as well (Z54).
const (
	ArbeitszeitInnerhalb      Arbeitszeit = "innerhalb"
	ArbeitszeitAuchAusserhalb Arbeitszeit = "auch_ausserhalb"
)

// Valid reports whether a is one of the two values.
func (a Arbeitszeit) Valid() bool {
	return a == ArbeitszeitInnerhalb || a == ArbeitszeitAuchAusserhalb
}

// arbeitszeitCodes are the codes of IMD DE7081.
var arbeitszeitCodes = map[Arbeitszeit]string{
	ArbeitszeitInnerhalb:      "Z53",
	ArbeitszeitAuchAusserhalb: "Z54",
}

// parseArbeitszeit reads a value by its code or by its word; ok is false for any
// other.
func parseArbeitszeit(s string) (a Arbeitszeit, ok bool) {
	for word, code := range arbeitszeitCodes {
		if s == code || s == string(word) {
			return word, true
		}
	}
	return "", false
}

// Order is one row of sperr_orders. Its JSON is the row of the REST interface:
// days as YYYY-MM-DD, instants as RFC 3339 in UTC, nulls present.
type Order struct {
	ID                       uuid.UUID     `db:"id" json:"id"`
	Tenant                   string        `db:"tenant" json:"tenant"`
	MaloID                   string        `db:"malo_id" json:"malo_id"`
	LieferantID              string        `db:"lf_mp_id" json:"lf_mp_id"`
	OrderType                Type          `db:"order_type" json:"order_type"`
	Pruefidentifikator       *int          `db:"pruefidentifikator" json:"pruefidentifikator"`
	ProcessID                *string       `db:"process_id" json:"process_id"`
	AusfuehrungAm            *werktag.Date `db:"ausfuehrung_am" json:"ausfuehrung_am"`
	AusfuehrungZeitpunkt     *time.Time    `db:"ausfuehrung_zeitpunkt" json:"ausfuehrung_zeitpunkt"`
	FruehestensAm            *werktag.Date `db:"fruehestens_am" json:"fruehestens_am"`
	Arbeitszeit              *Arbeitszeit  `db:"arbeitszeit" json:"arbeitszeit"`
	TreffpunktHinweis        *string       `db:"treffpunkt_hinweis" json:"treffpunkt_hinweis"`
	TreffpunktStrasse        *string       `db:"treffpunkt_strasse" json:"treffpunkt_strasse"`
	TreffpunktPLZ            *string       `db:"treffpunkt_plz" json:"treffpunkt_plz"`
	TreffpunktOrt            *string       `db:"treffpunkt_ort" json:"treffpunkt_ort"`
	TreffpunktLand           *string       `db:"treffpunkt_land" json:"treffpunkt_land"`
	Hinweis                  *string       `db:"hinweis" json:"hinweis"`
	AusfuehrungFaelligAm     *werktag.Date `db:"ausfuehrung_faellig_am" json:"ausfuehrung_faellig_am"`
	AusfuehrungEskaliertAt   *time.Time    `db:"ausfuehrung_eskaliert_at" json:"ausfuehrung_eskaliert_at"`
	VorlauffristEingehalten  *bool         `db:"vorlauffrist_eingehalten" json:"vorlauffrist_eingehalten"`
	VorlauffristSpaetesterUT *werktag.Date `db:"vorlauffrist_spaetester_ut" json:"vorlauffrist_spaetester_ut"`
	Uebertragungstag         *werktag.Date `db:"uebertragungstag" json:"uebertragungstag"` // the ÜT of the ORDERS
	Status                   Status        `db:"status" json:"status"`
	Sperrversuche            int           `db:"sperrversuche" json:"sperrversuche"`
	LetzterVersuchAm         *time.Time    `db:"letzter_versuch_am" json:"letzter_versuch_am"`
	LetzterVersuchGrund      *string       `db:"letzter_versuch_grund" json:"letzter_versuch_grund"`
	ExecutedAt               *time.Time    `db:"executed_at" json:"executed_at"`
	ExecutionNote            *string       `db:"execution_note" json:"execution_note"`
	FailReason               *string       `db:"fail_reason" json:"fail_reason"`
	PruefschrittCode         *string       `db:"pruefschritt_code" json:"pruefschritt_code"`
	IFTSTAFaelligAm          *werktag.Date `db:"iftsta_faellig_am" json:"iftsta_faellig_am"`
	IFTSTARef                *string       `db:"iftsta_ref" json:"iftsta_ref"`
	IFTSTADispatchedAt       *time.Time    `db:"iftsta_dispatched_at" json:"iftsta_dispatched_at"`
	IFTSTAAttempts           int           `db:"iftsta_attempts" json:"iftsta_attempts"`
	IFTSTALastError          *string       `db:"iftsta_last_error" json:"iftsta_last_error"`
	IFTSTAEscalatedAt        *time.Time    `db:"iftsta_escalated_at" json:"iftsta_escalated_at"`
	IFTSTANextAttemptAt      time.Time     `db:"iftsta_next_attempt_at" json:"iftsta_next_attempt_at"`
	Warnungen                []string      `db:"warnungen" json:"warnungen"`
	CreatedAt                time.Time     `db:"created_at" json:"created_at"`
	UpdatedAt                time.Time     `db:"updated_at" json:"updated_at"`
	RedactedAt               *time.Time    `db:"redacted_at" json:"redacted_at"` // address and free text are replaced since

	// IFTSTAEmpfehlung says in words what a human can do about an outcome that
	// makod did not take. It is derived, not stored.
	IFTSTAEmpfehlung *string `db:"-" json:"iftsta_empfehlung"`

	// IFTSTADiagnose says why the outcome is not with makod: how its attempts stand, what
	// makod said, what to do. It is derived, not stored.
	IFTSTADiagnose *string `db:"-" json:"iftsta_diagnose"`

	// OddValues are the values, by their columns, that only SQL can make and nothing above
	// can show; nil: there are none.
	OddValues map[string]string `db:"odd_values" json:"-"`

	Marktdaten     map[string]string `db:"marktdaten" json:"-"`
	IFTSTAUnklar   bool              `db:"iftsta_unklar" json:"-"`
	IFTSTALastCode *string           `db:"iftsta_last_code" json:"-"`

	// IFTSTAInFlight: somebody sends the outcome at this moment, or may.
	IFTSTAInFlight bool `db:"iftsta_in_flight" json:"-"`
	// IFTSTAFristGemeldet: the Frist needs no announcement any more.
	IFTSTAFristGemeldet bool `db:"iftsta_frist_gemeldet" json:"-"`
	IFTSTAResets        int  `db:"iftsta_resets" json:"-"`

	// The delivery and the event that brought a market order; nil where its id is none
	// that can be kept.
	WebhookID *string `db:"webhook_id" json:"-"`
	EventID   *string `db:"event_id" json:"-"`
	// The logical ids of the calls that created the order, reported its last visit in
	// vain and reported its outcome; nil where they had none.
	ErstelltTransaktion       *string `db:"erstellt_transaktion" json:"-"`
	LetzterVersuchTransaktion *string `db:"letzter_versuch_transaktion" json:"-"`
	AbschlussTransaktion      *string `db:"abschluss_transaktion" json:"-"`
	// UebertragungstagSource says whether the event or its receipt tells the Uebertragungstag
	// of an order that was just read. No column has it: the history of the order does.
	UebertragungstagSource string `db:"-" json:"-"`
	// The W3C traceparent of the request that brought the order and of the one that reported
	// its outcome; nil where they had none.
	Traceparent          *string `db:"traceparent" json:"-"`
	AbschlussTraceparent *string `db:"abschluss_traceparent" json:"-"`
	// IFTSTATransaktion is the transactionId of the first command with the outcome.
	IFTSTATransaktion *uuid.UUID `db:"iftsta_transaktion" json:"-"`
}

// reference is the call with the given logical id or, where there is none, the market
// event that brought the order; empty: neither is known.
func (o Order) reference(logicalID *string) string {
	if logicalID != nil {
		return transaction.Shown(*logicalID)
	}
	return text(o.EventID)
}

// lastTrace is the trace that the order was last left in by a request; nil: in none, or in
// one that only SQL can have written.
func (o Order) lastTrace() *string {
	for _, kept := range []*string{o.AbschlussTraceparent, o.Traceparent} {
		if telemetry.Kept(kept).IsValid() {
			return kept
		}
	}
	return nil
}

// RequestedDate is the day the Lieferant asked for: DTM+203, else DTM+469.
func (o Order) RequestedDate() *werktag.Date {
	if o.AusfuehrungAm != nil {
		return o.AusfuehrungAm
	}
	return o.FruehestensAm
}

// OutstandingIFTSTA reports whether the order is closed and its Lieferant does not know
// the outcome.
func (o Order) OutstandingIFTSTA() bool {
	_, dispatched := o.OddValues["iftsta_dispatched_at"]
	return o.OwesIFTSTA() && o.IFTSTADispatchedAt == nil && !dispatched && (o.Status == StatusExecuted || o.Status == StatusFailed)
}

// SpentIFTSTA reports whether the outcome is outstanding and its maxAttempts attempts are
// used up, the last one included, or the next one is never due: nothing goes on by itself.
func (o Order) SpentIFTSTA(maxAttempts int) bool {
	return o.OutstandingIFTSTA() && (o.IFTSTAAttempts >= maxAttempts || o.neverDue()) && !o.IFTSTAInFlight
}

// OwesIFTSTA reports whether a Lieferant waits for the outcome of this order. An
// operator's order has no market process and nobody to report to.
func (o Order) OwesIFTSTA() bool { return o.ProcessID != nil }

// newWarnings are those of list that do not stand on the order yet, each once.
func (o Order) newWarnings(list []string) []string {
	before := len(o.Warnungen)
	o.Warnungen = slices.Clone(o.Warnungen)
	o.warn(list...)
	return o.Warnungen[before:]
}

// treffpunkt collects the columns of SG2 NAD+Z24.
func (o Order) treffpunkt() Treffpunkt {
	return Treffpunkt{
		Hinweis: text(o.TreffpunktHinweis), Strasse: text(o.TreffpunktStrasse),
		PLZ: text(o.TreffpunktPLZ), Ort: text(o.TreffpunktOrt), Land: text(o.TreffpunktLand),
	}
}

// setTreffpunkt spreads t over its columns; an empty part is NULL.
func (o *Order) setTreffpunkt(t Treffpunkt) {
	o.TreffpunktHinweis, o.TreffpunktStrasse = nullable(t.Hinweis), nullable(t.Strasse)
	o.TreffpunktPLZ, o.TreffpunktOrt, o.TreffpunktLand = nullable(t.PLZ), nullable(t.Ort), nullable(t.Land)
}
