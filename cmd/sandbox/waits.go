package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"sperrd/internal/makod/makodtest"
	"sperrd/internal/outbox/erptest"
)

const (
	// patience is how long the story waits for something that sperrd does by itself.
	patience = 30 * time.Second
	lookPoll = 50 * time.Millisecond
)

// await looks again and again until ok, and ends the story when that takes too long.
func (s *story) await(ctx context.Context, what string, ok func() bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(lookPoll)
	defer ticker.Stop()
	for !s.done() && !ok() {
		select {
		case <-ctx.Done():
			s.expect(false, "waited %s in vain until %s", patience, what)
		case <-ticker.C:
		}
	}
}

// awaitOrder reads an order until it is as it should be.
func (s *story) awaitOrder(ctx context.Context, o order, what string, ok func(order) bool) order {
	s.await(ctx, what, func() bool {
		o = s.look(ctx, o)
		return ok(o)
	})
	return o
}

// queued expects that an outcome is kept, that its Lieferant does not know it, and that
// the order says why and what to do.
func (s *story) queued(ctx context.Context, o order) order {
	o = s.look(ctx, o)
	s.expect(o.Status == "executed" && o.IFTSTADispatchedAt == nil && o.IFTSTALastError != nil && o.IFTSTAEmpfehlung != nil,
		"the order is %s, dispatched at %v, its last error %v", o.Status, shown(o.IFTSTADispatchedAt), shown(o.IFTSTALastError))
	if !s.done() {
		s.note("iftsta_last_error: %s", *o.IFTSTALastError)
		s.note("iftsta_empfehlung: %s", *o.IFTSTAEmpfehlung)
	}
	s.lieferantKnowsNothing(o)
	return o
}

// dispatched waits until makod has an outcome that was queued.
func (s *story) dispatched(ctx context.Context, o order) order {
	return s.awaitOrder(ctx, o, "makod has the outcome", func(o order) bool { return o.IFTSTADispatchedAt != nil })
}

// tellAttempts tells when makod was asked about an order and what it said. It is one
// command under one key, however often it comes.
func (s *story) tellAttempts(o order) {
	if s.done() {
		return
	}
	commands := s.market.commandsFor(o.MaloID)
	var said []string
	for _, c := range commands {
		s.expect(c.Key == commands[0].Key && string(c.Body) == string(commands[0].Body), "makod gets another command: %s %s", c.Key, c.Body)
		said = append(said, fmt.Sprintf("%s at %.1fs", statusText(c), c.Start.Sub(commands[0].Start).Seconds()))
	}
	s.expect(len(commands) > 1, "makod was asked once")
	s.note("sent %d times as %s: %s", len(commands), commands[0].Key, strings.Join(said, ", "))
}

// statusText is how makod answered a command.
func statusText(c makodtest.Request) string {
	if c.Status == 0 {
		return "no answer"
	}
	return strconv.Itoa(c.Status)
}

// erpKnows waits until the ERP has taken the last of these events about an order, and
// expects that it has these and no others, in this order.
func (s *story) erpKnows(ctx context.Context, o order, types ...string) {
	want := strings.Join(types, ", ")
	s.await(ctx, "the ERP knows of "+want, func() bool { return len(s.erp.AcceptedFor(o.ID.String())) >= len(types) })
	if s.done() {
		return
	}
	got := s.erp.knows(o)
	s.expect(got == want, "the ERP knows of the order: %s; it should know: %s", got, want)
	s.note("the ERP knows of %.8s: %s", o.ID, got)
}

// erpRefuses waits until the ERP has put off an event about an order, of which it still
// knows no more than these.
func (s *story) erpRefuses(ctx context.Context, o order, types ...string) {
	s.await(ctx, "the ERP is offered an event", func() bool { return len(s.refusals(o)) > 0 })
	if s.done() {
		return
	}
	d := s.refusals(o)[0]
	s.note("the ERP has answered %s with %d %s", strings.TrimPrefix(d.Type, eventPrefix), d.Status, http.StatusText(d.Status))
	s.erpKnows(ctx, o, types...)
}

// refusals are the deliveries about an order that the ERP did not take.
func (s *story) refusals(o order) []erptest.Delivery {
	return slices.DeleteFunc(s.erp.DeliveriesFor(o.ID.String()), func(d erptest.Delivery) bool {
		return d.Ended.IsZero() || d.Status == http.StatusNoContent
	})
}

// tellDeliveries tells how often the ERP was offered what it knows now. It takes each
// event once, with a valid signature, and of one order never two at the same time.
func (s *story) tellDeliveries() {
	if s.done() {
		return
	}
	offered, refused, taken := 0, 0, 0
	for _, o := range s.orders() {
		for _, d := range s.erp.DeliveriesFor(o.ID.String()) {
			offered++
			s.expect(d.Problem == "" && !d.Overlapped, "the delivery of %s is not right: %s, overlapped %t", d.Type, d.Problem, d.Overlapped)
		}
		refused += len(s.refusals(o))
		taken += len(s.erp.AcceptedFor(o.ID.String()))
	}
	s.expect(offered == refused+taken, "of %d deliveries %d were refused, but %d events taken: some came twice", offered, refused, taken)
	s.note("%d deliveries, each signed: %d refused while it was down, %d events taken, none twice", offered, refused, taken)
}
