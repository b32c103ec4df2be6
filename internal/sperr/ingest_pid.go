package sperr

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"
)

// eventPID is the Pruefidentifikator and the place it was found in: the attribute
// makopid, else data.pid, else nowhere. A makopid of 0 means that the ORDERS had none
// and does not fall back.
func eventPID(e event.Event, data marketData) (pid int, field string, err error) {
	if value, ok := e.Extensions()["makopid"]; ok {
		pid, err = parsePID(fmt.Sprint(value))
		return pid, "makopid", err
	}
	if _, ok := data.scalar("pid"); !ok {
		return 0, "", nil
	}
	pid, err = data.pid()
	return pid, "data.pid", err
}

func parsePID(s string) (int, error) {
	if s == "" || len(s) > 9 || !digits(s, len(s)) {
		return 0, fmt.Errorf("%q is no Pruefidentifikator", truncate(s, 20))
	}
	return strconv.Atoi(s)
}

func extension(e event.Event, name string) string {
	if v, ok := e.Extensions()[name]; ok {
		return fmt.Sprint(v)
	}
	return ""
}

// mistakable reports whether an event that is not ours looks as if it should be: a
// PID of ours under a workflow that is ours but for its spelling, or that contradicts
// the event's other PID. A human should look.
func mistakable(e event.Event) bool {
	workflow := strings.TrimSpace(strings.ToValidUTF8(extension(e, "makoworkflow"), ""))
	if e.Type() != typeProcessInitiated || workflow != "" && !strings.EqualFold(workflow, workflowGPKESperrung) {
		return false
	}
	data, _ := readMarketData(e.Data()) // no data is no PID
	pid, _ := data.pid()
	announced, _ := parsePID(extension(e, "makopid"))
	_, inData := typeOfPID(pid)
	_, inEnvelope := typeOfPID(announced)
	return inData || inEnvelope
}
