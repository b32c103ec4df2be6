package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"sperrd/internal/outbox"
	"sperrd/internal/sperr"
)

// outboxCommand groups what a human does with the events that the ERP did not take.
type outboxCommand struct {
	List    outboxListCommand    `cmd:"" help:"List the events that wait for the ERP, or those given up."`
	Requeue outboxRequeueCommand `cmd:"" help:"Let events that were given up, or that wait, go to the ERP now that it works."`
}

// eventFilter chooses events.
type eventFilter struct {
	Type   string     `placeholder:"TYPE" help:"Those of this type, such as de.sperr.ausgefuehrt."`
	Order  string     `placeholder:"ID" help:"Those of this order."`
	Before *time.Time `placeholder:"TIME" help:"Those written before a moment, such as 2026-09-04T12:00:00Z."`
}

// chosen is what was asked for; a mistyped id is a usageError.
func (f eventFilter) chosen() (outbox.Chosen, error) {
	c := outbox.Chosen{Type: f.Type, Before: f.Before}
	if f.Order != "" {
		id, err := parseOrderID(f.Order)
		if err != nil {
			return c, usageError{err}
		}
		c.OrderID = uuid.NullUUID{UUID: id, Valid: true}
	}
	return c, nil
}

// outboxListCommand shows the outbox.
type outboxListCommand struct {
	Dead bool `help:"The dead letters: events given up."`
	eventFilter
	Limit lineLimit `default:"100" placeholder:"N" help:"Most events to list; 100 if not given."`
}

// Run prints how much there is, and a line for each event.
func (c outboxListCommand) Run(ctx context.Context, p *process) error {
	chosen, err := c.chosen()
	if err != nil {
		return err
	}
	q, err := p.openQueues(ctx)
	if err != nil {
		return err
	}
	defer q.pool.Close()
	depth, err := outbox.ReadDepth(ctx, q.pool, q.config.Tenant)
	if err != nil {
		return databaseError(err)
	}
	events, more, err := outbox.List(ctx, q.pool, outbox.ListOptions{
		Tenant: q.config.Tenant, DeadLetters: c.Dead, Limit: int(c.Limit), Chosen: chosen,
	})
	if err != nil {
		return databaseError(err)
	}
	if _, err := fmt.Fprintln(q.out, q.depthLine(depth)); err != nil {
		return err
	}
	return eventTable(events, c.Dead, more).print(q.out)
}

func (q *queues) depthLine(d outbox.Depth) string {
	line := fmt.Sprintf("waiting: %d", d.Pending)
	if d.OldestPending != nil {
		line += " since " + timeCell(d.OldestPending)
	}
	line += fmt.Sprintf("; dead letters: %d", d.DeadLetters)
	if q.config.ERPWebhookURL.Reveal() == "" {
		line += "; erp_webhook_url is missing, so nothing is delivered"
	}
	return line
}

func eventTable(events []outbox.Row, dead, more bool) table {
	when := "NEXT ATTEMPT"
	if dead {
		when = "GIVEN UP"
	}
	t := table{header: "EVENT\tTYPE\tORDER\tCREATED\tATTEMPTS\t" + when + "\tLAST ERROR", more: more}
	for _, e := range events {
		at := &e.NextAttemptAt
		if dead {
			at = e.DeadLetteredAt
		}
		t.rows = append(t.rows, []string{
			cell(e.EventID), cell(e.Type), e.OrderID.String(), timeCell(&e.CreatedAt), strconv.Itoa(e.Attempts),
			timeCell(at), textCell(e.LastError),
		})
	}
	return t
}

// outboxRequeueCommand lets events go to the ERP now.
type outboxRequeueCommand struct {
	Events  []string `arg:"" optional:"" name:"event-id" help:"The dead letters that are delivered again."`
	All     bool     `help:"Every dead letter. A filter alone chooses among them too."`
	Waiting bool     `help:"What waits for its next attempt, now that the ERP is back."`
	eventFilter
	DryRun bool   `help:"Show what would be done and change nothing."`
	Reason string `placeholder:"TEXT" help:"Why; stands in the history of the order."`
}

// Validate wants one of events, --all and --waiting, or else a filter of dead letters.
func (c outboxRequeueCommand) Validate() error {
	named := 0
	for _, given := range []bool{len(c.Events) > 0, c.All, c.Waiting} {
		if given {
			named++
		}
	}
	if named > 1 || named == 0 && c.eventFilter == (eventFilter{}) {
		return errors.New("name either events, --all, --waiting or a filter")
	}
	return nil
}

// Run prints a line for each event and fails if one of them was no dead letter.
func (c outboxRequeueCommand) Run(ctx context.Context, p *process) error {
	chosen, err := c.chosen()
	if err != nil {
		return err
	}
	q, err := p.openQueues(ctx)
	if err != nil {
		return err
	}
	defer q.pool.Close()
	asked := unique(c.Events)
	moved, err := c.move(ctx, q, sperr.EventRepair{
		Actor: commandActor(), Reason: c.Reason, DryRun: c.DryRun, EventIDs: asked, Chosen: chosen,
	})
	what := "requeued"
	if c.Waiting {
		what = "due now"
	}
	if c.DryRun {
		what = "would be " + what
	}
	done := make(map[string]bool, len(moved))
	for _, e := range moved {
		done[e.EventID] = true
		fmt.Fprintf(q.out, "%s  %s: %s of order %s\n", cell(e.EventID), what, cell(e.Type), e.OrderID)
	}
	if err != nil {
		return queueError(err)
	}
	switch {
	case len(moved) > 0:
	case c.Waiting:
		fmt.Fprintln(q.out, "no event waits for longer than a lease")
	case c.eventFilter != (eventFilter{}) && len(asked) == 0:
		fmt.Fprintln(q.out, "there is no such dead letter")
	case c.All:
		fmt.Fprintln(q.out, "there is no dead letter")
	}
	var failed error
	for _, id := range asked {
		if !done[id] {
			fmt.Fprintf(q.out, "%s  not requeued: there is no such dead letter\n", cell(id))
			failed = errReported
		}
	}
	return failed
}

// move does what was asked for, and returns also what was done before an error.
func (c outboxRequeueCommand) move(ctx context.Context, q *queues, r sperr.EventRepair) ([]outbox.Moved, error) {
	if c.Waiting {
		return q.service.HurryEvents(ctx, r, q.config.Outbox.Lease)
	}
	return q.service.RequeueEvents(ctx, r)
}
