package sperr

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"
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
	a, err := s.arrived(webhookID, e, s.now())
	if err != nil {
		return Receipt{}, err
	}
	if a.kind == kindNotOurs {
		s.tellArrival(ctx, a, taken{})
		return Receipt{}, nil
	}
	var t taken
	err = s.transact(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		t, err = s.take(ctx, tx, Call{Actor: actorMarket}, a)
		return err
	})
	if err != nil {
		return Receipt{}, err
	}
	s.tellArrival(ctx, a, t)
	return t.receipt, nil
}

// arrival is a market event that was read.
type arrival struct {
	event     event.Event
	webhookID *string
	kind      eventKind
	order     Order // of a Stornierung the process alone
}

// arrived reads an event that was first delivered at received.
func (s *Service) arrived(webhookID string, e event.Event, received time.Time) (arrival, error) {
	kind, order, err := s.in.read(e, received)
	a := arrival{event: e, webhookID: keptID(webhookID), kind: kind, order: order}
	if kind == kindOrder {
		a.order.WebhookID, a.order.EventID = a.webhookID, keptID(e.ID())
	}
	return a, err
}

// taken is what became of an arrival; order is the one it concerns, zero for ReceiptNotOurs.
type taken struct {
	receipt Receipt
	order   Order
}

// take does what an arrival asks for. Beside a *ProcessConflictError it names the order too.
func (s *Service) take(ctx context.Context, tx pgx.Tx, call Call, a arrival) (taken, error) {
	switch a.kind {
	case kindOrder:
		return s.queue(ctx, tx, call, a.order)
	case kindStornierung:
		return s.noteStornierung(ctx, tx, call, a)
	default:
		return taken{}, nil
	}
}

// tellArrival logs what a human should see of an arrival whose transaction has ended.
func (s *Service) tellArrival(ctx context.Context, a arrival, t taken) {
	switch {
	case a.kind == kindNotOurs:
		level := slog.LevelInfo
		if mistakable(a.event) {
			level = slog.LevelWarn
		}
		s.Logger.Log(ctx, level, "event is not for the queue",
			"event_id", truncate(a.event.ID(), 100), "event_type", truncate(a.event.Type(), 100),
			"makoworkflow", truncate(extension(a.event, "makoworkflow"), 100), "makopid", truncate(extension(a.event, "makopid"), 20))
	case a.kind == kindStornierung && t.receipt.Kind == ReceiptNotOurs:
		s.Logger.WarnContext(ctx, "Stornierung of a process without an order", "process_id", *a.order.ProcessID)
	case a.kind == kindStornierung:
		s.Logger.WarnContext(ctx, "Stornierung of an order", "order_id", t.order.ID, "process_id", *a.order.ProcessID, "status", t.order.Status)
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

func (s *Service) queue(ctx context.Context, tx pgx.Tx, call Call, order Order) (taken, error) {
	stored, inserted, err := s.add(ctx, tx, call, order)
	if err != nil {
		return taken{}, err
	}
	if inserted {
		return taken{receipt: Receipt{Kind: ReceiptQueued, OrderID: stored.ID}, order: stored}, nil
	}
	known, ok, err := s.repo.byProcess(ctx, tx, *order.ProcessID)
	if err != nil {
		return taken{}, err
	}
	if !ok {
		return taken{}, fmt.Errorf("the order of process %s vanished", *order.ProcessID)
	}
	if fields := contradictions(known.asReceived(), order.Marktdaten); fields != nil {
		return taken{order: known}, &ProcessConflictError{OrderID: known.ID, Fields: fields}
	}
	return taken{receipt: Receipt{Kind: ReceiptRedelivery, OrderID: known.ID}, order: known}, nil
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
func (s *Service) noteStornierung(ctx context.Context, tx pgx.Tx, call Call, a arrival) (taken, error) {
	const warning = "the Lieferant withdrew this order (ORDCHG 39000): clear with makod before the visit"
	known, ok, err := s.repo.byProcess(ctx, tx, *a.order.ProcessID)
	if err != nil || !ok {
		return taken{}, err
	}
	at := s.now()
	noted := taken{receipt: Receipt{Kind: ReceiptNoted, OrderID: known.ID}, order: known}
	added, ok, err := s.repo.addWarning(ctx, tx, known.ID, warning, at)
	if err != nil || !ok {
		return noted, err
	}
	c := change{order: added, actor: call.Actor, action: actionStornierung, from: added.Status, at: at, detail: map[string]any{}}
	if call.rejectID != uuid.Nil && a.webhookID != nil {
		c.detail["webhook_id"] = *a.webhookID
	}
	call.describe(&c)
	return noted, s.repo.appendHistory(ctx, tx, c)
}
