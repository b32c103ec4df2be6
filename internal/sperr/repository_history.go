package sperr

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// HistoryEntry is one line of an order's history.
type HistoryEntry struct {
	At     time.Time       `db:"at" json:"at"`
	Actor  string          `db:"actor" json:"actor"`
	Action string          `db:"action" json:"action"`
	From   *Status         `db:"from_status" json:"from"`
	To     Status          `db:"to_status" json:"to"`
	Detail json.RawMessage `db:"detail" json:"detail"`
}

// The actions that the history knows.
const (
	actionCreated          = "created"
	actionVisitFailed      = "sperrversuch_failed"
	actionExecuted         = "executed"
	actionFailed           = "failed"
	actionCancelled        = "cancelled"
	actionIFTSTADispatched = "iftsta_dispatched"
	actionStornierung      = "stornierung_received"
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
}

// appendHistory writes one line in the transaction of the change it tells of.
func (r *Repository) appendHistory(ctx context.Context, tx pgx.Tx, c change) error {
	detail := c.detail
	if detail == nil {
		detail = map[string]any{}
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO sperr_order_history (tenant, order_id, at, actor, action, from_status, to_status, detail)
		VALUES (@tenant, @order_id, @at, @actor, @action, @from, @to, @detail)`, pgx.NamedArgs{
		"tenant": r.tenant, "order_id": c.order.ID, "at": c.at, "actor": c.actor, "action": c.action,
		"from": nullable(string(c.from)), "to": string(c.order.Status), "detail": detail,
	})
	if err != nil {
		return fmt.Errorf("write the history of order %s: %w", c.order.ID, err)
	}
	return nil
}

// History is what happened to an order, oldest first, or ErrNotFound.
func (r *Repository) History(ctx context.Context, id uuid.UUID) ([]HistoryEntry, error) {
	rows, err := r.pool.Query(ctx, `
		SELECT at, actor, action, from_status, to_status, detail FROM sperr_order_history
		WHERE tenant = $1 AND order_id = $2 ORDER BY id`, r.tenant, id)
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
