package sperr

import (
	"fmt"
	"strings"
	"time"

	"sperrd/internal/makod"
)

// iftstaDiagnose says in words why an outcome is not with makod; nil: it is, or nobody is
// owed one.
func iftstaDiagnose(o Order, maxAttempts int) *string {
	if !o.OutstandingIFTSTA() {
		return nil
	}
	parts := []string{attemptsText(o, maxAttempts), answerText(o)}
	if o.IFTSTAEmpfehlung != nil {
		parts = append(parts, "To do: "+*o.IFTSTAEmpfehlung+".")
	}
	if origin := originText(o); origin != "" {
		parts = append(parts, origin)
	}
	diagnosis := strings.Join(parts, " ")
	return &diagnosis
}

// attemptsText says how the attempts stand.
func attemptsText(o Order, maxAttempts int) string {
	counted := fmt.Sprintf("%d of %d attempts of this cycle", o.IFTSTAAttempts, maxAttempts)
	switch {
	case o.IFTSTAInFlight:
		return fmt.Sprintf("An attempt is under way, until %s at the latest (%s).", moment(o.IFTSTANextAttemptAt), counted)
	case o.neverDue():
		return fmt.Sprintf("Stuck: the next attempt is never due (%s).", counted)
	case o.SpentIFTSTA(maxAttempts):
		return fmt.Sprintf("Stuck: %s are spent, and nothing goes on by itself.", counted)
	default:
		return fmt.Sprintf("The next attempt is due at %s (%s).", moment(o.IFTSTANextAttemptAt), counted)
	}
}

// answerText says what makod said, and whether it may have the outcome all the same.
func answerText(o Order) string {
	said := "No answer of makod is recorded."
	if o.IFTSTALastError != nil {
		said = "makod's last answer: " + strings.TrimSuffix(*o.IFTSTALastError, ".") + "."
	}
	if o.IFTSTAUnklar {
		said += " It may have taken an attempt whose answer never came."
	}
	return said
}

// originText says how the order came, where makod knows no process for it: without an event
// of the market there is no correspondent to report to.
func originText(o Order) string {
	code, _, _ := strings.Cut(text(o.IFTSTALastCode), ":")
	switch {
	case code != makod.CodeProcessNotFound && code != makod.CodeInvalidState:
		return ""
	case o.WebhookID == nil && o.EventID == nil:
		return "The order was not brought by an event of makod: it reached the queue by another route, and there may be no market correspondent."
	case o.EventID != nil:
		return "The order was brought by makod's event " + *o.EventID + ": look for its process there."
	default:
		return "The order was brought by makod's delivery " + *o.WebhookID + ": look for its process there."
	}
}

func moment(at time.Time) string { return at.UTC().Format(time.RFC3339) }
