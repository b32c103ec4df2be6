package sperr

import (
	"slices"
	"strings"
	"testing"

	"sperrd/internal/werktag"
)

func TestExplainOrder_floor_says_when_the_window_cannot_be_kept(t *testing.T) {
	t.Parallel()
	late := ExplainOrder(werktag.BDEW(), fristOrder(TypeSperrung, "2026-08-20", fristFrom("2026-09-01")), fristToday, nil)
	if f := fristOf(t, late, FristSperrterminOhneZustimmung); !strings.Contains(text(f.Note), "nach dem 2026-09-09, dem letzten Tag der Ausführungsfrist") {
		t.Errorf("note %s", text(f.Note))
	}
	early := fristOf(t, ExplainOrder(werktag.BDEW(), fristOrder(TypeSperrung, "2026-09-02", fristFrom("2026-10-01")), fristToday, nil), FristSperrterminOhneZustimmung)
	if early.Anchor.Name != "frühestmöglicher Sperrtermin" || early.Direction != FristNone || len(early.Days) != 0 || !strings.Contains(text(early.Note), "schon der 2026-09-11") {
		t.Errorf("T0 later than the count: %+v, note %s", early, text(early.Note))
	}
}

func TestExplainOrder_says_on_what_the_Anfrage_hangs(t *testing.T) {
	t.Parallel()
	const later, over = "Ein späterer Sperrtermin gibt der Anfrage mehr Zeit.", "Der Tag ist vorbei"
	for _, c := range []struct {
		order         Order
		visit, anchor string
		notes         []string
	}{
		{fristOrder(TypeSperrung, "2026-08-20", fristFrom("2026-09-01")), "", "frühestmöglicher Sperrtermin 2026-09-01", []string{later, over}},
		{fristOrder(TypeSperrung, "2026-08-20", fristFrom("2026-09-08")), "", "frühestmöglicher Sperrtermin 2026-09-08", []string{later}},
		{fristOrder(TypeSperrung, "2026-08-20", fristFrom("2026-09-01")), "2026-09-08", "gefragter Sperrtermin 2026-09-08", nil},
		{fristOrder(TypeSperrung, "2026-08-20", fristFrom("2026-09-01")), "2026-09-07", "gefragter Sperrtermin 2026-09-07", []string{over}},
		{fristOrder(TypeSperrung, "2026-08-20", fristFixed("2026-09-15")), "2026-09-07", "fester Sperrtermin 2026-09-15", nil},
		{fristOrder(TypeSperrung, "2026-08-20", fristFrom("2026-08-28"), fristClosed(StatusExecuted, "2026-08-28T10:00:00Z")), "", "frühestmöglicher Sperrtermin 2026-08-28", nil},
	} {
		var visit *werktag.Date
		if c.visit != "" {
			visit = ptr(day(c.visit))
		}
		f := fristOf(t, ExplainOrder(werktag.BDEW(), c.order, fristToday, visit), FristAnfrageMSB)
		if got := f.Anchor.Name + " " + f.Anchor.Datum.String(); got != c.anchor {
			t.Errorf("anchor %q, want %q", got, c.anchor)
		}
		for _, sentence := range []string{later, over} {
			if strings.Contains(text(f.Note), sentence) != slices.Contains(c.notes, sentence) {
				t.Errorf("%s, asked about %q: note %q, want just %q of the two", c.anchor, c.visit, text(f.Note), c.notes)
			}
		}
	}
}

func TestExplainOrder_promises_no_Sperrtermin_that_no_Zustimmung_allows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		t0, visit string
		hangs     bool
	}{
		{"2026-09-04", "2026-09-04", true},
		{"2026-09-01", "2026-09-02", false}, // in the past
		{"2026-10-01", "2026-09-04", false}, // before T0
	} {
		o := fristOrder(TypeSperrung, "2026-08-20", fristFrom(c.t0))
		f := fristOf(t, ExplainOrder(werktag.BDEW(), o, fristToday, ptr(day(c.visit))), FristAnfrageMSB)
		if note := text(f.Note); !strings.Contains(note, "Der Tag ist vorbei") || strings.Contains(note, "nicht zu halten") != c.hangs {
			t.Errorf("T0 %s, visit %s: note %q; hangs on the Zustimmung: want %t", c.t0, c.visit, note, c.hangs)
		}
	}
}
