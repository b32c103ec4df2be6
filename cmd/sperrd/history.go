package main

import (
	"context"
	"encoding/json"
	"errors"

	"sperrd/internal/sperr"
)

// historyCommand shows who did what to an order.
type historyCommand struct {
	Order string `arg:"" name:"order-id" help:"The order."`
	JSON  bool   `name:"json" help:"Print the answer of the REST interface."`
}

// Run prints a line for each change, the oldest first.
func (c historyCommand) Run(ctx context.Context, p *process) error {
	id, err := parseOrderID(c.Order)
	if err != nil {
		return usageError{err}
	}
	q, err := p.openQueues(ctx)
	if err != nil {
		return err
	}
	defer q.pool.Close()
	entries, err := q.repository.History(ctx, id)
	if errors.Is(err, sperr.ErrNotFound) {
		return errors.New("there is no such order")
	}
	if err != nil {
		return databaseError(err)
	}
	if c.JSON {
		return json.NewEncoder(q.out).Encode(entries)
	}
	t := table{header: "AT\tACTOR\tACTION\tFROM\tTO\tTRANSACTION\tDETAIL"}
	for _, e := range entries {
		from := none
		if e.From != nil {
			from = string(*e.From)
		}
		detail := printableText((*string)(nil))
		if text := string(e.Detail); text != "{}" {
			detail = oneLine(printableText(&text))
		}
		t.rows = append(t.rows, []string{timeCell(&e.At), cell(e.Actor), cell(e.Action), from, string(e.To), textCell(e.TransactionID), detail})
	}
	return t.print(q.out)
}
