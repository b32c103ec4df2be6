package mcpserver

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"sperrd/internal/sperr"
	"sperrd/internal/werktag"
)

// tools is every tool there is.
func (s *server) tools() []tool {
	return []tool{
		{
			name: "list_sperr_orders", title: "List Sperr- and Entsperrauftraege",
			description: "The queue of disconnection and reconnection orders, filtered. Sorted by requested date (undated last), then newest first; " +
				"with due = true in the order in which the field team should work. There are no pages: count equal to limit means that more may follow; narrow the filter, " +
				"raise the limit, or take get_sperr_stats for totals.",
			input: listInput(), output: listOutput(), answer: s.list,
		},
		{
			name: "get_sperr_order", title: "One Sperr- or Entsperrauftrag",
			description: "One order with all its fields: where it comes from (ORDERS, Lieferant, makod process), its dates and Fristen, the visits made, " +
				"the outcome, what became of its IFTSTA 21039, and warnungen. Read it before anybody goes there, and read warnungen first.",
			input: orderInput(), output: orderSchema(), answer: s.order,
		},
		{
			name: "get_sperr_stats", title: "Counters of the queue",
			description: "How many orders there are in each state, which Fristen are over, and whether makod has the outcomes that are owed to the Lieferanten. " +
				"health says the last in one word. Exact, of one moment.",
			input: noInput(), output: statsOutput(), answer: s.stats,
		},
		{
			name: "list_due_orders", title: "The field team's list",
			description: "What the field team can work on today: pending orders whose requested date has come, and those without a date. Undated Entsperrungen stand first, " +
				"since restoration is unverzueglich; then the oldest date. With the Treffpunkt. Call get_sperr_order for warnungen and Fristen of one of them.",
			input: noInput(), output: dueOutput(), answer: s.due,
		},
	}
}

func (s *server) today() werktag.Date { return werktag.BerlinDay(s.Now()) }

// orderList is the result of list_sperr_orders. PendingCount counts within Orders.
type orderList struct {
	Count        int           `json:"count"`
	Orders       []sperr.Order `json:"orders"`
	PendingCount int           `json:"pending_count"`
}

func (s *server) list(ctx context.Context, raw jsontext.Value) (any, error) {
	var a listArguments
	if err := readArguments(raw, &a); err != nil {
		return nil, err
	}
	filter, err := a.filter(s.today())
	if err != nil {
		return nil, err
	}
	page, err := s.Repository.List(ctx, filter)
	if err != nil {
		return nil, err
	}
	result := orderList{Count: len(page.Orders), Orders: page.Orders}
	for _, order := range page.Orders {
		if order.Status == sperr.StatusPending {
			result.PendingCount++
		}
	}
	return result, nil
}

func (s *server) order(ctx context.Context, raw jsontext.Value) (any, error) {
	var a orderArguments
	if err := readArguments(raw, &a); err != nil {
		return nil, err
	}
	id, err := a.uuid()
	if err != nil {
		return nil, err
	}
	order, err := s.Repository.Get(ctx, id)
	if errors.Is(err, sperr.ErrNotFound) {
		return nil, &argumentError{"id", "names no order of this Netzbetreiber"}
	}
	if err != nil {
		return nil, err
	}
	return order, nil
}

// statsResult is the result of get_sperr_stats: the counters, and what they say about
// the reports that are owed.
type statsResult struct {
	sperr.Stats
	Health health `json:"health"`
}

type health struct {
	IFTSTAOK bool   `json:"iftsta_ok"`
	Note     string `json:"note"`
}

// The notes of health.
const (
	noteStuck = "IFTSTA are stuck: their attempts are spent, nothing goes on by itself, and the Lieferanten do not know the outcome. " +
		"A human has to mend the cause and reset them; the prompt iftsta-sweep says how."
	noteOutstanding = "Dispatches in flight: makod does not have every outcome yet; they are sent again by themselves until their attempts are spent."
	noteReported    = "makod has every outcome that is owed."
	noteOverdue     = " Some are past their Frist, the 1st Werktag after the Abschluss."
)

func (s *server) stats(ctx context.Context, raw jsontext.Value) (any, error) {
	if err := readArguments(raw, &struct{}{}); err != nil {
		return nil, err
	}
	stats, err := s.Repository.Stats(ctx, s.today())
	if err != nil {
		return nil, err
	}
	return statsResult{Stats: stats, Health: healthOf(stats)}, nil
}

func healthOf(stats sperr.Stats) health {
	h := health{IFTSTAOK: stats.IFTSTAStuck == 0}
	switch {
	case stats.IFTSTAStuck > 0:
		h.Note = noteStuck
	case stats.IFTSTAOutstanding > 0:
		h.Note = noteOutstanding
	default:
		h.Note = noteReported
	}
	if stats.IFTSTAUeberfaellig > 0 {
		h.Note += noteOverdue
	}
	return h
}
