package sperr

import (
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"sperrd/internal/werktag"
)

// readDates reads DTM+203 and DTM+469, which exist on a 17115 only and exclude
// each other (ORDERS AHB 1.1b, conditions [55] and [56]).
func readDates(o *Order, invalid *ValidationError, data marketData) {
	fixed, fixedOK := data.scalar("ausfuehrung_am")
	earliest, earliestOK := data.scalar("fruehestens_am")
	if o.OrderType == TypeEntsperrung {
		if fixedOK || earliestOK {
			o.warn("an Entsperrauftrag carries no date; the one given was ignored")
		}
		return
	}
	switch {
	case fixedOK && earliestOK:
		invalid.add("ausfuehrung_am", "excludes fruehestens_am (DTM+203, DTM+469)")
	case fixedOK:
		if t, ok := readTermin(o, invalid, "ausfuehrung_am", fixed); ok {
			o.AusfuehrungAm, o.AusfuehrungZeitpunkt = &t.day, t.instant
		}
	case earliestOK:
		if t, ok := readTermin(o, invalid, "fruehestens_am", earliest); ok {
			o.FruehestensAm = &t.day
			if t.instant != nil && !t.instant.Equal(t.day.Start()) {
				o.warn("fruehestens_am names an hour, which is not kept; the day is " + t.day.String())
			}
		}
	default:
		o.warn("the Sperrauftrag carries neither DTM+203 nor DTM+469, so no Frist is counted")
	}
}

// readTermin reads a date in whichever form; the forms mean the same, and only a guess is
// worth a warning.
func readTermin(o *Order, invalid *ValidationError, field, value string) (termin, bool) {
	t, err := parseDTM(value)
	if err != nil {
		invalid.add(field, fmt.Sprintf("%q is no date this service can read", truncate(value, 40)))
		return termin{}, false
	}
	if reason := outsideCalendar(t.day); reason != "" {
		invalid.add(field, reason)
		return termin{}, false
	}
	if t.guessed {
		o.warn(fmt.Sprintf("%s %q names no offset and was read as UTC: %s", field, value, t.instant.Format(time.RFC3339)))
	}
	return t, true
}

// futureTime is how far a sender's clock may run ahead of ours without a word.
const futureTime = 5 * time.Minute

// readUebertragungstag reads on which day the Netzbetreiber received the ORDERS: the day of
// the event's own time where it is given and not after our receipt, else of that receipt. A
// delivery that comes late through no fault of the Lieferant does not move it. A time that
// no calendar knows would put the order into no month at all.
func readUebertragungstag(o *Order, e event.Event, received time.Time) {
	at, source := received, "receipt"
	switch t := e.Time(); {
	case e.Context.AsV1().Time == nil: // none: the zero time is a time
	case t.After(received.Add(futureTime)):
		o.warn(fmt.Sprintf("the event says that it is of %s, after its receipt, whose day counts as Übertragungstag", t.UTC().Format(time.RFC3339)))
	case t.After(received):
	case !werktag.BerlinDay(t).InCalendar():
		o.warn(fmt.Sprintf("the event says that it is of %s, outside the calendar; the day of its receipt counts as Übertragungstag", t.UTC().Format(time.RFC3339)))
	default:
		at, source = t, "event"
	}
	day := werktag.BerlinDay(at)
	o.Uebertragungstag, o.UebertragungstagSource = &day, source
}
