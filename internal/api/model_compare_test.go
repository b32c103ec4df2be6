package api_test

import (
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// modelRow is an order as it stands in the database.
type modelRow struct {
	Status, Created, Visited, Closed, First string
	Visits, Attempts                        int
	Dispatched, Unclear                     bool
	Events                                  []modelEvent
	History                                 []modelLine
}

// modelRecord is an operation as it stands there.
type modelRecord struct {
	ExecutedBy, Status, State, Order string
	IDs                              map[string]bool // whether received
}

// compare looks at everything that the sequence has left.
func (s *modelSequence) compare() {
	got := s.rows()
	for i, o := range s.model.orders {
		row := got[o.id]
		s.compareMakod(o, row.First)
		row.First = ""
		want := modelRow{
			Status: o.status, Visits: o.visits, Created: o.created, Visited: o.visited, Closed: o.closed,
			Attempts: o.attempts, Dispatched: o.dispatched, Unclear: o.unclear, Events: o.events, History: o.history,
		}
		if diff := cmp.Diff(want, row); diff != "" {
			s.rt.Errorf("order %d (-want +got):\n%s", i, diff)
		}
	}
	if len(got) != len(s.model.orders) {
		s.rt.Errorf("%d orders, want %d", len(got), len(s.model.orders))
	}
	want := map[string]modelRecord{}
	for i, op := range s.model.ops {
		r := modelRecord{ExecutedBy: op.executedBy, Status: fmt.Sprint(op.status), State: "final", IDs: map[string]bool{}}
		if op.provisional {
			r.Status, r.State = "202", "provisional"
		}
		if op.order >= 0 {
			r.Order = s.model.orders[op.order].id
		}
		for id, known := range s.model.ids {
			if known.op == i {
				r.IDs[id] = known.received
			}
		}
		want[op.logical] = r
	}
	if diff := cmp.Diff(want, s.records()); diff != "" {
		s.rt.Errorf("operations (-want +got):\n%s", diff)
	}
	if again, overlaps := s.makod.RepeatedTransactionIDs(), s.makod.Overlaps(); len(again)+len(overlaps) != 0 {
		s.rt.Errorf("transactionIds %q came to makod twice, commands %q at the same time", again, overlaps)
	}
}

// compareMakod looks at the commands for an order: one outcome at most, and each attempt
// under an id of its own that names the first.
func (s *modelSequence) compareMakod(o modelOrder, first string) {
	if !o.market() {
		return
	}
	accepted := s.makod.IFTSTAFor(o.malo)
	if (len(accepted) == 1) != o.applied || len(accepted) > 1 {
		s.rt.Errorf("%d IFTSTA for order %s, want one: %t", len(accepted), o.id, o.applied)
	}
	requests := s.makod.RequestsFor("sperrd-iftsta-" + o.id)
	if len(requests) != o.sends {
		s.rt.Errorf("%d commands for order %s, want %d", len(requests), o.id, o.sends)
	}
	reference := strings.TrimPrefix(o.closed, "ik:")
	switch {
	case o.closed == "":
		reference = o.eventID
	case len(reference) != 36:
		reference = ""
	}
	for i, r := range requests {
		if (i == 0) != (r.TransactionID() == first) || (i == 0) == (r.InitialTransactionID() == first) || r.ReferenceID() != reference {
			s.rt.Errorf("command %d for order %s: transactionId %s, initialTransactionId %q, referenceId %q; the first one was %s, and %q reported",
				i, o.id, r.TransactionID(), r.InitialTransactionID(), r.ReferenceID(), first, reference)
		}
	}
}

// rows are the orders of the sequence by their id.
func (s *modelSequence) rows() map[string]modelRow {
	rows := map[string]modelRow{}
	query, err := s.pool.Query(s.t.Context(), `
		SELECT o.id::text, status, COALESCE(erstellt_transaktion, ''), COALESCE(letzter_versuch_transaktion, ''), COALESCE(abschluss_transaktion, ''),
			COALESCE(iftsta_transaktion::text, ''), sperrversuche, iftsta_attempts, iftsta_dispatched_at IS NOT NULL, iftsta_unklar,
			ARRAY(SELECT concat_ws('|', ce_type, COALESCE(envelope->>'referenceid', ''), COALESCE(envelope->>'transactionid', ''))
				FROM event_outbox e WHERE e.order_id = o.id ORDER BY seq),
			ARRAY(SELECT concat_ws('|', action, CASE WHEN action IN ('iftsta_dispatched', 'iftsta_not_taken') THEN '' ELSE COALESCE(transaction_id, '') END)
				FROM sperr_order_history h WHERE h.order_id = o.id AND action <> 'another_order_pending' -- what others do beside it
				ORDER BY id)
		FROM sperr_orders o WHERE tenant = $1`, s.tenant)
	if err != nil {
		s.rt.Fatal(err)
	}
	var id string
	var r modelRow
	var events, history []string
	_, err = pgx.ForEachRow(query, []any{
		&id, &r.Status, &r.Created, &r.Visited, &r.Closed, &r.First, &r.Visits, &r.Attempts, &r.Dispatched, &r.Unclear, &events, &history,
	}, func() error {
		r.Events, r.History = nil, nil
		for _, e := range events {
			part := strings.Split(e, "|")
			r.Events = append(r.Events, modelEvent{part[0], part[1], part[2]})
		}
		for _, h := range history {
			action, call, _ := strings.Cut(h, "|")
			r.History = append(r.History, modelLine{action, call})
		}
		rows[id] = r
		return nil
	})
	if err != nil {
		s.rt.Fatal(err)
	}
	return rows
}

// records are the operations of the sequence by their id.
func (s *modelSequence) records() map[string]modelRecord {
	records := map[string]modelRecord{}
	query, err := s.pool.Query(s.t.Context(), `
		SELECT t.logical_id, executed_by, status_code::text, state, COALESCE(order_id::text, ''), transaction_id, received_at IS NOT NULL
		FROM api_transactions t LEFT JOIN api_transaction_attempts a USING (tenant, logical_id) WHERE tenant = $1`, s.tenant)
	if err != nil {
		s.rt.Fatal(err)
	}
	var logical, id string
	var received bool
	var r modelRecord
	_, err = pgx.ForEachRow(query, []any{&logical, &r.ExecutedBy, &r.Status, &r.State, &r.Order, &id, &received}, func() error {
		if known, ok := records[logical]; ok {
			r.IDs = known.IDs
		} else {
			r.IDs = map[string]bool{}
		}
		r.IDs[id] = received
		records[logical] = r
		return nil
	})
	if err != nil {
		s.rt.Fatal(err)
	}
	return records
}
