package sperr

import (
	"time"

	"github.com/google/uuid"

	"sperrd/internal/werktag"
)

// OrderFristen are the clocks of one order, those alone that apply to it.
type OrderFristen struct {
	OrderID   uuid.UUID `json:"order_id"`
	OrderType Type      `json:"order_type"`
	Status    Status    `json:"status"`
	// Datum is the day of the visit that was asked about, Visit what would come of it;
	// nil: nobody has asked.
	Datum   *werktag.Date `json:"datum"`
	Visit   *FristVisit   `json:"visit"`
	Fristen []Frist       `json:"fristen"`
}

// FristVisit is what a visit on a day would mean for the order.
type FristVisit struct {
	// InWindow tells that the visit lies between the requested date and the end of the
	// execution window; nil where the order has no such window.
	InWindow *bool   `json:"in_window"`
	Note     *string `json:"note"`
}

// ExplainOrder tells the clocks of o on the day today and, where visit is given, what a
// visit on that day would do to them. A day that the order carries counts, also where
// the calendar gives another one by now. Nothing is changed and nothing read.
func ExplainOrder(cal *werktag.Calendar, o Order, today werktag.Date, visit *werktag.Date) OrderFristen {
	e := orderFristen{cal: cal, order: o, today: today, visit: dayOrZero(visit), t0: dayOrZero(o.RequestedDate()), fixed: o.AusfuehrungAm != nil}
	answer := OrderFristen{OrderID: o.ID, OrderType: o.OrderType, Status: o.Status, Datum: dayOrNil(e.visit)}
	if o.OrderType == TypeSperrung {
		e.sperrung()
	} else {
		e.entsperrung()
	}
	if o.OwesIFTSTA() && o.Status != StatusCancelled {
		e.add(e.iftsta())
	}
	if !e.visit.IsZero() {
		answer.Visit = e.judgeVisit()
	}
	answer.Fristen = e.fristen
	return answer
}

// orderFristen explains one order. The zero Date stands for a day that there is not.
type orderFristen struct {
	cal              *werktag.Calendar
	order            Order
	today, visit, t0 werktag.Date
	fixed            bool         // termingebunden: nobody moves the Sperrtermin
	due              werktag.Date // the last day of the execution window
	unstored         bool         // the order carries no such day, due is the calendar's
	floor            werktag.Date // the earliest Sperrtermin without a Zustimmung, whatever T0 is
	fristen          []Frist
}

func (e *orderFristen) add(f Frist) { e.fristen = append(e.fristen, f) }

// movable reports whether the Sperrtermin is still to be set.
func (e *orderFristen) movable() bool { return e.order.Status == StatusPending && !e.fixed }

// open reports whether day can be a Sperrtermin at all. A generelle Zustimmung of the MSB
// spares the Anfrage and its answer; it allows no visit before T0 and none in the past.
func (e *orderFristen) open(day werktag.Date) bool {
	return !day.Before(e.t0) && !day.Before(e.today)
}

const noSperrtermin = "Der Auftrag trägt keinen Sperrtermin, von dem an gezählt werden könnte."

func (e *orderFristen) sperrung() {
	e.add(e.ausfuehrung())
	if e.order.OwesIFTSTA() {
		e.add(e.vorlauf())
	}
	e.add(e.anfrage())
	if e.movable() {
		// Not the one that is told, which T0 may lift: no Zustimmung moves T0.
		e.floor, _ = SperrterminUntergrenze(e.cal, e.today)
		e.add(e.untergrenze(FristSperrterminOhneZustimmung))
		e.add(e.untergrenze(FristSperrterminMitZustimmung))
	}
}

// entsperrung has no clock of the visit (§ 3.5.2: unverzüglich), and no MSB is asked.
func (e *orderFristen) entsperrung() {
	eingang := e.order.Uebertragungstag
	if dayOrZero(eingang).IsZero() {
		eingang = dayOrNil(berlinDayOrZero(&e.order.CreatedAt))
	}
	f := Frist{
		Art: FristAusfuehrung, Anchor: FristAnchor{Name: "Eingang des Entsperrauftrags", Datum: eingang}, Direction: FristNone,
		Rule: "unverzüglich", Paragraph: "GPKE Teil 2 § 3.5.2, § 41f EnWG", Days: []FristDay{},
	}
	f.note("Eine Entsperrung hat keine Frist in Werktagen.")
	if stored := dayOrZero(e.order.AusfuehrungFaelligAm); !stored.IsZero() {
		f.carried(stored)
	}
	e.add(f)
}

func (e *orderFristen) ausfuehrung() Frist {
	f := e.requested(FristAusfuehrung)
	if e.fixed {
		f.note("Nach E_0470 gilt die Frist für jeden Sperrauftrag; dem LF ist der feste Sperrtermin selbst zugesagt.")
	}
	f.carried(dayOrZero(e.order.AusfuehrungFaelligAm))
	if e.due = dayOrZero(f.Stored); e.due.IsZero() {
		e.due, e.unstored = dayOrZero(f.Datum), true
	}
	return f
}

func (e *orderFristen) vorlauf() Frist {
	art := FristVorlauf
	if e.fixed {
		art = FristVorlaufTermingebunden
	}
	f := e.requested(art)
	f.carried(dayOrZero(e.order.VorlauffristSpaetesterUT))
	f.Uebertragungstag, f.Eingehalten = dayOrNil(dayOrZero(e.order.Uebertragungstag)), e.order.VorlauffristEingehalten
	if f.Uebertragungstag == nil {
		f.note("Der ÜT ist am Auftrag nicht bekannt.")
	}
	return f
}

// requested is a clock that hangs on the date the Lieferant asked for.
func (e *orderFristen) requested(art FristArt) Frist {
	r := art.rule()
	if e.fixed {
		r.anchor = anchorFest
	}
	f := r.explain(e.cal, e.t0)
	if e.t0.IsZero() {
		f.note(noSperrtermin)
	}
	return f
}

// anfrage runs from the Sperrtermin: the fixed one, else the one asked about, else from
// the earliest there can be.
func (e *orderFristen) anfrage() Frist {
	r := FristAnfrageMSB.rule()
	sperrtermin := e.t0
	switch {
	case e.fixed:
		r.anchor = anchorFest
	case !e.visit.IsZero():
		r.anchor, sperrtermin = anchorGefragt, e.visit
	default:
		r.anchor = anchorFruehestens
	}
	f := r.explain(e.cal, sperrtermin)
	switch {
	case sperrtermin.IsZero():
		f.note(noSperrtermin)
	case r.anchor == anchorFruehestens && e.order.Status == StatusPending:
		f.note("Ein späterer Sperrtermin gibt der Anfrage mehr Zeit.")
	}
	if e.order.Status == StatusPending && f.Datum != nil && f.Datum.Before(e.today) {
		if e.open(sperrtermin) {
			f.note("Der Tag ist vorbei: ohne generelle Zustimmung ist dieser Sperrtermin nicht zu halten, wenn die Anfrage nicht schon gestellt ist.")
		} else {
			f.note("Der Tag ist vorbei.")
		}
	}
	return f
}

// untergrenze is the earliest Sperrtermin that can be set today. It never lies before
// the date the Lieferant asked for.
func (e *orderFristen) untergrenze(art FristArt) Frist {
	r := art.rule()
	f := r.explain(e.cal, e.today)
	if f.Datum != nil && f.Datum.Before(e.t0) {
		counted := *f.Datum
		r.anchor, r.werktage, r.direction, r.words = anchorFruehestens, 0, FristNone, "nicht vor dem frühestmöglichen Sperrtermin"
		r.count = FristSperrterminMitZustimmung.rule().count
		f = r.explain(e.cal, e.t0)
		f.note("Von heute an gezählt wäre es schon der %s.", counted)
	}
	if f.Datum != nil && !e.due.IsZero() && f.Datum.After(e.due) {
		f.note("Das liegt nach dem %s, dem letzten Tag der Ausführungsfrist.", e.due)
	}
	return f
}

// iftsta runs from the Abschluss or, while the order is open, from the visit asked about.
func (e *orderFristen) iftsta() Frist {
	r := FristIFTSTA.rule()
	r.paragraph = paragraphIFTSTASperrung
	if e.order.OrderType == TypeEntsperrung {
		r.paragraph = paragraphIFTSTAEntsperrung
	}
	if e.order.Status == StatusPending {
		f := r.explain(e.cal, e.visit)
		if e.visit.IsZero() {
			f.note("Der Auftrag ist offen: die Frist beginnt mit dem Abschluss.")
		} else {
			f.note("Gilt, wenn der gefragte Besuch den Auftrag abschließt.")
		}
		return f
	}
	abschluss := berlinDayOrZero(e.order.ExecutedAt)
	if e.order.Status == StatusFailed {
		abschluss = berlinDayOrZero(e.order.LetzterVersuchAm)
	}
	f := r.explain(e.cal, abschluss)
	if abschluss.IsZero() {
		f.note("Der Zeitpunkt des Abschlusses steht nicht am Auftrag.")
	}
	f.carried(dayOrZero(e.order.IFTSTAFaelligAm))
	return f
}

// carried notes the day that the order carries, which counts whatever the calendar says.
func (f *Frist) carried(day werktag.Date) {
	if day.IsZero() {
		if f.Datum != nil {
			f.note("Der Auftrag trägt dafür keinen Tag; der Dienst rechnet mit keinem.")
			f.MissedFrom = nil
		}
		return
	}
	f.Stored, f.MissedFrom = &day, missedFrom(day)
	switch {
	case f.Datum == nil:
		f.note("Es gilt der Tag, den der Auftrag trägt: %s.", day)
	case *f.Datum != day:
		f.note("Der Kalender gibt jetzt den %s; es gilt der Tag, den der Auftrag trägt: %s.", *f.Datum, day)
	}
}

// dayOrZero is the zero Date for no day.
func dayOrZero(day *werktag.Date) werktag.Date {
	if day == nil {
		return werktag.Date{}
	}
	return *day
}

// berlinDayOrZero is the Berlin day of at, the zero Date for no instant and for one that has
// no such day.
func berlinDayOrZero(at *time.Time) werktag.Date {
	if at == nil || at.IsZero() {
		return werktag.Date{}
	}
	return werktag.BerlinDay(*at)
}
