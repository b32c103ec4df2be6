package api_test

import (
	"net/http"
	"strings"
)

// modelOrder is how an order must stand, and what it must have told.
type modelOrder struct {
	id, malo   string
	eventID    string // of the market's event; empty: an operator's order
	status     string
	visits     int
	events     []modelEvent
	history    []modelLine
	applied    bool // makod has carried out a command
	dispatched bool // and that is written down
	unclear    bool // a command may have been carried out
	attempts   int
	sends      int
	created    string // logical ids of the calls that did it
	visited    string
	closed     string
	held       bool // its command is on its way
}

type modelEvent struct{ Type, Reference, Transaction string }

type modelLine struct{ Action, Transaction string }

func (o modelOrder) market() bool { return o.eventID != "" }

// outstanding tells that a Lieferant waits for the outcome.
func (o modelOrder) outstanding() bool {
	return o.market() && !o.dispatched && (o.status == "executed" || o.status == "failed")
}

// modelVerdict is what a call comes to that nobody has made before.
type modelVerdict struct {
	modelExpected
	action, event string // empty: nothing is changed
	to            string // the state of the order then; empty: as before
	visit         bool
}

// judge says what c comes to. It changes nothing.
func (m *model) judge(c modelCall) modelVerdict {
	no := func(status int, code string) modelVerdict {
		v := modelVerdict{modelExpected: refused(status, code)}
		if status != http.StatusNotFound {
			v.order = c.order
		}
		return v
	}
	body := c.content()
	switch {
	case c.route == "create" && body.invalid:
		return modelVerdict{modelExpected: refused(http.StatusUnprocessableEntity, "invalid_order")}
	case c.route == "create":
		return done(http.StatusCreated, "created", "auftrag.eingegangen", "pending")
	case (c.route == "cancel" || c.route == "reset") && body.invalid && c.order < 0: // whatever the order
		return modelVerdict{modelExpected: refused(http.StatusUnprocessableEntity, "invalid_report")}
	case (c.route == "cancel" || c.route == "reset") && body.invalid:
		return no(http.StatusUnprocessableEntity, "invalid_report")
	case c.order < 0:
		return no(http.StatusNotFound, "not_found")
	}
	o := m.orders[c.order]
	switch {
	case c.route == "reset" && !o.outstanding():
		return no(http.StatusConflict, "nothing_to_reset")
	case c.route == "reset":
		return done(http.StatusNoContent, "iftsta_reset", "", "")
	case o.status != "pending":
		return no(http.StatusConflict, "order_not_pending")
	case body.invalid:
		return no(http.StatusUnprocessableEntity, "invalid_report")
	case c.route == "cancel":
		return done(http.StatusNoContent, "cancelled", "storniert", "cancelled")
	case c.route == "execute":
		return done(http.StatusNoContent, "executed", "ausgefuehrt", "executed")
	}
	v := done(http.StatusNoContent, "failed", "fehlgeschlagen", "failed")
	v.visit = true
	switch closes := body.endgueltig || o.visits == 1; {
	case !closes:
		v.status, v.action, v.event, v.to = http.StatusAccepted, "sperrversuch_failed", "versuch.gescheitert", ""
	case o.market() && !body.code:
		return no(http.StatusUnprocessableEntity, "invalid_report")
	}
	return v
}

func done(status int, action, event, to string) modelVerdict {
	return modelVerdict{modelExpected: modelExpected{status: status, op: -1}, action: action, event: event, to: to}
}

// change does what v says, with its event and its line in the history.
func (m *model) change(c modelCall, v modelVerdict) modelExpected {
	if v.action == "" {
		return v.modelExpected
	}
	v.order = c.order
	if c.route == "create" {
		v.order = len(m.orders)
		m.orders = append(m.orders, modelOrder{malo: malo, created: c.first})
	}
	o := &m.orders[v.order]
	if v.to != "" {
		o.status = v.to
	}
	if v.visit {
		o.visits, o.visited = o.visits+1, c.first
	}
	if v.to == "executed" || v.to == "failed" {
		o.closed, v.sends = c.first, o.market()
		if v.sends {
			o.attempts = 1
		}
	}
	if c.route == "execute" || c.route == "fail" {
		v.recorded = o.status
	}
	if c.route == "reset" {
		o.attempts = 0
	}
	own := strings.TrimPrefix(c.own, "ik:")
	if v.event != "" {
		reference := strings.TrimPrefix(c.first, "ik:")
		if reference == "" {
			reference = o.eventID
		}
		o.events = append(o.events, modelEvent{"de.sperr." + v.event, reference, own})
	}
	o.history = append(o.history, modelLine{v.action, own})
	return v.modelExpected
}

// send tells makod the outcome of o, and reports whether it is written down that makod
// has it. makod takes one command for each process, and an older one refuses the next.
func (m *model) send(o *modelOrder, fault, db string) bool {
	before := o.unclear
	o.sends++
	inVain := func() bool {
		o.history = append(o.history, modelLine{"iftsta_not_taken", ""})
		return false
	}
	switch fault {
	case makodDown:
		o.unclear = true
		return inVain()
	case makodRefuses:
		return inVain()
	}
	accepted := !o.applied || m.modern || before && o.status == "executed" // the last: it must have been ours
	o.applied = true
	if fault == makodSwallows {
		o.unclear = true
		return inVain()
	}
	if !accepted {
		return inVain()
	}
	if db == dbDispatch {
		o.unclear = true
		return false
	}
	o.dispatched, o.unclear = true, false
	o.history = append(o.history, modelLine{"iftsta_dispatched", ""})
	return true
}
