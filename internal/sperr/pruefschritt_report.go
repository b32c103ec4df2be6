package sperr

import (
	"fmt"
	"strings"
)

// codeReport is what a field report says about its Pruefschritt.
type codeReport struct {
	order   Order
	outcome Status         // StatusExecuted or StatusFailed
	code    *string        // as reported, nil: none
	reason  string         // of a failed visit: what would go into FTX+ACB
	closes  bool           // the report ends the order, so that an IFTSTA may follow
	tree    []Pruefschritt // the codes of the order's type that are in force, of both outcomes
}

// judge decides which code a report carries (nil: none), and adds to invalid what is
// wrong with its code and its reason, with the codes that would fit. It returns a warning
// where the list does not know the code and check lets it pass.
func (r codeReport) judge(invalid *ValidationError, check PruefschrittCheck) (code *string, warnings []string) {
	fitting := pruefschritteOf(r.tree, r.outcome)
	code, warnings, fault := r.judgeCode(fitting, check)
	if fault != "" {
		invalid.add("pruefschritt_code", fault+"; "+fittingText(fitting))
	}
	noReason := r.outcome == StatusFailed && isBlank(r.reason)
	if noReason {
		reason := "must not be blank"
		if p, ok := findPruefschritt(fitting, r.code); ok && p.TextRequired {
			reason += ": with pruefschritt_code " + p.Code + " it is a Muss in the message to the Lieferant"
		}
		if fault == "" {
			reason += "; " + fittingText(fitting)
		}
		invalid.add("reason", reason)
	}
	if fault != "" || noReason {
		invalid.FittingCodes = codesOf(fitting)
	}
	return code, warnings
}

// judgeCode is judge for the code alone. On a market order a closing report needs one,
// DE9013 being a Muss; where the tree has a single answer it is filled in.
func (r codeReport) judgeCode(fitting []Pruefschritt, check PruefschrittCheck) (code *string, warnings []string, fault string) {
	if r.code == nil {
		switch {
		case !r.closes || !r.order.OwesIFTSTA():
			return nil, nil, ""
		case len(fitting) == 1:
			return &fitting[0].Code, nil, ""
		}
		return nil, nil, "is missing"
	}
	if _, fits := findPruefschritt(fitting, r.code); fits {
		return r.code, nil, ""
	}
	// A code that the tree knows for the other outcome says the opposite: it is never
	// let through as new.
	if _, known := findPruefschritt(r.tree, r.code); check == PruefschrittWarn && codeShape(*r.code) && !known {
		names := strings.Join(codesOf(fitting), ", ")
		return r.code, []string{fmt.Sprintf("pruefschritt_code %s is not in the code list for this report (%s)", *r.code, names)}, ""
	}
	return nil, nil, fmt.Sprintf("%q does not fit a report of %s on a %s", truncate(*r.code, 20), r.outcome, r.order.OrderType)
}

// fittingText names the codes that a report may carry.
func fittingText(fitting []Pruefschritt) string {
	if len(fitting) == 0 {
		return "for this report fits no code of the format version in force"
	}
	return "for this report fit " + strings.Join(codesOf(fitting), ", ")
}
