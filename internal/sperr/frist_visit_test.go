package sperr

import (
	"strings"
	"testing"

	"sperrd/internal/werktag"
)

func TestExplainOrder_judges_the_visit_that_is_asked_about(t *testing.T) {
	t.Parallel()
	movable := fristOrder(TypeSperrung, "2026-08-20", fristFrom("2026-09-02"))
	appointed := fristOrder(TypeSperrung, "2026-08-20", fristFixed("2026-09-07"))
	for _, c := range []struct {
		order  Order
		visit  string
		window string
		notes  []string
	}{
		{movable, "2026-09-01", "false", []string{"liegt zurück", "vor dem Sperrtermin, den der LF verlangt: 2026-09-02"}},
		{movable, "2026-09-02", "true", []string{"liegt zurück"}},
		{movable, "2026-09-05", "true", []string{"Kein Werktag: Samstag.", "Nur mit genereller Zustimmung"}},
		{movable, "2026-09-10", "true", []string{"frühestens der 2026-09-11"}},
		{movable, "2026-09-11", "false", []string{"nach dem letzten Tag der Ausführungsfrist: 2026-09-10"}},
		{appointed, "2026-09-07", "true", nil},
		{appointed, "2026-09-08", "true", []string{"Der Sperrtermin ist fest", "2026-09-07"}},
		{fristOrder(TypeSperrung, "2026-08-20"), "2026-09-14", "unknown", []string{"trägt keinen Sperrtermin"}},
		{fristOrder(TypeEntsperrung, "2026-08-20"), "2026-09-14", "unknown", []string{"kein Fenster"}},
		{fristOrder(TypeSperrung, "2026-08-20", fristFrom("2026-09-02"), fristClosed(StatusCancelled, "")), "2026-09-03", "true", []string{"nicht mehr offen (storniert)"}},
		{fristOrder(TypeSperrung, "2026-08-20", fristClosed(StatusExecuted, "2026-09-02T10:00:00Z")), "2026-09-03", "unknown", []string{"nicht mehr offen (ausgeführt)"}},
		{fristOrder(TypeSperrung, "2026-08-20", fristClosed(StatusFailed, "2026-09-02T10:00:00Z")), "2026-09-03", "unknown", []string{"nicht mehr offen (gescheitert)"}},
	} {
		v := ExplainOrder(werktag.BDEW(), c.order, fristToday, ptr(day(c.visit))).Visit
		window := map[bool]string{true: "true", false: "false"}[v.InWindow != nil && *v.InWindow]
		if v.InWindow == nil {
			window = "unknown"
		}
		if window != c.window || (len(c.notes) == 0) != (v.Note == nil) {
			t.Errorf("visit %s: in the window %s, note %q; want %s", c.visit, window, text(v.Note), c.window)
		}
		for _, want := range c.notes {
			if !strings.Contains(text(v.Note), want) {
				t.Errorf("visit %s: note %q does not say %q", c.visit, text(v.Note), want)
			}
		}
	}
	if a := ExplainOrder(werktag.BDEW(), movable, fristToday, nil); a.Visit != nil || a.Datum != nil {
		t.Errorf("nobody has asked, and %+v", a)
	}
}

// The window is the one that the order carries, not the one of a calendar changed since.
func TestExplainOrder_measures_the_visit_on_the_stored_window(t *testing.T) {
	t.Parallel()
	o := fristOrder(TypeSperrung, "2026-08-20", fristFrom("2026-09-02"))
	changed := werktag.BDEW().With([]werktag.Date{day("2026-09-09")})
	if v := ExplainOrder(changed, o, fristToday, ptr(day("2026-09-11"))).Visit; *v.InWindow {
		t.Errorf("a visit after the stored day is in the window: %s", text(v.Note))
	}
}

func TestExplainOrder_says_when_the_window_is_that_of_the_calendar_alone(t *testing.T) {
	t.Parallel()
	const sentence = "Der Auftrag trägt kein Ende der Ausführungsfrist; vom Kalender her ist es der 2026-09-10."
	o := fristOrder(TypeSperrung, "2026-08-20", fristFrom("2026-09-02"))
	for visit, in := range map[string]bool{"2026-09-10": true, "2026-09-11": false} {
		if v := ExplainOrder(werktag.BDEW(), o, fristToday, ptr(day(visit))).Visit; strings.Contains(text(v.Note), "vom Kalender her") {
			t.Errorf("the order carries the day, and visit %s: note %q", visit, text(v.Note))
		}
		bare := o
		bare.AusfuehrungFaelligAm = nil
		if v := ExplainOrder(werktag.BDEW(), bare, fristToday, ptr(day(visit))).Visit; *v.InWindow != in || !strings.Contains(text(v.Note), sentence) {
			t.Errorf("the order carries no day, and visit %s: in the window %t, note %q", visit, *v.InWindow, text(v.Note))
		}
	}
}

// A generelle Zustimmung spares the Anfrage and its answer. It allows no visit before T0 and
// none in the past, and where T0 lies behind the 6 WT nothing hangs on it.
func TestExplainOrder_names_the_Zustimmung_where_the_visit_hangs_on_it_alone(t *testing.T) {
	t.Parallel()
	const sentence = "Nur mit genereller Zustimmung des MSB, oder wenn die Anfrage schon gestellt ist: sonst ist frühestens der 2026-09-11 möglich."
	for _, c := range []struct {
		t0    string // empty: undated
		visit string
		hangs bool
	}{
		{"2026-09-01", "2026-09-02", false},
		{"2026-09-01", "2026-09-03", true},
		{"2026-09-01", "2026-09-10", true},
		{"2026-09-01", "2026-09-11", false},
		{"2026-09-07", "2026-09-04", false},
		{"2026-09-07", "2026-09-07", true},
		{"2026-10-01", "2026-09-10", false},
		{"2026-10-01", "2026-09-15", false},
		{"2026-10-01", "2026-09-30", false},
		{"2026-10-01", "2026-10-01", false},
		{"", "2026-09-10", true},
		{"", "2026-09-11", false},
	} {
		o := fristOrder(TypeSperrung, "2026-08-20")
		if c.t0 != "" {
			o = fristOrder(TypeSperrung, "2026-08-20", fristFrom(c.t0))
		}
		v := ExplainOrder(werktag.BDEW(), o, fristToday, ptr(day(c.visit))).Visit
		if strings.Contains(text(v.Note), sentence) != c.hangs || strings.Contains(text(v.Note), "Zustimmung") != c.hangs {
			t.Errorf("T0 %s, visit %s: note %q; hangs on the Zustimmung: want %t", c.t0, c.visit, text(v.Note), c.hangs)
		}
	}
}
