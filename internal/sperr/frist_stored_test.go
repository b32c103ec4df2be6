package sperr

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/werktag"
)

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
		if f := fristOf(t, a, art); f.Stored != nil || f.MissedFrom != nil || f.Datum == nil || !strings.Contains(text(f.Note), "trägt dafür keinen Tag") {
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
