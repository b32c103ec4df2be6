package sperr

import (
	"fmt"
	"time"

	"sperrd/internal/werktag"
)

// Frist is one clock explained: what it runs from, by which rule, over which days.
type Frist struct {
	Art FristArt `json:"art"`
	// Datum is the day that the calendar gives; nil where it is not counted, and then
	// Note says why.
	Datum *werktag.Date `json:"datum"`
	// Stored is the day that an order carries and which counts; nil where it carries
	// none, and outside an order.
	Stored    *werktag.Date  `json:"stored"`
	Anchor    FristAnchor    `json:"anchor"`
	Werktage  int            `json:"werktage"`
	Direction FristDirection `json:"direction"`
	Rule      string         `json:"rule"`
	Paragraph string         `json:"paragraph"`
	// MissedFrom is 00:00 in Berlin after the last day, which is Stored where there is
	// one; nil for a day from which on something is allowed.
	MissedFrom *time.Time `json:"missed_from"`
	// Uebertragungstag and Eingehalten are what an order knows of the Vorlauf of its
	// Lieferant; nil for every other clock.
	Uebertragungstag *werktag.Date `json:"uebertragungstag"`
	Eingehalten      *bool         `json:"eingehalten"`
	// Days leads from the day beside the anchor to Datum, day by day.
	Days []FristDay `json:"days"`
	Note *string    `json:"note"`
}

// FristAnchor is the day from which a Frist runs. It does not count itself.
type FristAnchor struct {
	Name  string        `json:"name"`
	Datum *werktag.Date `json:"datum"`
}

// FristDay is one day of a count.
type FristDay struct {
	Datum     werktag.Date `json:"datum"`
	Wochentag string       `json:"wochentag"`
	Counted   bool         `json:"counted"`
	// Werktag is the number of the day in the count, 0 for a day that does not count.
	Werktag int     `json:"werktag"`
	Reason  *string `json:"reason"` // why it does not count
}

// Fristen are clocks that run from one day.
type Fristen struct {
	Datum   werktag.Date `json:"datum"`
	Art     *FristArt    `json:"art"` // nil: all of them
	Fristen []Frist      `json:"fristen"`
}

// ExplainFristen tells what comes of day as the anchor of the clock art, or of every
// clock where art is empty. An art that is none has no Frist. A day that the calendar
// does not know, and a count that leads out of it, has a Frist without Datum.
func ExplainFristen(cal *werktag.Calendar, day werktag.Date, art FristArt) Fristen {
	all := Fristen{Datum: day, Fristen: []Frist{}}
	if art != "" {
		all.Art = &art
	}
	for _, r := range fristRegister {
		if art == "" || art == r.art {
			all.Fristen = append(all.Fristen, r.explain(cal, day))
		}
	}
	return all
}

// explain counts from day, of which the zero Date is no day at all.
func (r fristRule) explain(cal *werktag.Calendar, day werktag.Date) Frist {
	f := Frist{
		Art: r.art, Anchor: FristAnchor{Name: r.anchor, Datum: dayOrNil(day)}, Werktage: r.werktage, Direction: r.direction,
		Rule: r.text(), Paragraph: r.paragraph, Days: []FristDay{},
	}
	if r.note != "" {
		f.note("%s", r.note)
	}
	if day.IsZero() {
		return f
	}
	datum, err := r.count(cal, day)
	if err != nil {
		f.note("%s", notCounted(day))
		return f
	}
	f.Datum, f.Days = &datum, r.days(cal, day, datum)
	if !r.floor {
		f.MissedFrom = missedFrom(datum)
	}
	if reason := cal.Reason(datum); reason != "" {
		f.note("Dieser Tag ist kein Werktag: %s.", reason)
	}
	return f
}

// days is the way from the anchor to the day that was counted.
func (r fristRule) days(cal *werktag.Calendar, anchor, datum werktag.Date) []FristDay {
	step := 1
	if r.direction == FristBackward {
		step = -1
	}
	days := []FristDay{}
	n := 0
	for d := anchor; d != datum && !d.IsZero(); {
		d = d.AddDays(step)
		day := FristDay{Datum: d, Wochentag: d.Wochentag(), Reason: nullable(cal.Reason(d))}
		if day.Reason == nil {
			n++
			day.Counted, day.Werktag = true, n
		}
		days = append(days, day)
	}
	return days
}

// note adds a sentence.
func (f *Frist) note(format string, args ...any) { f.Note = sentenceAdded(f.Note, format, args...) }

func sentenceAdded(note *string, format string, args ...any) *string {
	sentence := fmt.Sprintf(format, args...)
	if note != nil {
		sentence = *note + " " + sentence
	}
	return &sentence
}

// notCounted says why there is no Frist from day: the calendar knows nothing there, and
// a Frist is never guessed.
func notCounted(day werktag.Date) string {
	if !day.InCalendar() {
		return fmt.Sprintf("Nicht gezählt: %s liegt außerhalb des Kalenders, der %d bis %d kennt.", day, werktag.FirstYear, werktag.LastYear)
	}
	return fmt.Sprintf("Nicht gezählt: die Frist von %s führt aus dem Kalender hinaus, der %d bis %d kennt.", day, werktag.FirstYear, werktag.LastYear)
}

// missedFrom is when a Frist that ends with the day last is missed; nil where time ends.
func missedFrom(last werktag.Date) *time.Time {
	next := last.AddDays(1)
	if next.IsZero() {
		return nil
	}
	at := next.Start().UTC()
	return &at
}

func dayOrNil(day werktag.Date) *werktag.Date {
	if day.IsZero() {
		return nil
	}
	return &day
}
