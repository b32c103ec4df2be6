package sperr

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/types"

	"sperrd/internal/werktag"
)

func sample(t *testing.T, name string) event.Event {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "events", name))
	if err != nil {
		t.Fatal(err)
	}
	var e event.Event
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

func testIngester() ingester {
	return ingester{tenant: testTenant, calendar: werktag.BDEW(), now: func() time.Time { return testNow }}
}

func TestASperrauftragWithAFixedDateBecomesAnOrder(t *testing.T) {
	t.Parallel()
	kind, o, err := testIngester().read(sample(t, "17115-fixed-date.json"), testNow)
	if err != nil || kind != kindOrder {
		t.Fatalf("read = %v, %v", kind, err)
	}
	if o.OrderType != TypeSperrung || *o.Pruefidentifikator != 17115 || o.MaloID != testMalo || o.LieferantID != testLF ||
		*o.ProcessID != "0b7c1e2a-1111-4000-8000-000000000001" || text(o.Hinweis) != "Gerichtsvollzieher ist 9 Uhr vor Ort" {
		t.Errorf("order = %+v", o)
	}
	want := Treffpunkt{Hinweis: "Zaehlerraum UG", Strasse: "Lindenallee 7", PLZ: "10115", Ort: "Berlin", Land: "DE"}
	if o.treffpunkt() != want {
		t.Errorf("Treffpunkt = %+v", o.treffpunkt())
	}
	if o.AusfuehrungAm.String() != "2026-09-01" || o.FruehestensAm != nil || o.AusfuehrungFaelligAm.String() != "2026-09-09" {
		t.Errorf("dates = %v, %v, due %v", o.AusfuehrungAm, o.FruehestensAm, o.AusfuehrungFaelligAm)
	}
	if o.VorlauffristSpaetesterUT.String() != "2026-08-14" || !*o.VorlauffristEingehalten {
		t.Errorf("Vorlauffrist = %v, %v", o.VorlauffristSpaetesterUT, *o.VorlauffristEingehalten)
	}
}

func TestASperrauftragWithAnEarliestDateBecomesAnOrder(t *testing.T) {
	t.Parallel()
	_, o, err := testIngester().read(sample(t, "17115-earliest-date.json"), testNow)
	if err != nil {
		t.Fatal(err)
	}
	if o.LieferantID != "4012345000023" || o.FruehestensAm.String() != "2026-09-03" || o.AusfuehrungAm != nil ||
		text(o.TreffpunktLand) != "DE" || o.AusfuehrungFaelligAm.String() != "2026-09-11" ||
		o.VorlauffristSpaetesterUT.String() != "2026-08-26" || !*o.VorlauffristEingehalten {
		t.Errorf("order = %+v", o)
	}
}

func TestEntsperrauftragKeepsItsArbeitszeitAndHasNoFrist(t *testing.T) {
	t.Parallel()
	_, o, err := testIngester().read(sample(t, "17117.json"), testNow)
	if err != nil {
		t.Fatal(err)
	}
	if o.OrderType != TypeEntsperrung || *o.Arbeitszeit != ArbeitszeitAuchAusserhalb || o.AusfuehrungFaelligAm != nil || o.VorlauffristEingehalten != nil {
		t.Errorf("order = %+v", o)
	}
	for value, want := range map[string]Arbeitszeit{
		"Z53": ArbeitszeitInnerhalb, "Z54": ArbeitszeitAuchAusserhalb,
		"innerhalb": ArbeitszeitInnerhalb, "auch_ausserhalb": ArbeitszeitAuchAusserhalb,
	} {
		_, o, err := testIngester().read(marketEvent(t, pidEntsperrauftrag, testMalo, map[string]any{"arbeitszeit": value}), testNow)
		if err != nil || o.Arbeitszeit == nil || *o.Arbeitszeit != want {
			t.Errorf("%s: %v, %v", value, o.Arbeitszeit, err)
		}
	}
}

func TestEventsOfOthersAreNotOurs(t *testing.T) {
	t.Parallel()
	events := map[string]event.Event{"17116": sample(t, "17116.json"), "55001": sample(t, "unrelated-55001.json")}
	for name, change := range map[string]func(*event.Event){
		"type":         func(e *event.Event) { e.SetType("de.mako.process.completed") },
		"gas workflow": func(e *event.Event) { e.SetExtension("makoworkflow", "geli-gas-sperrung-nb") },
		"LF workflow":  func(e *event.Event) { e.SetExtension("makoworkflow", "gpke-sperrung-lf") },
		"makopid 0":    func(e *event.Event) { e.SetExtension("makopid", 0) },
		"ORDRSP":       func(e *event.Event) { e.SetExtension("makopid", 19116) },
		"no PID, no workflow": func(e *event.Event) {
			e.SetExtension("makopid", nil)
			e.SetExtension("makoworkflow", nil)
			_ = e.SetData("application/json", map[string]any{})
		},
		"type and no ID": func(e *event.Event) { e.SetType("x"); e.SetSubject("") },
	} {
		e := marketEvent(t, pidSperrauftrag, testMalo, nil)
		change(&e)
		events[name] = e
	}
	for name, e := range events {
		if kind, _, err := testIngester().read(e, testNow); kind != kindNotOurs || err != nil {
			t.Errorf("%s: %v, %v; want not ours", name, kind, err)
		}
	}
}

func TestThePIDIsANumberOrAStringOfDigits(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*event.Event){
		"string":      func(e *event.Event) { e.SetExtension("makopid", "17115") },
		"data.pid":    func(e *event.Event) { e.SetExtension("makopid", nil) },
		"no workflow": func(e *event.Event) { e.SetExtension("makoworkflow", nil) },
	} {
		e := marketEvent(t, pidSperrauftrag, testMalo, nil)
		change(&e)
		if kind, o, err := testIngester().read(e, testNow); kind != kindOrder || err != nil || o.OrderType != TypeSperrung {
			t.Errorf("%s: %v, %v", name, kind, err)
		}
	}
	e := marketEvent(t, pidSperrauftrag, testMalo, nil)
	e.SetExtension("makopid", "17115x")
	_, _, err := testIngester().read(e, testNow)
	wantInvalid(t, err, SubjectEvent, "makopid")
}

func TestAPIDNobodyCanReadIsNeverTakenForNotOurs(t *testing.T) {
	t.Parallel()
	for _, pid := range []any{"17117 ", 17117.5, "x", true, []any{17115}} {
		e := marketEvent(t, pidSperrauftrag, testMalo, map[string]any{"pid": pid})
		e.SetExtension("makopid", nil)
		_, _, err := testIngester().read(e, testNow)
		wantInvalid(t, err, SubjectEvent, "data.pid")
	}
}

func TestAnEventOfOurWorkflowWithoutAnyPIDIsRefused(t *testing.T) {
	t.Parallel()
	for _, pid := range []any{nil, "", json.RawMessage("null")} {
		e := marketEvent(t, pidSperrauftrag, testMalo, map[string]any{"pid": pid})
		e.SetExtension("makopid", nil)
		_, _, err := testIngester().read(e, testNow)
		wantInvalid(t, err, SubjectEvent, "makopid")
	}
}

func TestAnEventThatIsNotOursButLooksLikeItIsNoticed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*event.Event)
		want   bool
	}{
		"makopid 0":              {func(e *event.Event) { e.SetExtension("makopid", 0) }, true},
		"workflow in upper case": {func(e *event.Event) { e.SetExtension("makoworkflow", "GPKE-Sperrung ") }, true},
		"gas":                    {func(e *event.Event) { e.SetExtension("makoworkflow", "geli-gas-sperrung-nb") }, false},
		"another type":           {func(e *event.Event) { e.SetType("de.mako.process.completed") }, false},
		"another PID": {func(e *event.Event) {
			e.SetExtension("makopid", 17116)
			_ = e.SetData("application/json", map[string]any{"pid": 17116})
		}, false},
	} {
		e := marketEvent(t, pidSperrauftrag, testMalo, nil)
		c.change(&e)
		if kind, _, err := testIngester().read(e, testNow); kind != kindNotOurs || err != nil || mistakable(e) != c.want {
			t.Errorf("%s: kind %v, %v, noticed %v, want %v", name, kind, err, mistakable(e), c.want)
		}
	}
}

func TestANumericPostcodeIsKept(t *testing.T) {
	t.Parallel()
	_, o, err := testIngester().read(marketEvent(t, pidSperrauftrag, testMalo, map[string]any{
		"treffpunkt": map[string]any{"strasse": "Lindenallee 7", "plz": 10115, "ort": "Berlin", "land": "DE"},
	}), testNow)
	if err != nil || text(o.TreffpunktPLZ) != "10115" {
		t.Errorf("plz = %q, %v", text(o.TreffpunktPLZ), err)
	}
}

func TestUnusableEventsAreRefusedWithTheirReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		data  map[string]any
		field string
	}{
		{"no MaLo", map[string]any{"malo_id": nil}, "malo_id"},
		{"empty MaLo", map[string]any{"malo_id": ""}, "malo_id"},
		{"null MaLo", map[string]any{"malo_id": json.RawMessage("null")}, "malo_id"},
		{"MaLo with a wrong check digit", map[string]any{"malo_id": "51238696782"}, "malo_id"},
		{"MaLo as a number", map[string]any{"malo_id": 5123869}, "malo_id"},
		{"MaLo with blanks", map[string]any{"malo_id": " 51238696012"}, "malo_id"},
		{"MaLo with NUL", map[string]any{"malo_id": "5123869601\x00"}, "malo_id"},
		{"MaLo in Arabic digits", map[string]any{"malo_id": "٥١٢٣٨٦٩٦٠١٢"}, "malo_id"},
		{"no LF", map[string]any{"lf_mp_id": nil}, "lf_mp_id"},
		{"malformed LF", map[string]any{"lf_mp_id": "990001234567"}, "lf_mp_id"},
		{"another receiver", map[string]any{"receiver": "9900000000001"}, "receiver"},
		{"both dates", map[string]any{"ausfuehrung_am": "20260901"}, "ausfuehrung_am"},
		{"a date of words", map[string]any{"fruehestens_am": "morgen"}, "fruehestens_am"},
		{"a day that does not exist", map[string]any{"fruehestens_am": "20260230"}, "fruehestens_am"},
		{"a date as number", map[string]any{"fruehestens_am": 12}, "fruehestens_am"},
		{"a date before the calendar", map[string]any{"fruehestens_am": "2018-12-31"}, "fruehestens_am"},
		{"a date after the calendar", map[string]any{"fruehestens_am": "9999-01-01"}, "fruehestens_am"},
		{"infinity", map[string]any{"fruehestens_am": "infinity"}, "fruehestens_am"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := testIngester().read(marketEvent(t, pidSperrauftrag, testMalo, c.data), testNow)
			wantInvalid(t, err, SubjectEvent, c.field)
		})
	}
	for name, change := range map[string]func(*event.Event){
		"subject": func(e *event.Event) { e.SetSubject("") },
		"data":    func(e *event.Event) { _ = e.SetData("application/json", []any{}) },
	} {
		e := marketEvent(t, pidSperrauftrag, testMalo, nil)
		change(&e)
		_, _, err := testIngester().read(e, testNow)
		wantInvalid(t, err, SubjectEvent, name)
	}
}

func TestDatesAreBerlinDaysInEveryForm(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]struct{ day, instant string }{
		"20260831":                  {"2026-08-31", ""},
		"2026-08-31":                {"2026-08-31", ""},
		"202608302200":              {"2026-08-31", "2026-08-30T22:00:00Z"},
		"202608302200+00":           {"2026-08-31", "2026-08-30T22:00:00Z"},
		"202608310000+02":           {"2026-08-31", "2026-08-30T22:00:00Z"},
		"2026-08-30T22:00:00Z":      {"2026-08-31", "2026-08-30T22:00:00Z"},
		"2026-08-31T00:00:00+02:00": {"2026-08-31", "2026-08-30T22:00:00Z"},
		"2026-08-30T22:00:00":       {"2026-08-31", "2026-08-30T22:00:00Z"},
		"202611292300":              {"2026-11-30", "2026-11-29T23:00:00Z"},
		"2026-09-01T06:00:00Z":      {"2026-09-01", "2026-09-01T06:00:00Z"},
	} {
		_, o, err := testIngester().read(marketEvent(t, pidSperrauftrag, testMalo, map[string]any{"fruehestens_am": nil, "ausfuehrung_am": value}), testNow)
		if err != nil {
			t.Errorf("%s: %v", value, err)
			continue
		}
		instant := ""
		if o.AusfuehrungZeitpunkt != nil {
			instant = o.AusfuehrungZeitpunkt.Format(time.RFC3339)
		}
		if o.AusfuehrungAm.String() != want.day || instant != want.instant {
			t.Errorf("%s: %s at %q, want %s at %q", value, o.AusfuehrungAm, instant, want.day, want.instant)
		}
	}
	for _, value := range []string{"2026083022", "20260830220000", "202608302460", "2026-8-31", "202608302200+0", "2026-08-30 22:00:00Z", "２０２６０８３１"} {
		if _, err := parseDTM(value); err == nil {
			t.Errorf("%q was read", value)
		}
	}
}

func TestLesserFaultsAreWarningsOnTheOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		pid     int
		data    map[string]any
		warning string
	}{
		{"no date", pidSperrauftrag, map[string]any{"fruehestens_am": nil}, "neither DTM+203 nor DTM+469"},
		{"a date on an Entsperrung", pidEntsperrauftrag, map[string]any{"fruehestens_am": "wann auch immer"}, "carries no date"},
		{"no Arbeitszeit", pidEntsperrauftrag, map[string]any{"arbeitszeit": nil}, "carries no Arbeitszeit"},
		{"unknown Arbeitszeit", pidEntsperrauftrag, map[string]any{"arbeitszeit": "Z99"}, "neither Z53 nor Z54"},
		{"Arbeitszeit on a Sperrung", pidSperrauftrag, map[string]any{"arbeitszeit": "Z53"}, "carries no Arbeitszeit; the one given"},
		{"partial Treffpunkt", pidSperrauftrag, map[string]any{"treffpunkt": map[string]any{"ort": "Berlin"}}, "plz, land, strasse or hinweis missing"},
		{"unusable land", pidSperrauftrag, map[string]any{"treffpunkt": map[string]any{"land": "D3U"}}, "was dropped"},
		{"a Hinweis that is no text", pidSperrauftrag, map[string]any{"hinweis": map[string]any{"a": 1}}, "hinweis is no text"},
		{"a postcode that is no text", pidSperrauftrag, map[string]any{"treffpunkt": map[string]any{"plz": []any{1}}}, "treffpunkt.plz is no text"},
		{"Treffpunkt as text", pidSperrauftrag, map[string]any{"treffpunkt": "vor der Tür"}, "is no JSON object and was ignored"},
		{"over-long text", pidSperrauftrag, map[string]any{"hinweis": strings.Repeat("ü", 2561)}, "was cut to 2560"},
		{"NUL", pidSperrauftrag, map[string]any{"hinweis": "a\x00b"}, "NUL characters were removed from hinweis"},
		{"outside ISO 8859-1", pidSperrauftrag, map[string]any{"hinweis": "50 €"}, "U+20AC"},
		{"check digit of the LF", pidSperrauftrag, nil, "has check digit 8, but 9 would fit"},
		{"two PIDs", pidSperrauftrag, map[string]any{"pid": 17117}, "data.pid is 17117"},
		{"two Lieferanten", pidSperrauftrag, map[string]any{"sender": "4012345000023"}, "data.sender differs"},
		{"fixed date without Treffpunkt", pidSperrauftrag, map[string]any{"fruehestens_am": nil, "ausfuehrung_am": "20260901"}, "without a Treffpunkt"},
		{"no Frist countable", pidSperrauftrag, map[string]any{"fruehestens_am": "2035-12-30"}, "ausfuehrung_faellig_am could not be counted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, o, err := testIngester().read(marketEvent(t, c.pid, testMalo, c.data), testNow)
			if err != nil || !hasWarning(o, c.warning) {
				t.Errorf("warnings %q, %v; want %q", o.Warnungen, err, c.warning)
			}
			if strings.Contains(text(o.Hinweis), "\x00") || len([]rune(text(o.Hinweis))) > maxFreeText || text(o.TreffpunktLand) == "D3U" {
				t.Errorf("the order carries what cannot be stored: %+v", o)
			}
			if o.OrderType == TypeEntsperrung && (o.AusfuehrungAm != nil || o.FruehestensAm != nil) || o.OrderType == TypeSperrung && o.Arbeitszeit != nil {
				t.Errorf("the order carries what its type has not: %+v", o)
			}
		})
	}
}

func TestTheVorlauffristCountsFromTheEventsOwnTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		time time.Time
		kept bool
	}{
		{"on the last day", time.Date(2026, 8, 21, 21, 59, 59, 0, time.UTC), true},
		{"a moment into the next Berlin day", time.Date(2026, 8, 21, 22, 0, 0, 0, time.UTC), false},
		{"without a time: our receipt", time.Time{}, false},
		{"in the future: our receipt", testNow.Add(time.Hour), false},
	} {
		e := marketEvent(t, pidSperrauftrag, testMalo, map[string]any{"fruehestens_am": "2026-08-31"})
		e.SetTime(c.time)
		_, o, err := testIngester().read(e, testNow)
		if err != nil || o.VorlauffristSpaetesterUT.String() != "2026-08-21" || *o.VorlauffristEingehalten != c.kept {
			t.Errorf("%s: kept %v, latest %v, %v", c.name, *o.VorlauffristEingehalten, o.VorlauffristSpaetesterUT, err)
		}
	}
}

func TestTheUebertragungstagSaysWhereItComesFrom(t *testing.T) {
	t.Parallel()
	const future, outside = "after its receipt, whose day counts as Übertragungstag", "outside the calendar; the day of its receipt counts as Übertragungstag"
	for _, c := range []struct {
		time                 time.Time
		day, source, warning string
	}{
		{time.Date(2026, 8, 21, 21, 59, 59, 0, time.UTC), "2026-08-21", "event", ""},
		{testNow, "2026-09-03", "event", ""},
		{testNow.Add(futureTime), "2026-09-03", "receipt", ""},
		{testNow.Add(futureTime + time.Second), "2026-09-03", "receipt", future},
		{testNow.AddDate(1, 0, 0), "2026-09-03", "receipt", future},
		{time.Date(2018, 12, 31, 22, 59, 0, 0, time.UTC), "2026-09-03", "receipt", outside},
		{time.Date(2018, 12, 31, 23, 0, 0, 0, time.UTC), "2019-01-01", "event", ""},
		{time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), "2026-09-03", "receipt", outside},
		{time.Time{}, "2026-09-03", "receipt", outside},
	} {
		e := marketEvent(t, pidSperrauftrag, testMalo, nil)
		attributes := e.Context.AsV1()
		attributes.Time = &types.Timestamp{Time: c.time} // SetTime takes the zero time for none
		e.Context = attributes
		_, o, err := testIngester().read(e, testNow)
		if err != nil || o.Uebertragungstag.String() != c.day || o.UebertragungstagSource != c.source {
			t.Errorf("event of %s: %v by %s, %v; want %s by %s", c.time, o.Uebertragungstag, o.UebertragungstagSource, err, c.day, c.source)
		}
		warnings := strings.Join(o.Warnungen, "\n")
		if strings.Contains(warnings, "Übertragungstag") != (c.warning != "") || !strings.Contains(warnings, c.warning) {
			t.Errorf("event of %s: warnings %q, want %q", c.time, warnings, c.warning)
		}
	}
}
