package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"sperrd/internal/sperr"
)

// iftstaCommand groups what a human does with the outcomes that makod did not take.
type iftstaCommand struct {
	List  iftstaListCommand  `cmd:"" help:"List the outcomes that their Lieferant does not know, the earliest Frist first."`
	Reset iftstaResetCommand `cmd:"" help:"Let outcomes be sent again from the first attempt on, after their cause is mended."`
}

// iftstaListCommand shows the retry queue.
type iftstaListCommand struct {
	Stuck bool      `help:"Only those whose attempts are spent."`
	Limit lineLimit `default:"100" placeholder:"N" help:"Most outcomes to list; 100 if not given."`
}

// Run prints a line for each outstanding outcome.
func (c iftstaListCommand) Run(ctx context.Context, p *process) error {
	q, err := p.openQueues(ctx)
	if err != nil {
		return err
	}
	defer q.pool.Close()
	orders, more, err := q.repository.ListOutstanding(ctx, c.Stuck, int(c.Limit))
	if err != nil {
		return databaseError(err)
	}
	t := table{
		header: "ORDER\tMALO\tPROCESS\tSTATUS\tATTEMPTS\tNEXT ATTEMPT\tFAELLIG AM\tESCALATED\tLAST ERROR", more: more,
	}
	for _, o := range orders {
		t.rows = append(t.rows, outstandingRow(o, q.config.IFTSTA.MaxAttempts))
	}
	return t.print(q.out)
}

func outstandingRow(o sperr.Order, maxAttempts int) []string {
	next := timeCell(&o.IFTSTANextAttemptAt)
	switch {
	case o.IFTSTAInFlight:
		next = "under way until " + next
	case o.SpentIFTSTA(maxAttempts):
		next = none
	}
	faellig := none
	if o.IFTSTAFaelligAm != nil {
		faellig = o.IFTSTAFaelligAm.String()
	}
	trouble := textCell(o.IFTSTALastError)
	if o.IFTSTAEmpfehlung != nil {
		trouble += " => " + *o.IFTSTAEmpfehlung
	}
	return []string{
		o.ID.String(), cell(o.MaloID), textCell(o.ProcessID), string(o.Status),
		strconv.Itoa(o.IFTSTAAttempts) + "/" + strconv.Itoa(maxAttempts), next, faellig, timeCell(o.IFTSTAEscalatedAt), trouble,
	}
}

// iftstaResetCommand begins new cycles of attempts.
type iftstaResetCommand struct {
	Orders []string `arg:"" optional:"" name:"order-id" help:"The orders whose outcomes are sent again."`
	Stuck  bool     `help:"Every outcome whose attempts are spent."`
	Reason string   `placeholder:"TEXT" help:"Why; stands in the history of the order."`
}

// Validate wants either orders or --stuck. A mistyped id stops the command before it
// has changed anything.
func (c iftstaResetCommand) Validate() error {
	if (len(c.Orders) > 0) == c.Stuck {
		return errors.New("name either orders or --stuck")
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
	q, err := p.openQueues(ctx)
	if err != nil {
		return err
	}
	defer q.pool.Close()
	if c.Stuck {
		return c.resetStuck(ctx, q)
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

// resetStuck prints also what was reset before an error.
func (c iftstaResetCommand) resetStuck(ctx context.Context, q *queues) error {
	orders, err := q.service.ResetStuck(ctx, commandActor(), c.Reason)
	for _, o := range orders {
		fmt.Fprintf(q.out, "%s  reset\n", o.ID)
	}
	if err != nil {
		return queueError(err)
	}
	if len(orders) == 0 {
		fmt.Fprintln(q.out, "there is no outcome whose attempts are spent")
	}
	return nil
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
