package sperr

import (
	"slices"
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
