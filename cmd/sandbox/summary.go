package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/google/uuid"
)

// stats are sperrd's counters by name.
type stats map[string]int

func (s *story) stats(ctx context.Context) stats {
	return read[stats](s, s.fetch(ctx, ordersPath+"/stats"))
}

// takeStock ends the day: what became of each order, who knows of it, what waits.
func (s *story) takeStock(ctx context.Context) {
	s.chapter("What the day comes to")
	s.tellOrders(ctx)
	s.tellOutbox(ctx)
	s.tellStats(ctx)
	s.market.makod.ClearFaults()
	if !s.done() {
		s.print("\n")
		s.note("makod works again. This version does not send a queued IFTSTA by itself: it stays in iftsta_outstanding.")
	}
}

func (s *story) tellOrders(ctx context.Context) {
	var rows strings.Builder
	table := tabwriter.NewWriter(&rows, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "ORDER\tASKS FOR\tSTATE\tWHAT THE LIEFERANT KNOWS")
	for _, o := range s.orders() {
		o = s.look(ctx, o)
		knows := s.knowledge(o)
		fmt.Fprintf(table, "%.8s\t%s %s\t%s\t%s\n", o.ID, o.OrderType, o.requested(), o.Status, knows)
	}
	s.try(table.Flush())
	for row := range strings.Lines(rows.String()) {
		s.print("  %s", row)
	}
}

// knowledge is what makod has told the Lieferant of an order, and where that is
// nothing, why.
func (s *story) knowledge(o order) string {
	var told []string
	for _, m := range s.market.makod.IFTSTAFor(o.MaloID) {
		told = append(told, iftstaText(m))
	}
	switch {
	case len(told) > 0:
		return strings.Join(told, "; ")
	case o.ProcessID == nil:
		return "nothing: an operator's order, none is owed"
	case o.Status == "executed" || o.Status == "failed":
		return fmt.Sprintf("NOTHING YET: queued after attempt %d", o.IFTSTAAttempts)
	default:
		return "nothing: none is owed"
	}
}

// tellOutbox counts what waits for the ERP: one event for each thing that happened.
func (s *story) tellOutbox(ctx context.Context) {
	var ids []uuid.UUID
	for _, o := range s.orders() {
		ids = append(ids, o.ID)
	}
	if s.done() {
		return
	}
	counts, err := s.waitingEvents(ctx, ids)
	s.try(err)
	got := map[string]int{}
	var said []string
	for _, c := range counts {
		got[c.Type] = c.Count
		said = append(said, fmt.Sprintf("%d %s", c.Count, c.Type))
	}
	s.print("\n")
	s.note("for the ERP wait in the outbox: %s", strings.Join(said, ", "))
	want := map[string]int{
		"de.sperr.auftrag.eingegangen": 5, "de.sperr.ausgefuehrt": 3, "de.sperr.versuch.gescheitert": 1,
		"de.sperr.fehlgeschlagen": 1, "de.sperr.storniert": 1,
	}
	s.expect(maps.Equal(got, want), "expected %v in the outbox", want)
}

// tellStats tells the counters and expects what this day has added to them.
func (s *story) tellStats(ctx context.Context) {
	now := s.stats(ctx)
	var said []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		said = append(said, fmt.Sprintf("%s %d", name, now[name]))
	}
	s.note("GET %s/stats: %s", ordersPath, strings.Join(said, ", "))
	want := stats{
		"total": 5, "pending": 0, "executed": 3, "failed": 1, "cancelled": 1,
		"iftsta_outstanding": 1, "vorlauffrist_verletzt": 1, "webhook_rejects_offen": 1,
	}
	for name, more := range want {
		s.expect(now[name] == s.before[name]+more, "%s was %d and is %d, expected %d more", name, s.before[name], now[name], more)
	}
}
