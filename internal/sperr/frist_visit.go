package sperr

// judgeVisit says what a visit on the day asked about would mean.
func (e *orderFristen) judgeVisit() *FristVisit {
	v := &FristVisit{}
	note := func(format string, args ...any) { v.Note = sentenceAdded(v.Note, format, args...) }
	if e.order.Status != StatusPending {
		note("Der Auftrag ist nicht mehr offen (%s): ein Besuch ändert nichts an seinen Fristen.", e.order.Status.abschluss())
	}
	if reason := e.cal.Reason(e.visit); reason != "" {
		note("Kein Werktag: %s. Ein Besuch ist auch dann möglich.", reason)
	}
	if e.visit.Before(e.today) {
		note("Der Tag liegt zurück.")
	}
	if e.order.OrderType != TypeSperrung {
		note("Eine Entsperrung hat kein Fenster: sie ist unverzüglich geschuldet.")
		return v
	}
	if e.t0.IsZero() {
		note(noSperrtermin)
	} else {
		v.InWindow = e.inWindow(note)
	}
	if e.open(e.visit) && e.visit.Before(e.floor) {
		note("Nur mit genereller Zustimmung des MSB, oder wenn die Anfrage schon gestellt ist: sonst ist frühestens der %s möglich.", e.floor)
	}
	return v
}

// inWindow is nil where nobody knows when the window ends.
func (e *orderFristen) inWindow(note func(format string, args ...any)) *bool {
	if e.due.IsZero() {
		note("Das Ende der Ausführungsfrist ist nicht bekannt.")
		return nil
	}
	if e.unstored {
		note("Der Auftrag trägt kein Ende der Ausführungsfrist; vom Kalender her ist es der %s.", e.due)
	}
	switch {
	case e.visit.Before(e.t0):
		note("Der Tag liegt vor dem Sperrtermin, den der LF verlangt: %s.", e.t0)
	case e.visit.After(e.due):
		note("Der Tag liegt nach dem letzten Tag der Ausführungsfrist: %s.", e.due)
	}
	if e.fixed && e.visit != e.t0 {
		note("Der Sperrtermin ist fest: an einem anderen Tag als dem %s ist die Zusage an den LF gebrochen.", e.t0)
	}
	in := !e.visit.Before(e.t0) && !e.visit.After(e.due)
	return &in
}
