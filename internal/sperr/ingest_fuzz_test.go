package sperr

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cloudevents/sdk-go/v2/event"

	"sperrd/internal/werktag"
)

// FuzzIngest: whatever a signed event says, it is an order that can be stored, none of
// ours, or refused by field.
func FuzzIngest(f *testing.F) {
	at := testNow.Unix()
	for _, name := range []string{"17115-fixed-date.json", "17115-earliest-date.json", "17115-redelivered-by-marktd.json", "17117.json", "17116.json", "unrelated-55001.json"} {
		raw, err := os.ReadFile(filepath.Join("testdata", "events", name))
		if err != nil {
			f.Fatal(err)
		}
		var e event.Event
		if err := e.UnmarshalJSON(raw); err != nil {
			f.Fatal(err)
		}
		f.Add(e.Data(), extension(e, "makopid"), extension(e, "makoworkflow"), e.Subject(), e.Time().Unix())
	}
	const parties = `"malo_id":"51238696012","lf_mp_id":"9900012345678"`
	for _, data := range []string{
		`{` + parties + `,"fruehestens_am":"202608302200+00","treffpunkt":{"plz":10115,"land":"d3","ort":"\u0000"},"hinweis":"€\u0000"}`,
		`{` + parties + `,"ausfuehrung_am":"0000-01-01T00:00:00Z"}`, `{` + parties + `,"fruehestens_am":"2036-01-01"}`,
		`{` + parties + `,"arbeitszeit":"Z54","treffpunkt":"Hof","receiver":"9900357000004","sender":"4012345000023","pid":"17117"}`,
		`{"malo_id":51238696012,"lf_mp_id":null,"receiver":"9900000000001"}`, `[]`, `null`, `{`, ``,
	} {
		f.Add([]byte(data), "17115", workflowGPKESperrung, "p-1", at)
		f.Add([]byte(data), "17117", "", "0B7C1E2A-1111-4000-8000-000000000001", at)
	}
	f.Add([]byte(`{}`), "39000", workflowGPKESperrung, "p-1", int64(-62200000000))
	f.Fuzz(func(t *testing.T, data []byte, pid, workflow, subject string, at int64) {
		if !utf8.Valid(data) || !utf8.ValidString(pid+workflow+subject) {
			return // refused before it is an event
		}
		e := event.New()
		e.SetID("e-1")
		e.SetSource("urn:x")
		e.SetType(typeProcessInitiated)
		e.SetSubject(subject)
		e.SetTime(time.Unix(at, 0))
		for name, value := range map[string]string{"makopid": pid, "makoworkflow": workflow} {
			if value != "" {
				e.SetExtension(name, value)
			}
		}
		e.DataEncoded = data
		wantOutcome(t, e)
	})
}

// wantOutcome checks what is made of an event.
func wantOutcome(t *testing.T, e event.Event) {
	t.Helper()
	kind, o, err := testIngester().read(e, testNow)
	_ = mistakable(e)
	var invalid *ValidationError
	switch {
	case errors.As(err, &invalid):
		if invalid.Subject != SubjectEvent || len(invalid.Fields) == 0 || !utf8.ValidString(err.Error()) || strings.Contains(err.Error(), "\x00") {
			t.Errorf("refused as %+v", invalid)
		}
	case err != nil:
		t.Errorf("error = %v, want a *ValidationError", err)
	case kind == kindStornierung:
		wantText(t, "process", *o.ProcessID, 200)
	case kind == kindOrder:
		wantStorable(t, o)
		wantOrder(t, o)
		if _, again, err := testIngester().read(e, testNow); err != nil || contradictions(o.asReceived(), again.Marktdaten) != nil {
			t.Errorf("the same event contradicts itself: %v, %v", err, contradictions(o.asReceived(), again.Marktdaten))
		}
	case kind != kindNotOurs:
		t.Errorf("kind %d", kind)
	}
}

// wantOrder checks an order against the rules for a market order.
func wantOrder(t *testing.T, o Order) {
	t.Helper()
	pid := map[Type]int{TypeSperrung: pidSperrauftrag, TypeEntsperrung: pidEntsperrauftrag}[o.OrderType]
	if !fits(o.MaloID, 11, 2) || len(o.LieferantID) != 13 || o.Tenant != testTenant || o.Status != StatusPending || o.ProcessID == nil || *o.ProcessID == "" ||
		o.Pruefidentifikator == nil || *o.Pruefidentifikator != pid {
		t.Errorf("order %+v", o)
	}
	for _, day := range []*werktag.Date{o.AusfuehrungAm, o.FruehestensAm} {
		if day != nil && (o.OrderType == TypeEntsperrung || day.Year() < 2019 || day.Year() > 2035) {
			t.Errorf("%s for %s", o.OrderType, day)
		}
	}
	if o.AusfuehrungAm != nil && o.FruehestensAm != nil || o.OrderType == TypeSperrung && o.Arbeitszeit != nil ||
		o.AusfuehrungZeitpunkt != nil && werktag.BerlinDay(*o.AusfuehrungZeitpunkt) != *o.AusfuehrungAm {
		t.Errorf("dates %v, %v at %v, Arbeitszeit %v", o.AusfuehrungAm, o.FruehestensAm, o.AusfuehrungZeitpunkt, o.Arbeitszeit)
	}
	if o.Uebertragungstag == nil || o.Uebertragungstag.After(werktag.BerlinDay(testNow)) {
		t.Errorf("received on %v", o.Uebertragungstag)
	}
}

// wantStorable checks that the columns of o hold what they are made for.
func wantStorable(t *testing.T, o Order) {
	t.Helper()
	wantText(t, "process", *o.ProcessID, 200)
	wantText(t, "hinweis", text(o.Hinweis), maxFreeText)
	treffpunkt := o.treffpunkt()
	for _, part := range treffpunkt.parts() {
		wantText(t, part.name, *part.value, part.limit)
	}
	if o.TreffpunktLand != nil && !validLand(*o.TreffpunktLand) {
		t.Errorf("land %q", *o.TreffpunktLand)
	}
	for _, w := range o.Warnungen {
		wantText(t, "warning", w, 1000)
	}
	for name, value := range o.Marktdaten {
		wantText(t, name, value, maxFreeText)
	}
}

// wantText checks that PostgreSQL takes a text and that no more characters than limit are
// in it.
func wantText(t *testing.T, name, s string, limit int) {
	t.Helper()
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) || utf8.RuneCountInString(s) > limit {
		t.Errorf("%s is %q", name, s)
	}
}
