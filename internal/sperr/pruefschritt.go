package sperr

import (
	"slices"

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

// FirstVisit says what a report with a code means for an order that nobody was sent
// to before.
type FirstVisit string

// What a first visit does. A report with endgueltig closes the order whatever its code.
const (
	// FirstVisitCloses: the report closes the order. Every execute does, and so does
	// active refusal of access (E_0472 A02), after which no further visit is made in the
	// same order (GPKE Teil 2 § 3.5.1.1).
	FirstVisitCloses FirstVisit = "closes"
	// FirstVisitAdviseEndgueltig: the order stays open, although the Lieferant has to
	// clear the obstacle and orders anew: endgueltig should be reported.
	FirstVisitAdviseEndgueltig FirstVisit = "advise_endgueltig"
	// FirstVisitConsiderEndgueltig: the order stays open; whether a second visit makes
	// sense is for the field team to say.
	FirstVisitConsiderEndgueltig FirstVisit = "consider_endgueltig"
	// FirstVisitStaysOpen: the order stays open, and a second visit is owed.
	FirstVisitStaysOpen FirstVisit = "stays_open"
)

// Valid reports whether f is one of the four values.
func (f FirstVisit) Valid() bool {
	switch f {
	case FirstVisitCloses, FirstVisitAdviseEndgueltig, FirstVisitConsiderEndgueltig, FirstVisitStaysOpen:
		return true
	}
	return false
}

// Pruefschritt is one answer of a decision tree (EBD) in one format version. Its JSON is
// the element of the list that the REST interface shows.
type Pruefschritt struct {
	Code           string        `json:"code"` // SG15 STS DE9013
	OrderType      Type          `json:"order_type"`
	Outcome        Status        `json:"outcome"` // StatusExecuted or StatusFailed
	EBD            string        `json:"ebd"`     // SG15 STS DE1131
	FormatVersion  string        `json:"format_version"`
	ValidFrom      werktag.Date  `json:"valid_from"`
	ValidTo        *werktag.Date `json:"valid_to"`       // nil: still in force
	Auftragsstatus string        `json:"auftragsstatus"` // SG15 STS DE9015
	IFTSTACode     string        `json:"iftsta_code"`    // SG15 STS DE4405
	Cluster        string        `json:"cluster"`
	Step           *int          `json:"step"`          // where the tree asks for it; nil: the tree does not say
	Bedeutung      string        `json:"bedeutung"`     // German, for whoever picks a code
	TextRequired   bool          `json:"text_required"` // SG25 FTX+ACB is a Muss (AHB conditions [83], [84])
	FirstVisit     FirstVisit    `json:"first_visit"`
	// FilledIn: the only code for its type and outcome, so that a closing report of a
	// market order may leave it out.
	FilledIn bool `json:"filled_in"`
}

// inForce reports whether p belongs to the format version of day.
func (p Pruefschritt) inForce(day werktag.Date) bool {
	return !day.Before(p.ValidFrom) && (p.ValidTo == nil || !day.After(*p.ValidTo))
}

// Pruefschritte are the codes in force on day that may report outcome on an order of
// type t; an empty t or outcome stands for both. Sperrung comes before Entsperrung, and
// within a tree stands first what it asks first; what one question tells apart stands by code.
func Pruefschritte(day werktag.Date, t Type, outcome Status) ([]Pruefschritt, error) {
	all, err := pruefschritte()
	if err != nil {
		return nil, err
	}
	list := []Pruefschritt{}
	answers := map[[2]string]int{}
	for _, p := range all {
		if p.inForce(day) && (t == "" || p.OrderType == t) && (outcome == "" || p.Outcome == outcome) {
			list = append(list, p)
			answers[[2]string{string(p.OrderType), string(p.Outcome)}]++
		}
	}
	for i, p := range list {
		list[i].FilledIn = answers[[2]string{string(p.OrderType), string(p.Outcome)}] == 1
	}
	return list, nil
}

// pruefschritteOf are the codes that list has for an outcome.
func pruefschritteOf(list []Pruefschritt, outcome Status) []Pruefschritt {
	var fitting []Pruefschritt
	for _, p := range list {
		if p.Outcome == outcome {
			fitting = append(fitting, p)
		}
	}
	return fitting
}

// findPruefschritt is the entry that list has for a code; ok is false for none.
func findPruefschritt(list []Pruefschritt, code *string) (p Pruefschritt, ok bool) {
	if code == nil {
		return Pruefschritt{}, false
	}
	i := slices.IndexFunc(list, func(p Pruefschritt) bool { return p.Code == *code })
	if i < 0 {
		return Pruefschritt{}, false
	}
	return list[i], true
}

func codesOf(list []Pruefschritt) []string {
	var codes []string
	for _, p := range list {
		codes = append(codes, p.Code)
	}
	return codes
}
