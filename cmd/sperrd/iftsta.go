package main

import (
	"context"
	"errors"
	"strconv"

	"sperrd/internal/sperr"
	"sperrd/internal/werktag"
)

// iftstaCommand groups what a human does with the outcomes that makod did not take.
type iftstaCommand struct {
	List  iftstaListCommand  `cmd:"" help:"List the outcomes that their Lieferant does not know, the earliest Frist first."`
	Reset iftstaResetCommand `cmd:"" help:"Let outcomes be sent again from the first attempt on, after their cause is mended."`
}

// iftstaFilter chooses outcomes.
type iftstaFilter struct {
	Stuck      bool       `help:"Those whose attempts are spent."`
	Code       string     `placeholder:"CODE" help:"Those that makod last answered with this code, such as process_not_found."`
	LF         string     `name:"lf" placeholder:"MP-ID" help:"Those of this Lieferant."`
	Malo       string     `placeholder:"ID" help:"Those of this Marktlokation."`
	OrderType  sperr.Type `placeholder:"TYPE" help:"sperrung or entsperrung."`
	FaelligBis string     `placeholder:"DATE" help:"Those whose Frist ends on this day or earlier."`
}

// filter is what was asked for; a mistyped part is a usageError.
func (f iftstaFilter) filter() (sperr.IFTSTAFilter, error) {
	chosen := sperr.IFTSTAFilter{Stuck: f.Stuck, Code: f.Code, LieferantID: f.LF, MaloID: f.Malo, OrderType: f.OrderType}
	if f.FaelligBis != "" {
		day, err := werktag.ParseDate(f.FaelligBis)
		if err != nil {
			return chosen, usageError{errors.New("--faellig-bis: must be a day, written YYYY-MM-DD")}
		}
		chosen.FaelligBis = &day
	}
	if err := chosen.Check(); err != nil {
		return chosen, usageError{err}
	}
	return chosen, nil
}

// iftstaListCommand shows the retry queue.
type iftstaListCommand struct {
	iftstaFilter
	Why   bool      `help:"Print in words why each of them is not with makod."`
	Limit lineLimit `default:"100" placeholder:"N" help:"Most outcomes to list; 100 if not given."`
}

// Run prints a line for each outstanding outcome.
func (c iftstaListCommand) Run(ctx context.Context, p *process) error {
	filter, err := c.filter()
	if err != nil {
		return err
	}
	q, err := p.openQueues(ctx)
	if err != nil {
		return err
	}
	defer q.pool.Close()
	orders, more, err := q.repository.ListOutstanding(ctx, filter, int(c.Limit))
	if err != nil {
		return databaseError(err)
	}
	if c.Why {
		return diagnoses(orders, more).print(q.out)
	}
	t := table{
		header: "ORDER\tMALO\tPROCESS\tSTATUS\tATTEMPTS\tNEXT ATTEMPT\tFAELLIG AM\tESCALATED\tLAST ERROR", more: more,
	}
	for _, o := range orders {
		t.rows = append(t.rows, outstandingRow(o, q.config.IFTSTA.MaxAttempts))
	}
	return t.print(q.out)
}

// diagnoses says of each order why its outcome is not with makod.
func diagnoses(orders []sperr.Order, more bool) table {
	t := table{header: "ORDER\tWHY", more: more}
	for _, o := range orders {
		t.rows = append(t.rows, []string{o.ID.String(), oneLine(printableText(o.IFTSTADiagnose))})
	}
	return t
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
