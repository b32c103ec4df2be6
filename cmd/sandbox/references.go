package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// tellCommands tells under which ids makod got the outcome of an order that was
// reported as reference: the first command names the operation, each later one is
// another call of it, and all of them say which report they come of.
func (s *story) tellCommands(ctx context.Context, o order, reference string) {
	if s.done() {
		return
	}
	commands := s.market.commandsFor(o.MaloID)
	s.expect(len(commands) > 1, "makod was asked %d times", len(commands))
	initial := ""
	for _, c := range commands {
		id := c.TransactionID()
		s.expect(id != "" && c.CreationDateTime() != "" && c.InitialTransactionID() == initial && c.ReferenceID() == reference,
			"makod gets %s %q, %s %q, %s %q", headerTransactionID, id, headerInitialTransactionID, c.InitialTransactionID(), headerReferenceID, c.ReferenceID())
		said := fmt.Sprintf("%s %.8s", headerTransactionID, id)
		if initial != "" {
			said += fmt.Sprintf(", %s %.8s", headerInitialTransactionID, initial)
		}
		s.note("to makod: %s, %s %.8s: %s", said, headerReferenceID, reference, statusText(c))
		initial = cmp.Or(initial, id)
	}
	last := commands[len(commands)-1].TransactionID()
	history := read[[]historyLine](s, s.fetch(ctx, o.path("/history")))
	s.expect(slices.ContainsFunc(history, func(l historyLine) bool { return l.Action == "iftsta_dispatched" && l.TransactionID == last }),
		"the history of the order does not say that the outcome went out as %s: %v", last, history)
}

// cause is an event and the call that it comes of.
type cause struct {
	event     string
	reference string // the first call for the same report, or the event of the market
	call      string // the call that was the one to count; empty without a call
}

// tellReferences waits until the ERP has these events about an order, and expects that
// each says of what it comes.
func (s *story) tellReferences(ctx context.Context, o order, causes []cause) {
	var types []string
	for _, c := range causes {
		types = append(types, c.event)
	}
	s.erpKnows(ctx, o, types...)
	if s.done() {
		return
	}
	taken := slices.DeleteFunc(s.erp.taken(), func(e takenEvent) bool { return e.OrderID != o.ID.String() })
	for i, c := range causes { // erpKnows has seen as many events
		e := taken[i]
		s.expect(e.ReferenceID == c.reference && e.TransactionID == c.call,
			"%s says referenceid %q, transactionid %q; expected %q, %q", e.Type, e.ReferenceID, e.TransactionID, c.reference, c.call)
		said := ""
		if e.TransactionID != "" && e.TransactionID != e.ReferenceID {
			said = ", transactionid " + e.TransactionID
		}
		s.note("to the ERP: %s, referenceid %s%s", c.event, e.ReferenceID, said)
	}
}
