package sperr

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"sperrd/internal/werktag"
)

// pruefschritteCSV is the code list of the two trees whose answer is an IFTSTA 21039 on
// an order of a Lieferant, Strom: E_0472 (Sperrauftrag) and E_0499 (Entsperrauftrag), EBD
// versions 4.0 to 4.3. A code means something only within its tree: A01 is a legal
// obstacle in E_0472 and a success in E_0499.
//
// Two neighbours are left out. E_0501 (Z32) passes on that the MSB refused: an order here
// ends executed or failed, and that answer is neither. E_0487 answers no order of a
// Lieferant, since an Entsperrung at a Lieferbeginn has none.
//
// Its rows stand by format version, then tree, step and code, which is the order of
// every list made of it.
//
//go:embed pruefschritte.csv
var pruefschritteCSV string

// pruefschritte is the whole list, of all format versions. Nobody may change it.
var pruefschritte = sync.OnceValues(func() ([]Pruefschritt, error) { return readPruefschritte(pruefschritteCSV) })

func readPruefschritte(text string) ([]Pruefschritt, error) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read the Pruefschritt list: %w", err)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("read the Pruefschritt list: it is empty")
	}
	list := make([]Pruefschritt, 0, len(rows))
	for i, row := range rows[1:] {
		fields := map[string]string{}
		for column, name := range rows[0] {
			fields[name] = row[column]
		}
		p, err := readPruefschritt(fields)
		if err != nil {
			return nil, fmt.Errorf("read the Pruefschritt list: row %d: %w", i+1, err)
		}
		list = append(list, p)
	}
	return list, nil
}

func readPruefschritt(fields map[string]string) (p Pruefschritt, err error) {
	p = Pruefschritt{
		Code: fields["code"], OrderType: Type(fields["order_type"]), EBD: fields["ebd"], FormatVersion: fields["fv"],
		Auftragsstatus: fields["sts_9015"], IFTSTACode: fields["sts_4405"], Cluster: fields["cluster"],
		Bedeutung: fields["bedeutung"], TextRequired: fields["free_text_required"] == "yes", FirstVisit: FirstVisit(fields["first_visit"]),
	}
	for _, outcome := range []Status{StatusExecuted, StatusFailed} {
		if p.IFTSTACode == outcome.iftstaCode() {
			p.Outcome = outcome
		}
	}
	if p.Outcome == "" || !p.OrderType.Valid() || !p.FirstVisit.Valid() || !codeShape(p.Code) {
		return p, fmt.Errorf("%q, %q, %q or %q means nothing here", p.IFTSTACode, p.OrderType, p.FirstVisit, p.Code)
	}
	if p.ValidFrom, err = werktag.ParseDate(fields["valid_from"]); err != nil {
		return p, err
	}
	if fields["valid_to"] != "" {
		to, err := werktag.ParseDate(fields["valid_to"])
		if err != nil {
			return p, err
		}
		p.ValidTo = &to
	}
	if fields["step"] != "" {
		step, err := strconv.Atoi(fields["step"])
		if err != nil {
			return p, fmt.Errorf("step: %w", err)
		}
		p.Step = &step
	}
	return p, nil
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
