package main

import (
	"cmp"
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

// takeStock ends the day: what became of each order, and who knows of it.
func (s *story) takeStock(ctx context.Context) {
	s.chapter("What the day comes to")
	s.tellOrders(ctx)
	s.tellERP()
	s.tellStats(ctx)
	if !s.done() {
		repeated := s.market.makod.RepeatedTransactionIDs()
		s.expect(len(repeated) == 0, "makod got several commands under one transactionId: %v", repeated)
	}
}

func (s *story) tellOrders(ctx context.Context) {
	rows := []string{"ORDER\tASKS FOR\tSTATE\tWHAT THE LIEFERANT KNOWS"}
	for _, o := range s.orders() {
		o = s.look(ctx, o)
		rows = append(rows, fmt.Sprintf("%.8s\t%s %s\t%s\t%s", o.ID, o.OrderType, o.requested(), o.Status, s.knowledge(o)))
	}
	s.tellTable(rows)
}

func (s *story) tellERP() {
	rows := []string{"ORDER\tWHAT THE ERP KNOWS (" + eventPrefix + "*)"}
	for _, o := range s.orders() {
		rows = append(rows, fmt.Sprintf("%.8s\t%s", o.ID, s.erp.knows(o)))
	}
	s.tellTable(rows)
}

// tellTable aligns columns that are separated by tabs.
func (s *story) tellTable(rows []string) {
	var aligned strings.Builder
	table := tabwriter.NewWriter(&aligned, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(table, row)
	}
	s.try(table.Flush())
	for row := range strings.Lines(aligned.String()) {
		s.print("  %s", row)
	}
	s.print("\n")
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
		return fmt.Sprintf("NOTHING, after attempt %d", o.IFTSTAAttempts)
	default:
		return "nothing: none is owed"
	}
}

// tellOutbox tells which events of the story wait for the ERP, and expects these.
func (s *story) tellOutbox(ctx context.Context, want map[string]int) {
	got := map[string]int{}
	var said []string
	for _, c := range s.waiting(ctx) {
		name := strings.TrimPrefix(c.Type, eventPrefix)
		got[name] = c.Count
		said = append(said, fmt.Sprintf("%d %s", c.Count, name))
	}
	s.expect(maps.Equal(got, want), "in the outbox wait %v, expected %v", got, want)
	s.note("in the outbox wait: %s", cmp.Or(strings.Join(said, ", "), "none"))
}

// waiting counts the events of the story that the outbox still has to deliver, by type.
func (s *story) waiting(ctx context.Context) []eventCount {
	if s.done() {
		return nil
	}
	var ids []uuid.UUID
	for _, o := range s.orders() {
		ids = append(ids, o.ID)
	}
	counts, err := s.waitingEvents(ctx, ids)
	s.try(err)
	return counts
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
		"total": 9, "pending": 0, "executed": 6, "failed": 1, "cancelled": 2,
		"vorlauffrist_verletzt": 1, openRejects: 0,
	}
	for name, more := range want {
		s.expect(now[name] == s.before[name]+more, "%s was %d and is %d, expected %d more", name, s.before[name], now[name], more)
	}
	// What earlier runs have left may have been sent meanwhile.
	for _, name := range []string{"iftsta_outstanding", "iftsta_stuck"} {
		s.expect(now[name] <= s.before[name], "%s was %d and is %d", name, s.before[name], now[name])
	}
}
