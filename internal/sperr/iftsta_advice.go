package sperr

import (
	"strings"

	"sperrd/internal/makod"
)

// iftstaEmpfehlung says in words what a human can do about an outcome that makod
// did not take, from the kind of its last answer, and what the service does by itself.
// It is nil where nothing is to be done.
func iftstaEmpfehlung(o Order, maxAttempts int) *string {
	code, told := text(o.IFTSTALastCode), o.IFTSTALastCode != nil || o.IFTSTAAttempts > 0
	if o.unreportable() {
		code, told = codeNotReportable, true
	}
	if !o.OutstandingIFTSTA() || o.IFTSTAInFlight || !told && !o.neverDue() {
		return nil
	}
	if o.neverDue() {
		advice := "iftsta_next_attempt_at lies beyond every calendar, and nothing sends the outcome: set it to now() by SQL"
		if told {
			advice += "; " + adviceOn(code)
		}
		return &advice
	}
	advice := adviceOn(code)
	if o.SpentIFTSTA(maxAttempts) {
		advice += "; the attempts are spent: reset the order once the cause is gone"
	} else {
		advice += "; the outcome is sent again by itself under the same key"
	}
	return &advice
}

// adviceOn is the advice for a code as the column has it.
func adviceOn(lastCode string) string {
	code, found, _ := strings.Cut(lastCode, ":")
	if advice, known := adviceByState[found]; known && code == makod.CodeInvalidState {
		return advice
	}
	if advice, known := adviceByCode[code]; known {
		return advice
	}
	if strings.HasPrefix(code, "http_5") {
		return "makod, or a proxy before it, is in trouble"
	}
	return "read iftsta_last_error"
}

// adviceByCode is the advice for makod's own error words and the client's.
var adviceByCode = map[string]string{
	"": "no answer of makod was recorded, since the process that sent the outcome ended: makod may have it",
	makod.CodeProcessNotFound: "makod has no gpke-sperrung process for this MaLo: check whether the inbound ORDERS spawned one; " +
		"if it did not, there is no market correspondent to report to",
	makod.CodeAmbiguousProcess:  "makod has more than one process for this MaLo: end the wrong one in makod",
	makod.CodeInvalidState:      "makod's process is not in ValidationPassed: bring it there, or inform the Lieferant by other means",
	"invalid_payload":           "makod cannot read the command: compare the versions of sperrd and makod",
	"command_rejected":          "makod does not offer this command to the Netzbetreiber: check its configuration",
	"not_implemented":           "this makod does not implement the command: update it",
	"idempotency_key_reuse":     "makod knows the key with another payload: it may have taken an earlier outcome; check its process",
	"duplicate_process":         "makod reports a process already active, without a usable id: check it in makod",
	"Unauthorized":              "makod refuses our key: check makod_api_key",
	"Forbidden":                 "makod's policy refuses the command to our key: check its policy",
	makod.CodeConnectionLost:    "the connection to makod broke before its answer",
	"http_429":                  "makod asks us to slow down",
	"engine_error":              "makod had an internal error",
	makod.CodeTimeout:           "makod did not answer in time",
	makod.CodeUnreachable:       "makod cannot be reached: check makod_url and the network",
	makod.CodeUndecodableAnswer: "makod's answer cannot be read",
	"idempotency_unavailable":   "makod's idempotency store is unavailable",
	codeNotReportable:           "executed_at is no moment that can be reported: set it by SQL to when the order was carried out",
	codeNotSent:                 "the last claim ended before the command could be sent: compare iftsta.lease with request_timeout",
}

// adviceByState is the advice for the state in which makod found its process.
var adviceByState = map[string]string{
	makod.StateStorniert: "the Lieferant withdrew the order in makod: clear with the Lieferant what happened on site",
	makod.StateRejected: "makod has closed its process (deadline, validation, or an earlier report whose answer was lost): " +
		"look for which in makod; unless it was the report, inform the Lieferant by other means",
	makod.StateAusgefuehrt: "makod's process is executed already: compare it with this order",
}
