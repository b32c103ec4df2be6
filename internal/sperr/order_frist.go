package sperr

import (
	"fmt"

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
	if day.InCalendar() {
		return ""
	}
	return fmt.Sprintf("is outside the calendar, which knows %d to %d", werktag.FirstYear, werktag.LastYear)
}
