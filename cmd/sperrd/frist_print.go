package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"

	"sperrd/internal/sperr"
	"sperrd/internal/werktag"
)

// printFristJSON prints v, which is what the REST interface answers, on a line.
func printFristJSON(out io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = out.Write(append(text, '\n'))
	return err
}

func printOrderFristen(out io.Writer, o sperr.OrderFristen) error {
	b := &fristBlock{}
	b.title("order", fmt.Sprintf("%s, %s, %s", o.OrderID, o.OrderType, o.Status))
	if o.Visit != nil {
		b.line("visit on", dayText(o.Datum))
		if in := o.Visit.InWindow; in != nil {
			b.line("in window", yesOrNo(*in))
		}
		b.text("note", o.Visit.Note)
	}
	if _, err := io.WriteString(out, b.String()+"\n"); err != nil {
		return err
	}
	return printFristen(out, o.Fristen)
}

func printFristen(out io.Writer, fristen []sperr.Frist) error {
	blocks := make([]string, len(fristen))
	for i, f := range fristen {
		blocks[i] = blockOf(f)
	}
	_, err := io.WriteString(out, strings.Join(blocks, "\n"))
	return err
}

// blockOf is a Frist as text: what it is, then the days that lead to it.
func blockOf(f sperr.Frist) string {
	b := &fristBlock{}
	b.title(string(f.Art), dayText(f.Datum))
	b.line("rule", f.Rule+", "+f.Paragraph)
	b.line("from", f.Anchor.Name+", "+dayText(f.Anchor.Datum))
	if f.Stored != nil {
		b.line("stored", dayText(f.Stored))
	}
	if f.MissedFrom != nil {
		b.line("missed from", fmt.Sprintf("%s in Berlin, %s", f.MissedFrom.In(werktag.Berlin()).Format("2006-01-02 15:04"), timeCell(f.MissedFrom)))
	}
	if f.Uebertragungstag != nil {
		b.line("received", dayText(f.Uebertragungstag))
	}
	if f.Eingehalten != nil {
		b.line("kept", yesOrNo(*f.Eingehalten))
	}
	b.text("note", f.Note)
	for _, day := range f.Days {
		what := fmt.Sprintf("%d. WT", day.Werktag)
		if day.Reason != nil {
			what = *day.Reason
		}
		fmt.Fprintf(b, "    %s  %-10s  %s\n", day.Datum, day.Wochentag, what)
	}
	return b.String()
}

// fristBlock is a title and what belongs to it.
type fristBlock struct{ strings.Builder }

func (b *fristBlock) title(name, value string) { fmt.Fprintf(b, "%s: %s\n", name, value) }

func (b *fristBlock) line(label, value string) { fmt.Fprintf(b, "  %-12s %s\n", label, value) }

// text is a line for what there need not be.
func (b *fristBlock) text(label string, value *string) {
	if value != nil {
		b.line(label, *value)
	}
}

func dayText(day *werktag.Date) string {
	if day == nil {
		return none
	}
	return day.String() + " " + day.Wochentag()
}

func yesOrNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
