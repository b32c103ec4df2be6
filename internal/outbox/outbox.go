// Package outbox keeps the de.sperr.* events between the transaction that wrote
// them and the ERP. It owns the table event_outbox. It never changes an order.
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
}

// Enqueue writes the event in tx, so that it exists exactly when the change it
// tells of does. The events of one order are delivered in the order in which they
// are enqueued; an event whose id is already there is the same event and changes
// nothing.
func Enqueue(ctx context.Context, tx pgx.Tx, entry Entry) error {
	if err := entry.Event.Validate(); err != nil {
		return fmt.Errorf("enqueue event %s: %w", entry.Event.Type(), err)
	}
	envelope, err := json.Marshal(entry.Event)
	if err != nil {
		return fmt.Errorf("enqueue event %s: %w", entry.Event.Type(), err)
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO event_outbox (tenant, order_id, event_id, ce_type, envelope)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (event_id) DO NOTHING`,
		entry.Tenant, entry.OrderID, entry.Event.ID(), entry.Event.Type(), envelope)
	if err != nil {
		return fmt.Errorf("enqueue event %s: %w", entry.Event.Type(), err)
	}
	return nil
}
