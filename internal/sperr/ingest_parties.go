package sperr

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"
)

// readParties reads who, for whom, where and in which process.
func (in ingester) readParties(o *Order, invalid *ValidationError, e event.Event, data marketData) {
	o.MaloID = data.text("malo_id")
	if o.MaloID == "" {
		invalid.add("malo_id", "is missing")
	} else if err := checkMaloID(o.MaloID); err != nil {
		invalid.add("malo_id", fmt.Sprintf("%q %v", truncate(o.MaloID, 40), err))
	}
	o.LieferantID = data.text("lf_mp_id")
	sender := data.text("sender")
	if o.LieferantID == "" {
		o.LieferantID = sender
	} else if sender != "" && sender != o.LieferantID {
		o.warn("data.sender differs from lf_mp_id, which counts")
	}
	if o.LieferantID == "" {
		invalid.add("lf_mp_id", "is missing, and so is sender")
	} else if err := checkMPID(o.LieferantID); err != nil {
		invalid.add("lf_mp_id", fmt.Sprintf("%q %v", truncate(o.LieferantID, 40), err))
	}
	if w := MPIDWarning(o.LieferantID); w != "" {
		o.warn("lf_mp_id: " + w)
	}
	if !in.isReceiver(data) {
		invalid.add("receiver", fmt.Sprintf("%q is not this Netzbetreiber", truncate(data.text("receiver"), 40)))
	}
	process, err := readProcess(e)
	var noProcess *ValidationError
	if errors.As(err, &noProcess) {
		invalid.Fields = append(invalid.Fields, noProcess.Fields...)
	}
	o.ProcessID = &process
}

// isReceiver reports whether the message is for this Netzbetreiber, as far as it says.
func (in ingester) isReceiver(data marketData) bool {
	receiver, given := data.scalar("receiver")
	return !given || receiver == in.tenant
}

// readProcess is the makod process of an event. Without one an outcome could not be
// reported back, nor a Stornierung be matched.
func readProcess(e event.Event) (string, error) {
	process := canonicalProcess(e.Subject())
	switch {
	case process == "":
		return "", unusable("subject", "is missing, and with it the process")
	case len(process) > 200 || strings.ContainsFunc(process, func(r rune) bool { return r < ' ' }):
		return "", unusable("subject", "is no process id")
	}
	return process, nil
}
