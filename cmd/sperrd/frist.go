package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"sperrd/internal/config"
	"sperrd/internal/sperr"
	"sperrd/internal/werktag"
)

// fristCommand explains Fristen: those that run from a day, or those of one order. It
// changes nothing.
type fristCommand struct {
	Datum *string `placeholder:"DAY" help:"The day to count from, YYYY-MM-DD; today if not given. With --order: a day on which the visit might take place."`
	Art   *string `placeholder:"ART" help:"Only this Frist: ${fristArten}."`
	Order *string `placeholder:"ID" help:"The Fristen of this order, from the database."`
	JSON  bool    `name:"json" help:"Print what the REST interface answers."`
}

// Validate finds every mistake before anything is opened.
func (c fristCommand) Validate() error {
	if c.Datum != nil {
		day, err := werktag.ParseDate(*c.Datum)
		if err != nil || !day.InCalendar() {
			return fmt.Errorf("--datum must be a day of the years %d to %d, written YYYY-MM-DD", werktag.FirstYear, werktag.LastYear)
		}
	}
	if c.Art != nil && !sperr.FristArt(*c.Art).Valid() {
		return errors.New("--art must be one of " + sperr.FristArtenText())
	}
	if c.Order == nil {
		return nil
	}
	if c.Art != nil {
		return errors.New("--art does not go with --order, which has the Fristen that apply to it")
	}
	if _, err := parseOrderID(*c.Order); err != nil {
		return fmt.Errorf("--order: %w", err)
	}
	return nil
}

// Run prints a block for each Frist.
func (c fristCommand) Run(ctx context.Context, p *process) error {
	if c.Order != nil {
		return c.ofOrder(ctx, p)
	}
	calendar, err := p.calendar()
	if err != nil {
		return err
	}
	day := werktag.BerlinDay(p.now())
	if asked := c.day(); asked != nil {
		day = *asked
	}
	var art sperr.FristArt
	if c.Art != nil {
		art = sperr.FristArt(*c.Art)
	}
	fristen := sperr.ExplainFristen(calendar, day, art)
	if c.JSON {
		return printFristJSON(p.stdout, fristen)
	}
	return printFristen(p.stdout, fristen.Fristen)
}

// day is the day asked about, nil if none is.
func (c fristCommand) day() *werktag.Date {
	if c.Datum == nil {
		return nil
	}
	day, _ := werktag.ParseDate(*c.Datum) // Validate has read it
	return &day
}

func (c fristCommand) ofOrder(ctx context.Context, p *process) error {
	id, err := parseOrderID(*c.Order)
	if err != nil {
		return usageError{err}
	}
	q, err := p.openQueues(ctx)
	if err != nil {
		return err
	}
	defer q.pool.Close()
	order, err := q.repository.Get(ctx, id)
	switch {
	case errors.Is(err, sperr.ErrNotFound):
		return errors.New("there is no such order")
	case err != nil:
		return databaseError(err)
	}
	explained := sperr.ExplainOrder(calendarOf(q.config), order, werktag.BerlinDay(p.now()), c.day())
	if c.JSON {
		return printFristJSON(p.stdout, explained)
	}
	return printOrderFristen(p.stdout, explained)
}

// calendar is the one of the configuration or, where there is no file, the built-in one:
// a day can be counted on a machine where no sperrd serves. A file that somebody names on
// the command line has to be there.
func (p process) calendar() (*werktag.Calendar, error) {
	c, _, err := p.load()
	var broken *config.Error
	switch {
	case err == nil:
		return calendarOf(c), nil
	case p.configFlag == "" && !errors.As(err, &broken) && errors.Is(err, fs.ErrNotExist):
		_, err = fmt.Fprintf(p.stderr, "sperrd: no configuration at %s: counted on the built-in calendar, without extra holidays\n", p.configPath())
		return werktag.BDEW(), err
	default:
		return nil, err
	}
}
