package sperr

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/werktag"
)

// fristToday is the day on which these orders are explained, the Berlin day of testNow.
var fristToday = werktag.NewDate(2026, time.September, 3)

// fristOrder is an order as setFristen leaves it, received on the day ut.
func fristOrder(kind Type, ut string, change ...func(*Order)) Order {
	o := Order{
		OrderType: kind, ProcessID: ptr("process"), Status: StatusPending,
		Uebertragungstag: ptr(day(ut)), CreatedAt: testNow.Add(-30 * 24 * time.Hour),
	}
	for _, c := range change {
		c(&o)
	}
	if o.OwesIFTSTA() {
		o.setFristen(werktag.BDEW(), o.Uebertragungstag)
	} else {
		o.Uebertragungstag = nil
		o.setFristen(werktag.BDEW(), nil)
	}
	return o
}

func fristFrom(date string) func(*Order) { return func(o *Order) { o.FruehestensAm = ptr(day(date)) } }

func fristFixed(date string) func(*Order) { return func(o *Order) { o.AusfuehrungAm = ptr(day(date)) } }
func fristOperators(o *Order)             { o.ProcessID = nil }

func fristClosed(status Status, instant string) func(*Order) {
	return func(o *Order) {
		o.Status = status
		at, err := time.Parse(time.RFC3339, instant)
		if err != nil {
			return
		}
		if status == StatusExecuted {
			o.ExecutedAt = &at
		} else {
			o.LetzterVersuchAm = &at
		}
		faellig, _ := IFTSTAFaelligAm(werktag.BDEW(), werktag.BerlinDay(at))
		o.IFTSTAFaelligAm = &faellig
	}
}

// fristenTold is each Frist of an order in short: "art datum" or "art -".
func fristenTold(o Order, visit ...string) []string {
	var asked *werktag.Date
	if len(visit) > 0 {
		asked = ptr(day(visit[0]))
	}
	list := []string{}
	for _, f := range ExplainOrder(werktag.BDEW(), o, fristToday, asked).Fristen {
		datum := "-"
		if f.Datum != nil {
			datum = f.Datum.String()
		}
		list = append(list, string(f.Art)+" "+datum)
	}
	return list
}

// fristOf is the Frist of one art of an order.
func fristOf(t *testing.T, a OrderFristen, art FristArt) Frist {
	t.Helper()
	i := slices.IndexFunc(a.Fristen, func(f Frist) bool { return f.Art == art })
	if i < 0 {
		t.Fatalf("no %s among %+v", art, a.Fristen)
	}
	return a.Fristen[i]
}

func TestExplainOrder_tells_those_Fristen_that_apply(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		order Order
		visit []string
		want  []string
	}{
		"not termingebunden": {fristOrder(TypeSperrung, "2026-08-20", fristFrom("2026-09-01")), nil, []string{
			"ausfuehrung 2026-09-09", "vorlauf 2026-08-24", "anfrage_msb 2026-08-27",
			"sperrtermin_ohne_zustimmung 2026-09-11", "sperrtermin_mit_zustimmung 2026-09-03", "iftsta -",
		}},
		"not termingebunden, asked": {fristOrder(TypeSperrung, "2026-08-20", fristFrom("2026-09-01")), []string{"2026-09-08"}, []string{
			"ausfuehrung 2026-09-09", "vorlauf 2026-08-24", "anfrage_msb 2026-09-03",
			"sperrtermin_ohne_zustimmung 2026-09-11", "sperrtermin_mit_zustimmung 2026-09-03", "iftsta 2026-09-09",
		}},
		"far ahead": {fristOrder(TypeSperrung, "2026-09-02", fristFrom("2026-10-03")), nil, []string{
			"ausfuehrung 2026-10-12", "vorlauf 2026-09-25", "anfrage_msb 2026-09-30",
			"sperrtermin_ohne_zustimmung 2026-10-03", "sperrtermin_mit_zustimmung 2026-10-03", "iftsta -",
		}},
		"termingebunden": {fristOrder(TypeSperrung, "2026-08-20", fristFixed("2026-09-15")), nil, []string{
			"ausfuehrung 2026-09-23", "vorlauf_termingebunden 2026-08-28", "anfrage_msb 2026-09-10", "iftsta -",
		}},
		"termingebunden, asked": {fristOrder(TypeSperrung, "2026-08-20", fristFixed("2026-09-15")), []string{"2026-09-16"}, []string{
			"ausfuehrung 2026-09-23", "vorlauf_termingebunden 2026-08-28", "anfrage_msb 2026-09-10", "iftsta 2026-09-17",
		}},
		"of an operator": {fristOrder(TypeSperrung, "2026-08-20", fristOperators, fristFrom("2026-09-01")), nil, []string{
			"ausfuehrung 2026-09-09", "anfrage_msb 2026-08-27", "sperrtermin_ohne_zustimmung 2026-09-11", "sperrtermin_mit_zustimmung 2026-09-03",
		}},
		"undated": {fristOrder(TypeSperrung, "2026-08-20"), nil, []string{
			"ausfuehrung -", "vorlauf -", "anfrage_msb -", "sperrtermin_ohne_zustimmung 2026-09-11", "sperrtermin_mit_zustimmung 2026-09-03", "iftsta -",
		}},
		"undated, asked": {fristOrder(TypeSperrung, "2026-08-20"), []string{"2026-09-14"}, []string{
			"ausfuehrung -", "vorlauf -", "anfrage_msb 2026-09-09",
			"sperrtermin_ohne_zustimmung 2026-09-11", "sperrtermin_mit_zustimmung 2026-09-03", "iftsta 2026-09-15",
		}},
		"executed half past midnight": {fristOrder(TypeSperrung, "2026-08-20", fristFrom("2026-08-28"), fristClosed(StatusExecuted, "2026-08-30T22:30:00Z")), nil, []string{
			"ausfuehrung 2026-09-07", "vorlauf 2026-08-20", "anfrage_msb 2026-08-25", "iftsta 2026-09-01",
		}},
		"executed, asked": {fristOrder(TypeSperrung, "2026-08-20", fristFrom("2026-08-28"), fristClosed(StatusExecuted, "2026-08-30T22:30:00Z")), []string{"2026-09-03"}, []string{
			"ausfuehrung 2026-09-07", "vorlauf 2026-08-20", "anfrage_msb 2026-08-31", "iftsta 2026-09-01",
		}},
		"failed": {fristOrder(TypeSperrung, "2026-08-20", fristFrom("2026-08-28"), fristClosed(StatusFailed, "2026-08-28T12:00:00Z")), nil, []string{
			"ausfuehrung 2026-09-07", "vorlauf 2026-08-20", "anfrage_msb 2026-08-25", "iftsta 2026-08-31",
		}},
		"closed at an unknown time": {fristOrder(TypeSperrung, "2026-08-20", fristFrom("2026-08-28"), fristClosed(StatusFailed, "")), nil, []string{
			"ausfuehrung 2026-09-07", "vorlauf 2026-08-20", "anfrage_msb 2026-08-25", "iftsta -",
		}},
		"cancelled":                {fristOrder(TypeSperrung, "2026-08-20", fristFrom("2026-08-28"), fristClosed(StatusCancelled, "")), nil, []string{"ausfuehrung 2026-09-07", "vorlauf 2026-08-20", "anfrage_msb 2026-08-25"}},
		"Entsperrung":              {fristOrder(TypeEntsperrung, "2026-08-20"), nil, []string{"ausfuehrung -", "iftsta -"}},
		"Entsperrung, asked":       {fristOrder(TypeEntsperrung, "2026-08-20"), []string{"2026-09-05"}, []string{"ausfuehrung -", "iftsta 2026-09-07"}},
		"Entsperrung, executed":    {fristOrder(TypeEntsperrung, "2026-08-20", fristClosed(StatusExecuted, "2026-09-01T10:00:00Z")), nil, []string{"ausfuehrung -", "iftsta 2026-09-02"}},
		"Entsperrung, cancelled":   {fristOrder(TypeEntsperrung, "2026-08-20", fristClosed(StatusCancelled, "")), nil, []string{"ausfuehrung -"}},
		"Entsperrung, an operator": {fristOrder(TypeEntsperrung, "2026-08-20", fristOperators), nil, []string{"ausfuehrung -"}},
	} {
		if diff := cmp.Diff(c.want, fristenTold(c.order, c.visit...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestExplainOrder_keeps_what_the_order_carries(t *testing.T) {
	t.Parallel()
	o := fristOrder(TypeSperrung, "2026-08-24", fristFrom("2026-09-01"), fristClosed(StatusExecuted, "2026-09-02T10:00:00Z"))
	plain := ExplainOrder(werktag.BDEW(), o, fristToday, nil)
	for art, want := range map[FristArt]string{FristAusfuehrung: "2026-09-09", FristVorlauf: "2026-08-24", FristIFTSTA: "2026-09-03"} {
		f := fristOf(t, plain, art)
		if f.Stored == nil || f.Stored.String() != want || *f.Datum != *f.Stored || strings.Contains(text(f.Note), "trägt") {
			t.Errorf("%s: %+v, note %s; want %s and no word about it", art, f, text(f.Note), want)
		}
	}
	if f := fristOf(t, plain, FristVorlauf); f.Eingehalten == nil || !*f.Eingehalten || f.Uebertragungstag.String() != "2026-08-24" {
		t.Errorf("Vorlauf %+v: want the verdict and the ÜT of the order", f)
	}

	changed := werktag.BDEW().With([]werktag.Date{day("2026-09-03"), day("2026-08-28")})
	now := ExplainOrder(changed, o, fristToday, nil)
	for art, want := range map[FristArt][]string{
		FristAusfuehrung: {"2026-09-10", "2026-09-09", "2026-09-09T22:00:00Z"},
		FristVorlauf:     {"2026-08-21", "2026-08-24", "2026-08-24T22:00:00Z"},
		FristIFTSTA:      {"2026-09-04", "2026-09-03", "2026-09-03T22:00:00Z"},
	} {
		f := fristOf(t, now, art)
		got := []string{f.Datum.String(), f.Stored.String(), f.MissedFrom.Format(time.RFC3339)}
		sentence := "Der Kalender gibt jetzt den " + want[0] + "; es gilt der Tag, den der Auftrag trägt: " + want[1] + "."
		if diff := cmp.Diff(want, got); diff != "" || !strings.Contains(text(f.Note), sentence) {
			t.Errorf("%s, note %q (-want +got):\n%s", art, text(f.Note), diff)
		}
	}
}

func TestExplainOrder_says_what_the_order_does_not_carry(t *testing.T) {
	t.Parallel()
	o := fristOrder(TypeSperrung, "2026-08-24", fristFrom("2026-09-01"))
	o.AusfuehrungFaelligAm, o.VorlauffristSpaetesterUT, o.VorlauffristEingehalten, o.Uebertragungstag = nil, nil, nil, nil
	a := ExplainOrder(werktag.BDEW(), o, fristToday, nil)
	for _, art := range []FristArt{FristAusfuehrung, FristVorlauf} {
		if f := fristOf(t, a, art); f.Stored != nil || !strings.Contains(text(f.Note), "trägt dafür keinen Tag") {
			t.Errorf("%s: %+v, note %s", art, f, text(f.Note))
		}
	}
	if f := fristOf(t, a, FristVorlauf); f.Eingehalten != nil || !strings.Contains(text(f.Note), "ÜT ist am Auftrag nicht bekannt") {
		t.Errorf("Vorlauf without its day: %+v, note %s", f, text(f.Note))
	}
	undated := ExplainOrder(werktag.BDEW(), fristOrder(TypeSperrung, "2026-08-24"), fristToday, nil)
	for _, art := range []FristArt{FristAusfuehrung, FristVorlauf, FristAnfrageMSB} {
		if f := fristOf(t, undated, art); !strings.Contains(text(f.Note), "trägt keinen Sperrtermin") || f.Anchor.Datum != nil {
			t.Errorf("%s of an undated order: %+v, note %s", art, f, text(f.Note))
		}
	}
}

func TestExplainOrder_of_an_Entsperrung_is_unverzueglich(t *testing.T) {
	t.Parallel()
	o := fristOrder(TypeEntsperrung, "2026-08-20", fristClosed(StatusExecuted, "2026-09-01T10:00:00Z"))
	a := ExplainOrder(werktag.BDEW(), o, fristToday, nil)
	f := fristOf(t, a, FristAusfuehrung)
	if f.Rule != "unverzüglich" || f.Paragraph != "GPKE Teil 2 § 3.5.2, § 41f EnWG" || f.Direction != FristNone || f.Werktage != 0 ||
		f.MissedFrom != nil || f.Anchor.Datum.String() != "2026-08-20" {
		t.Errorf("ausfuehrung %+v", f)
	}
	if f := fristOf(t, a, FristIFTSTA); f.Paragraph != "GPKE Teil 2 § 3.5.2.2 Nr. 4" {
		t.Errorf("iftsta of an Entsperrung rests on %s", f.Paragraph)
	}
	sperrung := ExplainOrder(werktag.BDEW(), fristOrder(TypeSperrung, "2026-08-20"), fristToday, nil)
	if f := fristOf(t, sperrung, FristIFTSTA); f.Paragraph != "GPKE Teil 2 § 3.5.1.2 Nr. 5" {
		t.Errorf("iftsta of a Sperrung rests on %s", f.Paragraph)
	}
}

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
		{movable, "2026-09-01", "false", []string{"liegt zurück", "vor dem Sperrtermin, den der LF verlangt: 2026-09-02", "frühestens der 2026-09-11"}},
		{movable, "2026-09-02", "true", []string{"liegt zurück"}},
		{movable, "2026-09-05", "true", []string{"Kein Werktag: Samstag.", "Nur mit genereller Zustimmung"}},
		{movable, "2026-09-10", "true", []string{"frühestens der 2026-09-11"}},
		{movable, "2026-09-11", "false", []string{"nach dem letzten Tag der Ausführungsfrist: 2026-09-10"}},
		{appointed, "2026-09-07", "true", nil},
		{appointed, "2026-09-08", "true", []string{"Der Sperrtermin ist fest", "2026-09-07"}},
		{fristOrder(TypeSperrung, "2026-08-20"), "2026-09-14", "unknown", []string{"trägt keinen Sperrtermin"}},
		{fristOrder(TypeEntsperrung, "2026-08-20"), "2026-09-14", "unknown", []string{"kein Fenster"}},
		{fristOrder(TypeSperrung, "2026-08-20", fristFrom("2026-09-02"), fristClosed(StatusCancelled, "")), "2026-09-03", "true", []string{"nicht mehr offen (cancelled)"}},
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

// What only SQL can put into a row: no day is guessed, nothing fails.
func TestExplainOrder_survives_every_odd_row(t *testing.T) {
	t.Parallel()
	days := []*werktag.Date{nil, {}, ptr(day("0001-01-01")), ptr(day("2018-12-31")), ptr(day("2026-09-01")), ptr(day("2036-01-01")), ptr(day("9999-12-31"))}
	instants := []*time.Time{nil, {}, ptr(time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC)), ptr(time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)), ptr(testNow)}
	for _, kind := range []Type{TypeSperrung, TypeEntsperrung} {
		for _, status := range []Status{StatusPending, StatusExecuted, StatusFailed, StatusCancelled} {
			for i, d := range days {
				for j, at := range instants {
					o := Order{
						OrderType: kind, Status: status, ProcessID: ptr("process"), ExecutedAt: at, LetzterVersuchAm: at, IFTSTAFaelligAm: d,
						FruehestensAm: d, AusfuehrungFaelligAm: days[len(days)-1-i], VorlauffristSpaetesterUT: d, Uebertragungstag: d,
					}
					if j%2 == 0 {
						o.AusfuehrungAm = d
					}
					for _, visit := range days {
						if _, err := json.Marshal(ExplainOrder(werktag.BDEW(), o, dayOrZero(days[(i+j)%len(days)]), visit)); err != nil {
							t.Fatalf("%+v: %v", o, err)
						}
					}
				}
			}
		}
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
