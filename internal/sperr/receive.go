package sperr

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// ReceiptKind says what became of a market event.
type ReceiptKind int

// What Receive can answer.
const (
	ReceiptNotOurs    ReceiptKind = iota // no order of this service; acknowledged
	ReceiptQueued                        // a new order
	ReceiptRedelivery                    // the process has its order already; nothing changed
	ReceiptNoted                         // a Stornierung, noted on its order
)

// Receipt is the answer to a market event.
type Receipt struct {
	Kind    ReceiptKind
	OrderID uuid.UUID // zero for ReceiptNotOurs
}

// Receive turns a market event into an order, exactly once for each process
// whatever id it is delivered under. The event must come from makod: its signature
// is the caller's business. It is a *ValidationError where the event is ours but
// unusable, and a *ProcessConflictError where it contradicts its process's order;
// the caller keeps such a delivery with KeepReject. webhookID is the id of the delivery,
// which is kept with a new order.
func (s *Service) Receive(ctx context.Context, webhookID string, e event.Event) (Receipt, error) {
	kind, order, err := s.in.read(e, s.now())
	if err != nil {
		return Receipt{}, err
	}
	switch kind {
	case kindOrder:
		order.WebhookID, order.EventID = keptID(webhookID), keptID(e.ID())
		return s.queue(ctx, order)
	case kindStornierung:
		return s.noteStornierung(ctx, *order.ProcessID)
	default:
		level := slog.LevelInfo
		if mistakable(e) {
			level = slog.LevelWarn
		}
		s.Logger.Log(ctx, level, "event is not for the queue", "event_id", truncate(e.ID(), 100), "event_type", truncate(e.Type(), 100),
			"makoworkflow", truncate(extension(e, "makoworkflow"), 100), "makopid", truncate(extension(e, "makopid"), 20))
		return Receipt{Kind: ReceiptNotOurs}, nil
	}
}

// keptID is the id of a delivery or an event where it can stand in a column, a log and
// another message as it is, and nil otherwise.
func keptID(id string) *string {
	if id == "" || len(id) > 512 || !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) {
		return nil
	}
	return &id
}

func (s *Service) queue(ctx context.Context, order Order) (receipt Receipt, err error) {
	err = s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error {
		stored, inserted, err := s.add(ctx, tx, Call{Actor: actorMarket}, order)
		if err != nil {
			return err
		}
		if inserted {
			receipt = Receipt{Kind: ReceiptQueued, OrderID: stored.ID}
			return nil
		}
		known, ok, err := s.repo.byProcess(ctx, tx, *order.ProcessID)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("the order of process %s vanished", *order.ProcessID)
		}
		if fields := contradictions(known.asReceived(), order.Marktdaten); fields != nil {
			return &ProcessConflictError{OrderID: known.ID, Fields: fields}
		}
		receipt = Receipt{Kind: ReceiptRedelivery, OrderID: known.ID}
		return nil
	})
	return receipt, err
}

// KeepReject stores a refused delivery. The same delivery again only counts.
func (s *Service) KeepReject(ctx context.Context, reject WebhookReject) error {
	return s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error {
		return s.repo.keepReject(ctx, tx, reject, s.now())
	})
}

// noteStornierung marks the order whose Lieferant withdrew it (ORDCHG 39000). makod
// answers the Lieferant; the order is not changed, so that a human decides what the
// field team does.
func (s *Service) noteStornierung(ctx context.Context, processID string) (Receipt, error) {
	const warning = "the Lieferant withdrew this order (ORDCHG 39000): clear with makod before the visit"
	at := s.now()
	var order Order
	var known bool
	err := s.transact(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		if order, known, err = s.repo.byProcess(ctx, tx, processID); err != nil || !known {
			return err
		}
		added, ok, err := s.repo.addWarning(ctx, tx, order.ID, warning, at)
		if err != nil || !ok {
			return err
		}
		return s.repo.appendHistory(ctx, tx, change{order: added, actor: actorMarket, action: actionStornierung, from: added.Status, at: at})
	})
	if err != nil {
		return Receipt{}, err
	}
	if !known {
		s.Logger.WarnContext(ctx, "Stornierung of a process without an order", "process_id", processID)
		return Receipt{Kind: ReceiptNotOurs}, nil
	}
	s.Logger.WarnContext(ctx, "Stornierung of an order", "order_id", order.ID, "process_id", processID, "status", order.Status)
	return Receipt{Kind: ReceiptNoted, OrderID: order.ID}, nil
}
