package sperr

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const (
	// maxNamed is how many orders of a type the warnings of one order name.
	maxNamed = 5
	// maxWarned bounds how many pending orders of a type one new order writes to, the
	// newest of them.
	maxWarned = 100
	// turnTimeout bounds the wait of a new order for those that come at the same moment
	// for the same Marktlokation. It holds a connection meanwhile, which others need: a turn
	// that somebody keeps must not cost them more than connectionTimeout. A turn itself is
	// over within some milliseconds.
	turnTimeout = 250 * time.Millisecond
)

// pendingWarning are the parts of the warning on an order of type own that one of type
// other is pending at its Marktlokation; the id of that one stands between them.
func pendingWarning(own, other Type) (before, after string) {
	switch {
	case own == other:
		return fmt.Sprintf("another %s for this Marktlokation is pending: order ", other), ""
	case other == TypeEntsperrung:
		before = "an entsperrung for this Marktlokation is pending beside this sperrung: order "
	default:
		before = "a sperrung for this Marktlokation is pending beside this entsperrung: order "
	}
	return before, "; clear which of the two holds before anybody goes"
}

// moreWarning says that so many orders of a type are pending beside those that are named.
func moreWarning(n string, t Type) string {
	return fmt.Sprintf("and %s more of type %s are pending for this Marktlokation", n, t)
}

// more is the last warning about the pending orders of a type; none where all are named.
func (p pendingOrders) more() []string {
	if p.N <= maxNamed {
		return []string{}
	}
	return []string{moreWarning(strconv.Itoa(p.N-maxNamed), p.Type)}
}

// warningsOn are the warnings on an order of type own about the pending ones of a type.
func (p pendingOrders) warningsOn(own Type) []string {
	before, after := pendingWarning(own, p.Type)
	var warnings []string
	for _, id := range p.IDs {
		warnings = append(warnings, before+id.String()+after)
	}
	return append(warnings, p.more()...)
}

// warnOfPending puts a warning on an order that was just written about each that is
// pending at its Marktlokation, and on each of those about it: which of them the field
// team holds nobody here knows. An order that somebody has locked is passed over: intake
// waits for no lock of a row. The new order names it all the same.
func (s *Service) warnOfPending(ctx context.Context, tx pgx.Tx, call Call, order Order) (Order, error) {
	if err := s.takeTurn(ctx, tx, order); err != nil {
		return Order{}, err
	}
	pending, err := s.repo.pendingBeside(ctx, tx, order)
	if err != nil || len(pending) == 0 {
		return order, err
	}
	alike := withOrder(pending, order)
	var warnings []string
	var lines []change
	for _, p := range pending {
		warnings = append(warnings, p.warningsOn(order.OrderType)...)
		warned, err := s.repo.warnPending(ctx, tx, p.Type, order, alike)
		if err != nil {
			return Order{}, err
		}
		lines = append(lines, anotherPending(call, warned, order)...)
	}
	if err := s.repo.appendHistory(ctx, tx, lines...); err != nil {
		return Order{}, err
	}
	warnings = order.newWarnings(warnings)
	order.warn(warnings...)
	return order, s.repo.appendWarnungen(ctx, tx, order.ID, warnings)
}

// withOrder are the pending orders of the type of a new one: it is the first of them.
func withOrder(pending []pendingOrders, order Order) pendingOrders {
	alike := pendingOrders{Type: order.OrderType, N: 1, IDs: []uuid.UUID{order.ID}}
	for _, p := range pending {
		if p.Type == order.OrderType {
			alike.N, alike.IDs = p.N+1, append(alike.IDs, p.IDs...)
		}
	}
	return alike
}

// anotherPending are the lines in the histories of the orders that were warned of order.
func anotherPending(call Call, warned []uuid.UUID, order Order) []change {
	var lines []change
	for _, id := range warned {
		line := change{
			order: Order{ID: id, Status: StatusPending}, actor: call.Actor, action: actionAnotherPending, from: StatusPending,
			detail: map[string]any{"order_id": order.ID}, at: order.CreatedAt,
		}
		call.describe(&line)
		lines = append(lines, line)
	}
	return lines
}

// takeTurn lets the orders for one Marktlokation look at each other one after another:
// whoever comes second sees what the first has committed. It comes after the INSERT, so
// that a redelivery never waits here. A turn that does not come costs a warning at most,
// and never the order.
func (s *Service) takeTurn(ctx context.Context, tx pgx.Tx, order Order) error {
	taken, err := s.repo.takeTurn(ctx, tx, order.MaloID, s.turnWait)
	if err == nil && !taken {
		s.Logger.WarnContext(ctx, "order may lack a warning of one that came at the same moment", "order_id", order.ID)
	}
	return err
}
