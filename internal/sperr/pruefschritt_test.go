package sperr

import (
	"encoding/csv"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// csvRows are the rows of a CSV file by the names of its columns.
func csvRows(t *testing.T, path string) []map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for _, record := range records[1:] {
		row := map[string]string{}
		for i, name := range records[0] {
			row[name] = record[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// ebdRows are the rows of the EBD tables for a tree, whatever their order.
func ebdRows(t *testing.T, ebd ...string) []map[string]string {
	t.Helper()
	return slices.DeleteFunc(csvRows(t, "testdata/ebd_codes.csv"), func(row map[string]string) bool { return !slices.Contains(ebd, row["ebd"]) })
}

// The EBD tables have four Strom trees that feed a 21039. E_0501 (Z32) tells that the MSB
// refused, which is no outcome of an order here, and E_0487 answers no order of a
// Lieferant: both are not in the list.
func TestTheListIsThatOfTheEBDTablesRowForRow(t *testing.T) {
	t.Parallel()
	columns := []string{"fv", "valid_from", "valid_to", "ebd", "order_type", "sts_9015", "sts_4405", "cluster", "step", "code", "free_text_required"}
	keyed := func(rows []map[string]string) []string {
		var lines []string
		for _, row := range rows {
			var line []string
			for _, name := range columns {
				line = append(line, row[name])
			}
			lines = append(lines, strings.Join(line, ","))
		}
		slices.Sort(lines)
		return lines
	}
	want, got := keyed(ebdRows(t, "E_0472", "E_0499")), keyed(csvRows(t, "pruefschritte.csv"))
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 40 {
		t.Errorf("%d rows (-EBD +list):\n%s", len(want), diff)
	}
	for _, row := range csvRows(t, "testdata/ebd_codes.csv") {
		other := row["ebd"] == "E_0501" && row["sts_4405"] == "Z32" || row["ebd"] == "E_0487" && row["order_type"] != string(TypeEntsperrung)
		if strom := row["sparte"] == "strom"; strom && !other && row["ebd"] != "E_0472" && row["ebd"] != "E_0499" {
			t.Errorf("a Strom row that the list leaves out: %v", row)
		}
	}
}

func TestTheListStandsInTheOrderOfTheTreesSteps(t *testing.T) {
	t.Parallel()
	var before []string
	for i, row := range csvRows(t, "pruefschritte.csv") {
		step, err := strconv.Atoi(row["step"])
		if err != nil {
			t.Fatal(err)
		}
		place := []string{row["valid_from"], row["ebd"], strconv.Itoa(100 + step), row["code"]}
		if i > 0 && slices.Compare(before, place) >= 0 {
			t.Errorf("%v stands behind %v", place, before)
		}
		before = place
	}
}

// The tables say of each code whether the first visit closes the order: as the law has it,
// or likely.
func TestTheFirstVisitIsWhatTheEBDTablesSay(t *testing.T) {
	t.Parallel()
	closes := map[string]string{}
	for _, row := range ebdRows(t, "E_0472", "E_0499") {
		closes[row["fv"]+row["ebd"]+row["code"]] = row["closes_on_first_visit"]
	}
	says := map[FirstVisit]string{
		FirstVisitCloses: "yes", FirstVisitAdviseEndgueltig: "yes", FirstVisitConsiderEndgueltig: "likely", FirstVisitStaysOpen: "no",
	}
	advised := map[string]bool{}
	list, err := pruefschritte()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if got, want := says[p.FirstVisit], closes[p.FormatVersion+p.EBD+p.Code]; got != want {
			t.Errorf("%s %s %s: %s says %q, the tables %q", p.FormatVersion, p.EBD, p.Code, p.FirstVisit, got, want)
		}
		if p.FirstVisit == FirstVisitAdviseEndgueltig {
			advised[p.EBD+" "+p.Code] = true
		}
		if p.Outcome == StatusExecuted && p.FirstVisit != FirstVisitCloses {
			t.Errorf("%s %s: an execute that leaves the order open", p.EBD, p.Code)
		}
		if p.Auftragsstatus != p.OrderType.auftragsstatus() || p.Bedeutung == "" {
			t.Errorf("%s %s: Auftragsstatus %s, Bedeutung %q", p.EBD, p.Code, p.Auftragsstatus, p.Bedeutung)
		}
	}
	// What the law lets the Lieferant clear; A02 closes by itself.
	if diff := cmp.Diff(map[string]bool{"E_0472 A01": true, "E_0472 A04": true}, advised); diff != "" {
		t.Errorf("advised (-want +got):\n%s", diff)
	}
}

func TestTheCodesInForceAreThoseOfTheDay(t *testing.T) {
	t.Parallel()
	tables := ebdRows(t, "E_0472", "E_0499")
	for _, date := range []string{"2025-06-05", "2025-06-06", "2025-09-30", "2025-10-01", "2026-03-31", "2026-04-01", "2026-09-30", "2026-10-01", "2030-01-01"} {
		for _, orderType := range []Type{"", TypeSperrung, TypeEntsperrung} {
			for _, outcome := range []Status{"", StatusExecuted, StatusFailed} {
				want, got := []string{}, []string{}
				for _, row := range tables {
					if (orderType == "" || row["order_type"] == string(orderType)) && (outcome == "" || row["sts_4405"] == outcome.iftstaCode()) &&
						row["valid_from"] <= date && (row["valid_to"] == "" || date <= row["valid_to"]) {
						want = append(want, row["fv"]+" "+row["ebd"]+" "+row["code"]+" "+row["free_text_required"])
					}
				}
				list, err := Pruefschritte(day(date), orderType, outcome)
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range list {
					got = append(got, p.FormatVersion+" "+p.EBD+" "+p.Code+" "+map[bool]string{true: "yes", false: "no"}[p.TextRequired])
				}
				slices.Sort(want)
				slices.Sort(got)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, %q, %q (-EBD +list):\n%s", date, orderType, outcome, diff)
				}
			}
		}
	}
}

func TestACodeIsFilledInWhereItIsTheOnlyOne(t *testing.T) {
	t.Parallel()
	list, err := Pruefschritte(day("2026-09-03"), "", "")
	if err != nil {
		t.Fatal(err)
	}
	var filledIn, order []string
	for _, p := range list {
		order = append(order, p.EBD+" "+p.Code)
		if p.FilledIn {
			filledIn = append(filledIn, p.EBD+" "+p.Code)
		}
	}
	if diff := cmp.Diff([]string{"E_0472 A07", "E_0499 A01", "E_0499 A02"}, filledIn); diff != "" {
		t.Errorf("filled in (-want +got):\n%s", diff)
	}
	steps := []string{
		"E_0472 A01", "E_0472 A08", "E_0472 A02", "E_0472 A03", "E_0472 A04", "E_0472 A05", "E_0472 A06", "E_0472 A07",
		"E_0499 A01", "E_0499 A02",
	}
	if diff := cmp.Diff(steps, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestAListThatMeansNothingIsRefusedWithItsRow(t *testing.T) {
	t.Parallel()
	const head = "fv,valid_from,valid_to,ebd,order_type,sts_9015,sts_4405,cluster,step,code,free_text_required,first_visit,bedeutung\n"
	const good = "FV2610,2026-10-01,,E_0499,entsperrung,Z38,Z14,erfolgreich,1,A01,no,closes,x\n"
	if list, err := readPruefschritte(head + good); err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	for _, piece := range [][2]string{
		{"2026-10-01,", "1.10.2026,"},
		{"2026-10-01,,", "2026-10-01,x,"},
		{"entsperrung", "Entsperrung"},
		{"Z14", "Z32"},
		{",1,A01", ",eins,A01"},
		{"A01", "a01"},
		{"closes", "maybe"},
		{",x\n", "\n"},
	} {
		if list, err := readPruefschritte(head + strings.Replace(good, piece[0], piece[1], 1)); err == nil {
			t.Errorf("%s as %s: %v", piece[0], piece[1], list)
		}
	}
	if list, err := readPruefschritte(head + strings.Replace(good, ",1,A01", ",,A01", 1)); err != nil || list[0].Step != nil {
		t.Errorf("without a step: %v, %v", list, err)
	}
	if _, err := readPruefschritte(""); err == nil {
		t.Error("an empty list was read")
	}
}
