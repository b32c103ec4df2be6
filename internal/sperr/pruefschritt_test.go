package sperr

import (
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/werktag"
)

// ebdRow is one row of the EBD tables, all trees and both Sparten.
type ebdRow struct {
	from, to, ebd, sparte, orderType, iftstaCode, code, freeText string
}

func ebdRows(t *testing.T) []ebdRow {
	t.Helper()
	f, err := os.Open("testdata/ebd_codes.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	place := map[string]int{}
	for i, name := range records[0] {
		place[name] = i
	}
	var rows []ebdRow
	for _, r := range records[1:] {
		rows = append(rows, ebdRow{
			r[place["valid_from"]], r[place["valid_to"]], r[place["ebd"]], r[place["sparte"]],
			r[place["order_type"]], r[place["sts_4405"]], r[place["code"]], r[place["free_text_required"]],
		})
	}
	return rows
}

func TestTheCodesThatFitAreThoseOfTheTreesInForce(t *testing.T) {
	t.Parallel()
	// The two trees that answer an order of a Lieferant, Strom.
	trees := map[Type]string{TypeSperrung: "E_0472", TypeEntsperrung: "E_0499"}
	for _, date := range []string{"2025-06-05", "2025-06-06", "2025-09-30", "2025-10-01", "2026-03-31", "2026-04-01", "2026-09-30", "2026-10-01", "2030-01-01"} {
		for orderType, ebd := range trees {
			for _, outcome := range []Status{StatusExecuted, StatusFailed} {
				want := []string{}
				for _, row := range ebdRows(t) {
					if row.ebd == ebd && row.sparte == "strom" && row.iftstaCode == outcome.iftstaCode() &&
						row.from <= date && (row.to == "" || date <= row.to) {
						want = append(want, row.code+" text "+row.freeText)
					}
				}
				fitting, err := fittingPruefschritte(day(date), orderType, outcome)
				if err != nil {
					t.Fatal(err)
				}
				got := []string{}
				for _, p := range fitting {
					got = append(got, fmt.Sprintf("%s text %s", p.code, map[bool]string{true: "yes", false: "no"}[p.needsText]))
				}
				slices.Sort(want)
				slices.Sort(got)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, %s, %s (-EBD +list):\n%s", date, orderType, outcome, diff)
				}
			}
		}
	}
}

func TestExecuteHasOneCodeOfItsOwnForEachType(t *testing.T) {
	t.Parallel()
	for orderType, want := range map[Type]string{TypeSperrung: "A07", TypeEntsperrung: "A01"} {
		fitting, err := fittingPruefschritte(werktag.BerlinDay(testNow), orderType, StatusExecuted)
		if err != nil || len(fitting) != 1 || fitting[0].code != want {
			t.Errorf("%s: %v, %v; want %s alone", orderType, fitting, err, want)
		}
	}
}
