// Package outbox keeps the de.sperr.* events between the transaction that wrote
// them and the ERP, and delivers them there. It owns the table event_outbox. It
// never changes an order.
//
// The events of one order are delivered in the order in which they were enqueued: the
// next one is offered only when the earlier one is recorded as delivered or as a dead
// letter. Every event is delivered at least once, and always under the same id.
package outbox

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Entry is one event about one order.
type Entry struct {
	Tenant  string
	OrderID uuid.UUID
	Event   event.Event
	// Traceparent is the trace of the change, as W3C writes it; nil: it was in none.
	Traceparent *string
}

// Enqueue writes the events in tx, so that they exist exactly when the change they
// tell of does. It is one statement, however many they are. The events of one order
// are delivered in the order of the entries, and after those enqueued before; for
// that tx must have written the order's row, or another transaction about it could
// commit its later event first. An event whose id is already there is the same event
// and changes nothing.
func Enqueue(ctx context.Context, tx pgx.Tx, entries ...Entry) error {
	if len(entries) == 0 {
		return nil
	}
	var tenants, orders, ids, types, envelopes []string
	var traces []*string
	for _, e := range entries {
		if err := e.Event.Validate(); err != nil {
			return fmt.Errorf("enqueue event %s: %w", e.Event.Type(), err)
		}
		envelope, err := json.Marshal(e.Event)
		if err != nil {
			return fmt.Errorf("enqueue event %s: %w", e.Event.Type(), err)
		}
		tenants, orders = append(tenants, e.Tenant), append(orders, e.OrderID.String())
		traces = append(traces, e.Traceparent)
		ids, types, envelopes = append(ids, e.Event.ID()), append(types, e.Event.Type()), append(envelopes, string(envelope))
	}
	// seq is drawn after the sort.
	_, err := tx.Exec(ctx, `
		INSERT INTO event_outbox (tenant, order_id, event_id, ce_type, envelope, traceparent)
		SELECT tenant, order_id, event_id, ce_type, envelope::jsonb, traceparent
		FROM unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[])
			WITH ORDINALITY AS e (tenant, order_id, event_id, ce_type, envelope, traceparent, position)
		ORDER BY position
		ON CONFLICT (event_id) DO NOTHING`,
		tenants, orders, ids, types, envelopes, traces)
	if err != nil {
		return fmt.Errorf("enqueue %d events, the first a %s: %w", len(entries), types[0], err)
	}
	return nil
}
