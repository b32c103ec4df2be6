package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// retentionCommand groups what a human does about the age of addresses and free texts.
type retentionCommand struct {
	Preview retentionPreviewCommand `cmd:"" help:"Count what would be replaced at this moment; changes nothing."`
	Run     retentionRunCommand     `cmd:"" help:"Replace it, as the service does each hour."`
}

// errNoAge is for a configuration that keeps everything.
var errNoAge = errors.New("retention.redact_after is not set: address and free text are kept; name an age with --redact-after to see what it would mean")

// retentionPreviewCommand counts.
type retentionPreviewCommand struct {
	RedactAfter time.Duration `placeholder:"DURATION" help:"Another age than retention.redact_after, such as 26280h."`
	JSON        bool          `name:"json" help:"Print JSON."`
}

// Run prints how much there is.
func (c retentionPreviewCommand) Run(ctx context.Context, p *process) error {
	q, err := p.openQueues(ctx)
	if err != nil {
		return err
	}
	defer q.pool.Close()
	age := q.config.Retention.RedactAfter
	if c.RedactAfter != 0 {
		age = c.RedactAfter
	}
	if age <= 0 {
		return usageError{errNoAge}
	}
	preview, err := q.service.PreviewRedaction(ctx, age)
	if err != nil {
		return databaseError(err)
	}
	if c.JSON {
		return json.NewEncoder(q.out).Encode(preview)
	}
	fmt.Fprintf(q.out, "closed and unchanged for %s: %d orders, the oldest of %s, with %d events and %d answers; %d settled deliveries\n",
		age, preview.Orders, timeCell(preview.Oldest), preview.Events, preview.Answers, preview.Rejects)
	return nil
}

// retentionRunCommand replaces.
type retentionRunCommand struct{}

// Run prints what was replaced, also before an error. The age is the configured one alone:
// what is replaced is gone.
func (retentionRunCommand) Run(ctx context.Context, p *process) error {
	q, err := p.openQueues(ctx)
	if err != nil {
		return err
	}
	defer q.pool.Close()
	if q.config.Retention.RedactAfter == 0 {
		return usageError{errors.New("retention.redact_after is not set: address and free text are kept")}
	}
	done, err := q.service.Redact(ctx, commandActor(), q.config.Retention.RedactAfter)
	fmt.Fprintf(q.out, "replaced in %d orders, %d events, %d answers and %d settled deliveries\n", done.Orders, done.Events, done.Answers, done.Rejects)
	if err != nil {
		return databaseError(err)
	}
	return nil
}
