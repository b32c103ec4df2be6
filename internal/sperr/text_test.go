package sperr

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatEDIFACTDoesNotCarryIsNamedByItsCodePoint(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"": nil,
		"Müller, Straße 7 ~ §¿ÿ\u00a0\u00ad": nil, // to the last character of ISO 8859-1
		"1. Zeile\r\n\t2. Zeile":             nil,
		"50 €":                               {`x has characters outside ISO 8859-1, which EDIFACT does not carry: "€" (U+20AC)`},
		"€ – € –":                            {`x has characters outside ISO 8859-1, which EDIFACT does not carry: "€" (U+20AC), "–" (U+2013)`},
		"\u0100":                             {`x has characters outside ISO 8859-1, which EDIFACT does not carry: "Ā" (U+0100)`},
		"😀":                                  {`x has characters outside ISO 8859-1, which EDIFACT does not carry: "😀" (U+1F600)`},
		"u\u0308":                            {`x has characters outside ISO 8859-1, which EDIFACT does not carry: U+0308`},
		"\u200b\u200e\u2066\u202e":           {`x has characters outside ISO 8859-1, which EDIFACT does not carry: U+200B, U+200E, U+2066, U+202E`},
		"\ufe0f\u3164\u2800\U000E0041":       {`x has characters outside ISO 8859-1, which EDIFACT does not carry: U+FE0F, U+3164, U+2800, U+E0041`},
		"\u05d0\u0627\ufefb":                 {`x has characters outside ISO 8859-1, which EDIFACT does not carry: U+05D0, U+0627, U+FEFB`},
		"\ue000\U0010ffff\u2028":             {`x has characters outside ISO 8859-1, which EDIFACT does not carry: U+E000, U+10FFFF, U+2028`},
		"\x01\x0b\x1f\x7f\u0080\u0085\u009f": {`x has control characters, which EDIFACT does not carry: U+0001, U+000B, U+001F, U+007F, U+0080, U+0085, U+009F`},
		"\a€": {
			`x has characters outside ISO 8859-1, which EDIFACT does not carry: "€" (U+20AC)`,
			`x has control characters, which EDIFACT does not carry: U+0007`,
		},
		"абвгдежзийклм": {`x has characters outside ISO 8859-1, which EDIFACT does not carry: "а" (U+0430), "б" (U+0431), "в" (U+0432), ` +
			`"г" (U+0433), "д" (U+0434), "е" (U+0435), "ж" (U+0436), "з" (U+0437), "и" (U+0438), "й" (U+0439), and 3 more`},
	} {
		if diff := cmp.Diff(want, latin1Warning("x", text)); diff != "" {
			t.Errorf("%+q (-want +got):\n%s", text, diff)
		}
	}
}

func TestAReasonThatNobodySeesIsBlank(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " ", "\t\r\n", "\u00a0\u2003\u3000", "\u200b\u200d\ufeff", "\u00ad", "\x00\x07", "\u3164\u115f\u2800", "\ufe0f", "\u2028"} {
		if !isBlank(text) {
			t.Errorf("%+q is not blank", text)
		}
	}
	for _, text := range []string{"x", " . ", "\u200bß", "😀", "א", "е\u0301"} {
		if isBlank(text) {
			t.Errorf("%+q is blank", text)
		}
	}
}

func TestNothingOfAMarketMessageIsRepairedInSilence(t *testing.T) {
	t.Parallel()
	place := func(land any) map[string]any {
		return map[string]any{"treffpunkt": map[string]any{"strasse": "Lindenallee 7", "plz": "10115", "ort": "Berlin", "land": land}}
	}
	for name, c := range map[string]struct {
		data    map[string]any
		warning string
		land    string
	}{
		"lower case":           {place("de"), `treffpunkt.land "de" was read as DE`, "DE"},
		"mixed case":           {place("At"), `treffpunkt.land "At" was read as AT`, "AT"},
		"blanks around":        {place(" de "), `treffpunkt.land " de " was read as DE`, "DE"},
		"three letters":        {place("deu"), `treffpunkt.land "deu" is no country code of two letters and was dropped`, ""},
		"blank":                {place("d "), `treffpunkt.land "d " is no country code of two letters and was dropped`, ""},
		"a long s":             {place("\u017Fe"), `treffpunkt.land "\u017fe" is no country code of two letters and was dropped`, ""},
		"a dotless i":          {place("\u0131t"), `treffpunkt.land "\u0131t" is no country code of two letters and was dropped`, ""},
		"full width":           {place("ＤＥ"), `treffpunkt.land "\uff24\uff25" is no country code of two letters and was dropped`, ""},
		"turned":               {place("\u202e"), `treffpunkt.land "\u202e" is no country code of two letters and was dropped`, ""},
		"postcode as number":   {map[string]any{"treffpunkt": map[string]any{"plz": 1067}}, "treffpunkt.plz is a number and no text, so that a leading 0 may be missing", ""},
		"no offset":            {map[string]any{"fruehestens_am": "2026-09-06T22:00:00"}, `fruehestens_am "2026-09-06T22:00:00" names no offset and was read as UTC: 2026-09-06T22:00:00Z`, ""},
		"an hour not kept":     {map[string]any{"fruehestens_am": "202609070800+02"}, "fruehestens_am names an hour, which is not kept; the day is 2026-09-07", ""},
		"a PID beside makopid": {map[string]any{"pid": "Sperrung"}, "data.pid cannot be read; makopid counts", ""},
	} {
		_, o, err := testIngester().read(marketEvent(t, pidSperrauftrag, testMalo, c.data), testNow)
		if err != nil || !slices.Contains(o.Warnungen, c.warning) || text(o.TreffpunktLand) != c.land {
			t.Errorf("%s: land %q, warnings %q, %v; want %q", name, text(o.TreffpunktLand), o.Warnungen, err, c.warning)
		}
	}
}

func TestAnotherSpellingOfTheSameIsNoRepair(t *testing.T) {
	t.Parallel()
	plain := marketEvent(t, pidSperrauftrag, testMalo, map[string]any{
		"fruehestens_am": "2026-09-07", "lf_mp_id": "9900357000003", "treffpunkt": map[string]any{"strasse": "Lindenallee 7", "plz": "10115", "ort": "Berlin", "land": "DE"},
	})
	for name, data := range map[string]map[string]any{
		"DTM day":            {"fruehestens_am": "20260907"},
		"DTM instant":        {"fruehestens_am": "202609062200+00"},
		"DTM instant in UTC": {"fruehestens_am": "202609062200"},
		"RFC 3339":           {"fruehestens_am": "2026-09-07T00:00:00+02:00"},
		"PID as text":        {"pid": "17115"},
		"empty is absent":    {"hinweis": "", "arbeitszeit": ""},
		"the same Lieferant": {"sender": "9900357000003"},
	} {
		e := plain.Clone()
		members, err := readMarketData(e.Data())
		if err != nil {
			t.Fatal(err)
		}
		merged := map[string]any{}
		for member, value := range members {
			merged[member] = value
		}
		for member, value := range data {
			merged[member] = value
		}
		if err := e.SetData("application/json", merged); err != nil {
			t.Fatal(err)
		}
		e.SetSubject(strings.ToUpper(plain.Subject()))
		_, o, err := testIngester().read(e, testNow)
		if err != nil || len(o.Warnungen) != 0 || *o.ProcessID != plain.Subject() || o.FruehestensAm.String() != "2026-09-07" {
			t.Errorf("%s: process %s, warnings %q, %v", name, text(o.ProcessID), o.Warnungen, err)
		}
	}
}
