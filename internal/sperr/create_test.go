package sperr

import (
	"encoding/csv"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheTwoDatesExcludeEachOtherInAPIAndSchema(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.service.Create(t.Context(), Call{Actor: "operator"}, NewOrder{
		MaloID: testMalo, LieferantID: testLF, OrderType: "sperrung", AusfuehrungAm: ptr("2026-09-10"), FruehestensAm: ptr("2026-09-10"),
	})
	wantInvalid(t, err, SubjectOrder, "ausfuehrung_am")
	_, err = b.pool.Exec(t.Context(), `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, ausfuehrung_am, fruehestens_am)
		VALUES ('t', 'm', 'l', 'sperrung', '2026-09-10', '2026-09-10')`)
	if err == nil || !strings.Contains(err.Error(), "23514") {
		t.Errorf("the schema took both dates: %v", err)
	}
}

func TestOperatorOrdersThatNoORDERSCouldCarryAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	valid := NewOrder{MaloID: testMalo, LieferantID: testLF, OrderType: "sperrung"}
	for _, c := range []struct {
		name   string
		change func(*NewOrder)
		field  string
	}{
		{"no MaLo", func(n *NewOrder) { n.MaloID = "" }, "malo_id"},
		{"check digit of the MaLo", func(n *NewOrder) { n.MaloID = "50123456784" }, "malo_id"},
		{"no LF", func(n *NewOrder) { n.LieferantID = "" }, "lf_mp_id"},
		{"unknown type", func(n *NewOrder) { n.OrderType = "Sperrung" }, "order_type"},
		{"a date on an Entsperrung", func(n *NewOrder) { n.OrderType, n.FruehestensAm = "entsperrung", ptr("2026-09-10") }, "order_type"},
		{"Arbeitszeit on a Sperrung", func(n *NewOrder) { n.Arbeitszeit = ptr("innerhalb") }, "arbeitszeit"},
		{"unknown Arbeitszeit", func(n *NewOrder) { n.OrderType, n.Arbeitszeit = "entsperrung", ptr("Z53") }, "arbeitszeit"},
		{"partial Treffpunkt", func(n *NewOrder) { n.Treffpunkt = Treffpunkt{Ort: "Berlin", PLZ: "10115", Land: "DE"} }, "treffpunkt"},
		{"a market process", func(n *NewOrder) { n.ProcessID = ptr("0b7c1e2a-1111-4000-8000-000000000001") }, "process_id"},
		{"blanks for a town", func(n *NewOrder) {
			n.Treffpunkt = Treffpunkt{Strasse: "Lindenallee 7", Ort: " ", PLZ: "10115", Land: "DE"}
		}, "treffpunkt"},
		{"land in small letters", func(n *NewOrder) {
			n.Treffpunkt = Treffpunkt{Strasse: "Lindenallee 7", Ort: "Berlin", PLZ: "10115", Land: "de"}
		}, "treffpunkt.land"},
		{"NUL in a street", func(n *NewOrder) {
			n.Treffpunkt = Treffpunkt{Strasse: "a\x00", Ort: "Berlin", PLZ: "10115", Land: "DE"}
		}, "treffpunkt.strasse"},
		{"over-long text", func(n *NewOrder) { n.Hinweis = strings.Repeat("ü", 2561) }, "hinweis"},
		{"an impossible date", func(n *NewOrder) { n.FruehestensAm = ptr("2026-02-30") }, "fruehestens_am"},
		{"an empty date", func(n *NewOrder) { n.FruehestensAm = ptr("") }, "fruehestens_am"},
		{"a date outside the calendar", func(n *NewOrder) { n.FruehestensAm = ptr("9999-12-31") }, "fruehestens_am"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := valid
			c.change(&n)
			_, err := b.service.Create(t.Context(), Call{Actor: "operator"}, n)
			wantInvalid(t, err, SubjectOrder, c.field)
		})
	}
}

func TestAnOperatorOrderHasFristenButNoVerdict(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	o := b.create(t, NewOrder{
		MaloID: testMalo, LieferantID: testLF, OrderType: "sperrung", FruehestensAm: ptr("2026-09-03"),
		Treffpunkt: Treffpunkt{Strasse: strings.Repeat("ß", 140), Ort: "Köln", PLZ: "50667", Land: "DE"}, Hinweis: strings.Repeat("ü", 2560),
	})
	if o.AusfuehrungFaelligAm.String() != "2026-09-11" || o.VorlauffristEingehalten != nil || o.VorlauffristSpaetesterUT != nil ||
		o.Pruefidentifikator != nil || o.ProcessID != nil {
		t.Errorf("order = %+v", o)
	}
	second := b.create(t, NewOrder{MaloID: testMalo, LieferantID: testLF, OrderType: "sperrung"})
	for _, warning := range []string{"another sperrung", "without a date"} {
		if !hasWarning(second, warning) {
			t.Errorf("warnings = %q, want %q", second.Warnungen, warning)
		}
	}
	if diff := cmp.Diff([]string{EventAuftragEingegangen}, b.events(t, second.ID)); diff != "" {
		t.Errorf("events:\n%s", diff)
	}
}

func TestIDVectors(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/ids_vectors.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 100 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows[1:] {
		kind, id, want := row[0], row[1], row[2]
		got := "valid"
		switch {
		case kind == "malo" && checkMaloID(id) != nil, kind != "malo" && checkMPID(id) != nil:
			got = "invalid"
		case kind != "malo" && kind != "mpid" && MPIDWarning(id) != "":
			got = "check-digit-mismatch"
		}
		if got != want {
			t.Errorf("%s %q is %s, want %s (%s)", kind, id, got, want, row[3])
		}
	}
}

func TestARefusedMaLoNamesTheDigitThatWouldFit(t *testing.T) {
	t.Parallel()
	if err := checkMaloID("51238696782"); err == nil || err.Error() != "has check digit 2, but 1 would fit" {
		t.Errorf("error = %v", err)
	}
	if ValidMaloShape("0123869601") || ValidMaloShape("00000000000") || !ValidMaloShape("51238696782") {
		t.Error("the shape of a MaLo-ID is eleven digits, the first not 0")
	}
}
