package sperr

import (
	"strings"

	"sperrd/internal/makod"
)

// iftstaEmpfehlung says in words what a human can do about an outcome that makod
// did not take, from the kind of its last answer. It is nil where nothing is to be
// done.
func iftstaEmpfehlung(o Order) *string {
	if o.IFTSTALastCode == nil || o.IFTSTADispatchedAt != nil {
		return nil
	}
	code, found, _ := strings.Cut(*o.IFTSTALastCode, ":")
	advice, ok := adviceByCode[code]
	if byState, known := adviceByState[found]; known && code == makod.CodeInvalidState {
		advice, ok = byState, true
	}
	if !ok && strings.HasPrefix(code, "http_5") {
		advice, ok = "makod, or a proxy before it, is in trouble; the outcome stays queued", true
	}
	if !ok {
		advice = "read iftsta_last_error; the outcome stays queued"
	}
	return &advice
}

// adviceByCode is the advice for makod's own error words and the client's.
var adviceByCode = map[string]string{
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
	makod.CodeConnectionLost:    "the connection to makod broke before its answer; the outcome stays queued under the same key",
	"http_429":                  "makod asks us to slow down; the outcome stays queued",
	"engine_error":              "makod had an internal error; the outcome stays queued",
	makod.CodeTimeout:           "makod did not answer in time; the outcome stays queued",
	makod.CodeUnreachable:       "makod cannot be reached: check makod_url and the network",
	makod.CodeUndecodableAnswer: "makod's answer cannot be read; the outcome stays queued under the same key",
	"idempotency_unavailable":   "makod's idempotency store is unavailable; the outcome stays queued",
}

// adviceByState is the advice for the state in which makod found its process.
var adviceByState = map[string]string{
	makod.StateStorniert: "the Lieferant withdrew the order in makod: clear with the Lieferant what happened on site",
	makod.StateRejected: "makod has closed its process (deadline, validation, or an earlier report whose answer was lost): " +
		"look for which in makod; unless it was the report, inform the Lieferant by other means",
	makod.StateAusgefuehrt: "makod's process is executed already: compare it with this order",
}
