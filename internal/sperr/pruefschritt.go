package sperr

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sperrd/internal/werktag"
)

// PruefschrittCheck says what happens to a code that the list does not know for
// the order's type and outcome.
type PruefschrittCheck string

// PruefschrittRefuse answers with an error; PruefschrittWarn records the code with
// a warning, for a Netzbetreiber whose code list is newer than this version.
const (
	PruefschrittRefuse PruefschrittCheck = "refuse"
	PruefschrittWarn   PruefschrittCheck = "warn"
)

// codeZutrittVerweigert is active refusal of access (E_0472 A02): no further
// visit is made in the same order (GPKE Teil 2 § 3.5.1.1).
const codeZutrittVerweigert = "A02"

// pruefschritteCSV is the code list of the two trees whose answer is an IFTSTA
// 21039 on an order of a Lieferant, Strom: E_0472 (Sperrauftrag) and E_0499
// (Entsperrauftrag), EBD versions 4.0 to 4.3. A code means something only within
// its tree: A01 is a legal obstacle in E_0472 and a success in E_0499.
//
//go:embed pruefschritte.csv
var pruefschritteCSV string

// pruefschritt is one row of the code list.
type pruefschritt struct {
	from, to   werktag.Date // days of the format version, to zero: still in force
	orderType  Type
	iftstaCode string // the cluster's SG15 STS DE4405
	code       string // SG15 STS DE9013
	needsText  bool   // SG25 FTX+ACB is a Muss (AHB conditions [83], [84])
}

var pruefschritte = sync.OnceValues(func() ([]pruefschritt, error) {
	rows, err := csv.NewReader(strings.NewReader(pruefschritteCSV)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read the Pruefschritt list: %w", err)
	}
	list := make([]pruefschritt, 0, len(rows))
	for _, row := range rows[1:] {
		p := pruefschritt{orderType: Type(row[4]), iftstaCode: row[5], code: row[6], needsText: row[7] == "yes"}
		if p.from, err = werktag.ParseDate(row[1]); err != nil {
			return nil, fmt.Errorf("read the Pruefschritt list: %w", err)
		}
		if row[2] != "" {
			if p.to, err = werktag.ParseDate(row[2]); err != nil {
				return nil, fmt.Errorf("read the Pruefschritt list: %w", err)
			}
		}
		list = append(list, p)
	}
	return list, nil
})

// fittingPruefschritte are the codes that may report outcome s on an order of
// type t on day, in the order of the tree's code numbers.
func fittingPruefschritte(day werktag.Date, t Type, s Status) ([]pruefschritt, error) {
	list, err := pruefschritte()
	if err != nil {
		return nil, err
	}
	var fitting []pruefschritt
	for _, p := range list {
		inForce := !day.Before(p.from) && (p.to.IsZero() || !day.After(p.to))
		if inForce && p.orderType == t && p.iftstaCode == s.iftstaCode() {
			fitting = append(fitting, p)
		}
	}
	return fitting, nil
}

// knownPruefschritt reports whether code has a meaning for an order of type t on day,
// whatever its outcome.
func knownPruefschritt(day werktag.Date, t Type, code string) (bool, error) {
	for _, outcome := range []Status{StatusExecuted, StatusFailed} {
		fitting, err := fittingPruefschritte(day, t, outcome)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(fitting, func(p pruefschritt) bool { return p.code == code }) {
			return true, nil
		}
	}
	return false, nil
}

// codeReport is what a field report says about its Pruefschritt.
type codeReport struct {
	order   Order
	outcome Status  // StatusExecuted or StatusFailed
	code    *string // as reported, nil: none
	text    string  // the reason that would go into FTX+ACB
	closes  bool    // the report ends the order, so that an IFTSTA may follow
}

// pruefschrittCode decides which code a report carries (nil: none) on day. On a
// market order a closing report needs one, DE9013 being a Muss; where the tree has
// a single answer it is filled in. It returns a warning where the list does not
// know the code and check lets it pass, and a *ValidationError otherwise.
func pruefschrittCode(r codeReport, check PruefschrittCheck, day werktag.Date) (code *string, warnings []string, err error) {
	fitting, err := fittingPruefschritte(day, r.order.OrderType, r.outcome)
	if err != nil {
		return nil, nil, err
	}
	invalid := &ValidationError{Subject: SubjectReport}
	if r.code == nil {
		switch {
		case !r.closes || !r.order.OwesIFTSTA():
			return nil, nil, nil
		case len(fitting) == 1:
			return &fitting[0].code, nil, nil
		}
		invalid.add("pruefschritt_code", fmt.Sprintf("is missing; for this report fit %s", codeNames(fitting)))
		return nil, nil, invalid
	}
	for _, p := range fitting {
		if p.code != *r.code {
			continue
		}
		if p.needsText && strings.TrimSpace(r.text) == "" {
			invalid.add("reason", "is needed with pruefschritt_code "+p.code)
			return nil, nil, invalid
		}
		return r.code, nil, nil
	}
	known, err := knownPruefschritt(day, r.order.OrderType, *r.code)
	if err != nil {
		return nil, nil, err
	}
	// A code that the tree knows for the other outcome says the opposite: it is never
	// let through as new.
	if check == PruefschrittWarn && codeShape(*r.code) && !known {
		return r.code, []string{fmt.Sprintf("pruefschritt_code %s is not in the code list for this report (%s)", *r.code, codeNames(fitting))}, nil
	}
	invalid.add("pruefschritt_code", fmt.Sprintf("%q does not fit a report of %s on a %s; for this report fit %s",
		truncate(*r.code, 20), r.outcome, r.order.OrderType, codeNames(fitting)))
	return nil, nil, invalid
}

// codeShape reports whether code can stand in DE9013 (an..3).
func codeShape(code string) bool {
	if code == "" || len(code) > 3 {
		return false
	}
	for i := range len(code) {
		if !isUpper(code[i]) && (code[i] < '0' || code[i] > '9') {
			return false
		}
	}
	return true
}

func codeNames(list []pruefschritt) string {
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = p.code
	}
	return strings.Join(names, ", ")
}
