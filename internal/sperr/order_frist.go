package sperr

import (
	"fmt"
	"time"

	"sperrd/internal/werktag"
)

// setFristen counts what hangs on the requested date: the execution window, and
// for a market order (ut given) the verdict on the Lieferant's Vorlauffrist, which
// is recorded and never enforced. An Entsperrung has no date and no such Frist.
func (o *Order) setFristen(cal *werktag.Calendar, ut *werktag.Date) {
	t0 := o.RequestedDate()
	if o.OrderType != TypeSperrung || t0 == nil {
		return
	}
	faellig, err := AusfuehrungFaelligAm(cal, *t0)
	var warnings []string
	o.AusfuehrungFaelligAm, warnings = countedFrist("ausfuehrung_faellig_am", faellig, err)
	o.warn(warnings...)
	if ut == nil {
		return
	}
	verdict, err := JudgeVorlauffrist(cal, *t0, o.AusfuehrungAm != nil, *ut)
	o.VorlauffristSpaetesterUT, warnings = countedFrist("vorlauffrist_spaetester_ut", verdict.SpaetesterUT, err)
	o.warn(warnings...)
	if err == nil {
		o.VorlauffristEingehalten = &verdict.Eingehalten
	}
}

// countedFrist is the day, or nil with a warning where the calendar cannot tell: a
// Frist is never guessed, and its absence is no reason to lose a fact.
func countedFrist(name string, day werktag.Date, err error) (*werktag.Date, []string) {
	if err != nil {
		return nil, []string{fmt.Sprintf("%s could not be counted: %v", name, err)}
	}
	return &day, nil
}

// outsideCalendar says why a day cannot be a requested date: no Frist can be
// counted from it. It is empty for a day the calendar knows.
func outsideCalendar(day werktag.Date) string {
	if day.Year() < werktag.FirstYear || day.Year() > werktag.LastYear {
		return fmt.Sprintf("is outside the calendar, which knows %d to %d", werktag.FirstYear, werktag.LastYear)
	}
	return ""
}

const (
	clockSkew = 30 * time.Second    // a field device may run this far ahead
	longAgo   = 30 * 24 * time.Hour // a report about an older visit is unusual
)

// fieldTime reads when a visit took place: RFC 3339 with an offset, never guessed,
// not after now. A device up to clockSkew ahead is taken for now, so that the
// completion never lies after the document (IFTSTA AHB 2.1, condition [495]).
func fieldTime(field, value string, now time.Time) (time.Time, error) {
	invalid := &ValidationError{Subject: SubjectReport}
	t, err := parseRFC3339(value)
	if err != nil || t.UTC().Year() < 1 {
		invalid.add(field, fmt.Sprintf("%q is no RFC 3339 time with an offset", truncate(value, 40)))
		return time.Time{}, invalid
	}
	if t.After(now.Add(clockSkew)) {
		invalid.add(field, "lies in the future")
		return time.Time{}, invalid
	}
	if t.After(now) {
		t = now
	}
	return t.UTC(), nil
}

// fieldTimeWarnings are what is odd, but possible, about the time of a visit.
func fieldTimeWarnings(field string, at, now time.Time, o Order) []string {
	var warnings []string
	if at.Before(o.CreatedAt) {
		warnings = append(warnings, fmt.Sprintf("%s lies before the arrival of the order", field))
	}
	if now.Sub(at) > longAgo {
		warnings = append(warnings, fmt.Sprintf("%s lies more than 30 days before the report", field))
	}
	return warnings
}
