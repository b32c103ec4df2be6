package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"sperrd/internal/sperr"
)

// iftstaResetCommand begins new cycles of attempts.
type iftstaResetCommand struct {
	Orders []string `arg:"" optional:"" name:"order-id" help:"The orders whose outcomes are sent again."`
	iftstaFilter
	DryRun bool   `help:"Show what would be reset and change nothing."`
	Reason string `placeholder:"TEXT" help:"Why; stands in the history of the order."`
}

// Validate wants either orders or a filter: without one every outcome would be chosen. A
// mistyped id stops the command before it has changed anything.
func (c iftstaResetCommand) Validate() error {
	if (len(c.Orders) > 0) == (c.iftstaFilter != iftstaFilter{}) {
		return errors.New("name either orders or --stuck or another filter")
	}
	_, err := c.ids()
	return err
}

// ids are the orders, each once.
func (c iftstaResetCommand) ids() ([]uuid.UUID, error) {
	var ids []uuid.UUID
	for _, text := range c.Orders {
		id, err := parseOrderID(text)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return unique(ids), nil
}

// Run prints a line for each order and fails if one of them could not be reset.
func (c iftstaResetCommand) Run(ctx context.Context, p *process) error {
	ids, err := c.ids()
	if err != nil {
		return usageError{err}
	}
	filter, err := c.filter()
	if err != nil {
		return err
	}
	q, err := p.openQueues(ctx)
	if err != nil {
		return err
	}
	defer q.pool.Close()
	switch {
	case len(ids) == 0:
		return c.resetChosen(ctx, q, filter)
	case c.DryRun:
		return c.showOrders(ctx, q, ids)
	}
	return c.resetOrders(ctx, q, ids)
}

// resetOrders goes on after an order that has nothing to reset.
func (c iftstaResetCommand) resetOrders(ctx context.Context, q *queues, ids []uuid.UUID) (failed error) {
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := q.service.ResetIFTSTA(ctx, sperr.Call{Actor: commandActor()}, id, c.Reason)
		reason := notReset(err)
		switch {
		case err == nil:
			fmt.Fprintf(q.out, "%s  reset\n", id)
		case reason != "":
			fmt.Fprintf(q.out, "%s  not reset: %s\n", id, reason)
			failed = errReported
		default:
			return queueError(err)
		}
	}
	return failed
}

// showOrders says what resetOrders would do.
func (c iftstaResetCommand) showOrders(ctx context.Context, q *queues, ids []uuid.UUID) (failed error) {
	for _, id := range ids {
		order, err := q.repository.Get(ctx, id)
		switch {
		case errors.Is(err, sperr.ErrNotFound):
			fmt.Fprintf(q.out, "%s  not reset: there is no such order\n", id)
			failed = errReported
		case err != nil:
			return databaseError(err)
		case !order.OutstandingIFTSTA():
			fmt.Fprintf(q.out, "%s  not reset: %s\n", id, (&sperr.NothingToResetError{Order: order}).Reason())
			failed = errReported
		default:
			fmt.Fprintf(q.out, "%s  would be reset\n", id)
		}
	}
	return failed
}

// resetChosen prints also what was reset before an error.
func (c iftstaResetCommand) resetChosen(ctx context.Context, q *queues, filter sperr.IFTSTAFilter) error {
	if c.DryRun {
		return showChosen(ctx, q, filter)
	}
	orders, err := q.service.ResetAll(ctx, commandActor(), c.Reason, filter)
	for _, o := range orders {
		fmt.Fprintf(q.out, "%s  reset\n", o.ID)
	}
	if err != nil {
		return queueError(err)
	}
	if len(orders) == 0 {
		fmt.Fprintln(q.out, nothingChosen(filter))
	}
	return nil
}

// showChosen says what resetChosen would do.
func showChosen(ctx context.Context, q *queues, filter sperr.IFTSTAFilter) error {
	for shown, last := 0, uuid.Nil; ; {
		orders, err := q.repository.Resettable(ctx, filter, last, sperr.MaxResets)
		if err != nil {
			return databaseError(err)
		}
		for _, o := range orders {
			fmt.Fprintf(q.out, "%s  would be reset\n", o.ID)
			last = o.ID
		}
		if shown += len(orders); len(orders) < sperr.MaxResets {
			if shown == 0 {
				fmt.Fprintln(q.out, nothingChosen(filter))
			}
			return nil
		}
	}
}

func nothingChosen(filter sperr.IFTSTAFilter) string {
	if filter == (sperr.IFTSTAFilter{Stuck: true}) {
		return "there is no outcome whose attempts are spent"
	}
	return "there is no such outcome"
}

// notReset says why an order has nothing to reset; it is empty for every other error.
func notReset(err error) string {
	if errors.Is(err, sperr.ErrNotFound) {
		return "there is no such order"
	}
	if nothing, ok := errors.AsType[*sperr.NothingToResetError](err); ok {
		return nothing.Reason()
	}
	return ""
}

// unique is list without what comes again.
func unique[T comparable](list []T) []T {
	seen := make(map[T]bool, len(list))
	var once []T
	for _, item := range list {
		if !seen[item] {
			seen[item] = true
			once = append(once, item)
		}
	}
	return once
}
