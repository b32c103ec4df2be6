package sperr

import (
	"fmt"
	"strings"
)

// Treffpunkt is where the technician goes (SG2 NAD+Z24, AHB "Kann"). An empty
// part is absent.
type Treffpunkt struct {
	Hinweis string // DE3124, up to 5 x 35 characters
	Strasse string // DE3042 with house number, up to 4 x 35 characters
	PLZ     string // DE3251, up to 17 characters
	Ort     string // DE3164, up to 35 characters
	Land    string // DE3207, ISO 3166-1 alpha-2
}

// IsZero reports whether no part is given.
func (t Treffpunkt) IsZero() bool { return t == Treffpunkt{} }

// missing names what a complete Treffpunkt still lacks: with NAD+Z24 present,
// town, postcode and country are always filled, and at least one of street and
// extra information (ORDERS AHB 1.1b, condition [57]).
func (t Treffpunkt) missing() []string {
	if t.IsZero() {
		return nil
	}
	var names []string
	for _, part := range []struct{ name, value string }{
		{"plz", t.PLZ}, {"ort", t.Ort}, {"land", t.Land}, {"strasse or hinweis", t.Strasse + t.Hinweis},
	} {
		if strings.TrimSpace(part.value) == "" {
			names = append(names, part.name)
		}
	}
	return names
}

// validLand reports whether land is two capital letters.
func validLand(land string) bool {
	return len(land) == 2 && isUpper(land[0]) && isUpper(land[1])
}

func isUpper(b byte) bool { return 'A' <= b && b <= 'Z' }

// check applies the rules for an operator's Treffpunkt: complete, in length, and
// a country of two capital letters.
func (t Treffpunkt) check(v *ValidationError) {
	for _, part := range t.parts() {
		checkText(v, "treffpunkt."+part.name, *part.value, part.limit)
	}
	if t.Land != "" && !validLand(t.Land) {
		v.add("treffpunkt.land", "must be two capital letters (ISO 3166-1 alpha-2)")
	}
	if lacking := t.missing(); lacking != nil {
		v.add("treffpunkt", "is incomplete: "+strings.Join(lacking, ", ")+" missing")
	}
}

// normalizeMarket repairs what a market event may carry: cuts, cleans and drops,
// and returns a warning for each thing done. A disconnection is not lost over its
// meeting point.
func (t *Treffpunkt) normalizeMarket() []string {
	var warnings []string
	for _, part := range t.parts() {
		if part.value == &t.Land { // is kept or dropped as a whole
			continue
		}
		var w []string
		*part.value, w = cleanMarketText("treffpunkt."+part.name, *part.value, part.limit)
		warnings = append(warnings, w...)
	}
	warnings = append(warnings, t.normalizeLand()...)
	if lacking := t.missing(); lacking != nil {
		warnings = append(warnings, "the Treffpunkt is incomplete: "+strings.Join(lacking, ", ")+" missing")
	}
	return warnings
}

// normalizeLand capitalises a country code, without blanks around it, and drops what is none. Other alphabets have
// letters that capitalise to ASCII ones; theirs is no country code.
func (t *Treffpunkt) normalizeLand() []string {
	given := t.Land
	if given == "" || validLand(given) {
		return nil
	}
	code := strings.Trim(given, " ")
	if t.Land = strings.ToUpper(code); len(code) == 2 && validLand(t.Land) {
		return []string{fmt.Sprintf("treffpunkt.land %q was read as %s", given, t.Land)}
	}
	t.Land = ""
	return []string{fmt.Sprintf("treffpunkt.land %+q is no country code of two letters and was dropped", truncate(given, 40))}
}

type treffpunktPart struct {
	name  string
	value *string
	limit int // characters
}

func (t *Treffpunkt) parts() []treffpunktPart {
	return []treffpunktPart{
		{"hinweis", &t.Hinweis, 175},
		{"strasse", &t.Strasse, 140},
		{"plz", &t.PLZ, 17},
		{"ort", &t.Ort, 35},
		{"land", &t.Land, 3},
	}
}
