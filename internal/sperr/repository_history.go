package sperr

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/outbox"
)

// HistoryEntry is one line of an order's history.
type HistoryEntry struct {
	At     time.Time       `db:"at" json:"at"`
	Actor  string          `db:"actor" json:"actor"`
	Action string          `db:"action" json:"action"`
	From   *Status         `db:"from_status" json:"from"`
	To     Status          `db:"to_status" json:"to"`
	Detail json.RawMessage `db:"detail" json:"detail"`
	// TransactionID names the call that did it; of a dispatched IFTSTA the command.
	TransactionID *string `db:"transaction_id" json:"transaction_id"`
}

// The actions that the history knows.
const (
	actionCreated          = "created"
	actionVisitFailed      = "sperrversuch_failed"
	actionExecuted         = "executed"
	actionFailed           = "failed"
	actionCancelled        = "cancelled"
	actionIFTSTADispatched = "iftsta_dispatched"
	actionIFTSTANotTaken   = "iftsta_not_taken"
	actionStornierung      = "stornierung_received"
	actionAnotherPending   = "another_order_pending"

	actionAusfuehrungUeberfaellig = "ausfuehrung_ueberfaellig"
	actionIFTSTAAusstehend        = "iftsta_ausstehend"
	actionEventRequeued           = "event_requeued"
	actionEventHurried            = "event_hurried"
	actionRedacted                = "redacted"

	// iftsta_reset and changed_by_sql are written by triggers on the table.
)

// change is a line to be written. detail holds no market text, no field note and
// no address: the history outlives them.
type change struct {
	order  Order // as it stands after the change
	actor  string
	action string
	from   Status // empty: the order did not exist before
	detail map[string]any
	at     time.Time

	transactionID string // empty: none
}

// appendHistory writes a line for each change, in their transaction.
func (r *Repository) appendHistory(ctx context.Context, tx pgx.Tx, changes ...change) error {
	if len(changes) == 0 {
		return nil
	}
	var ids []uuid.UUID
	var at []time.Time
	var actors, actions, to []string
	var from []*string
	var details []map[string]any
	var transactions []string
	for _, c := range changes {
		ids, at, actors, actions = append(ids, c.order.ID), append(at, c.at), append(actors, c.actor), append(actions, c.action)
		from, to = append(from, nullable(string(c.from))), append(to, string(c.order.Status))
		detail := c.detail
		if detail == nil {
			detail = map[string]any{}
		}
		details, transactions = append(details, detail), append(transactions, c.transactionID)
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO sperr_order_history (tenant, order_id, at, actor, action, from_status, to_status, detail, transaction_id)
		SELECT @tenant, order_id, at, actor, action, from_status, to_status, detail, NULLIF(transaction_id, '')
		FROM unnest(@ids::uuid[], @at::timestamptz[], @actors::text[], @actions::text[],
			@from::text[], @to::text[], @details::jsonb[], @transactions::text[])
			WITH ORDINALITY AS l (order_id, at, actor, action, from_status, to_status, detail, transaction_id, place)
		ORDER BY place`, pgx.NamedArgs{
		"tenant": r.tenant, "ids": ids, "at": at, "actors": actors, "actions": actions, "from": from, "to": to,
		"details": details, "transactions": transactions,
	})
	if err != nil {
		return fmt.Errorf("write the history of %d orders, of order %s first: %w", len(ids), ids[0], err)
	}
	return nil
}

// doneOnce is who has done to an order what is done once, and with which
// Pruefschritt code; both empty: nobody knows.
func (r *Repository) doneOnce(ctx context.Context, tx pgx.Tx, id uuid.UUID, action string) (actor, code string, err error) {
	err = tx.QueryRow(ctx, `
		SELECT COALESCE(min(actor), ''), COALESCE(min(detail ->> 'pruefschritt_code'), '') FROM sperr_order_history
		WHERE tenant = $1 AND order_id = $2 AND action = $3`, r.tenant, id, action).Scan(&actor, &code)
	if err != nil {
		return "", "", fmt.Errorf("find whose %s of order %s it was: %w", action, id, err)
	}
	return actor, code, nil
}

// moving is who gave events to the ERP once more, how, why and when.
type moving struct {
	actor, reason, action string
	at                    time.Time
}

// noteMoved writes a line for each event. The order itself does not change.
func (r *Repository) noteMoved(ctx context.Context, tx pgx.Tx, events []outbox.Moved, m moving) error {
	orders, ids, types := make([]uuid.UUID, len(events)), make([]string, len(events)), make([]string, len(events))
	for i, e := range events {
		orders[i], ids[i], types[i] = e.OrderID, e.EventID, e.Type
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO sperr_order_history (tenant, order_id, at, actor, action, from_status, to_status, detail)
		SELECT o.tenant, o.id, @at, @actor, @action, o.status, o.status,
			jsonb_strip_nulls(jsonb_build_object('event_id', e.event_id, 'type', e.type, 'reason', NULLIF(@reason, '')))
		FROM unnest(@orders::uuid[], @ids::text[], @types::text[]) WITH ORDINALITY AS e (order_id, event_id, type, place)
		JOIN sperr_orders o ON o.tenant = @tenant AND o.id = e.order_id ORDER BY e.place`, pgx.NamedArgs{
		"tenant": r.tenant, "at": m.at, "actor": m.actor, "action": m.action, "reason": m.reason,
		"orders": orders, "ids": ids, "types": types,
	})
	if err != nil {
		return fmt.Errorf("note which events go once more: %w", err)
	}
	return nil
}

// History is what happened to an order, oldest first, or ErrNotFound.
func (r *Repository) History(ctx context.Context, id uuid.UUID) ([]HistoryEntry, error) {
	rows, err := r.pool.Query(ctx, `
		SELECT LEAST(GREATEST(at, `+firstMoment+`), `+lastMoment+`) AS at, actor, action, from_status, to_status, detail, transaction_id
		FROM sperr_order_history WHERE tenant = $1 AND order_id = $2 ORDER BY id`, r.tenant, id)
	if err != nil {
		return nil, fmt.Errorf("read the history of order %s: %w", id, err)
	}
	entries, err := pgx.CollectRows(rows, pgx.RowToStructByName[HistoryEntry])
	if err != nil {
		return nil, fmt.Errorf("read the history of order %s: %w", id, err)
	}
	if len(entries) > 0 {
		return entries, nil
	}
	// An order put in by SQL alone has no line yet.
	if _, err := r.Get(ctx, id); err != nil {
		return nil, err
	}
	return []HistoryEntry{}, nil
}
