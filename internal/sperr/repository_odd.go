package sperr

import (
	"fmt"
	"strings"
	"time"
)

// What the columns can show: the years 1 to 9999 in Berlin, since neither a Date nor a
// moment in JSON carries others. SQL makes more: infinity, years before Christ and beyond
// 9999. Such a value is odd. Nothing that reads an order may break on it, and nothing but
// the column's own next value may replace it.
const (
	firstMoment = `'0001-01-01 00:00:00+00'::timestamptz`
	lastMoment  = `'9999-12-31 22:59:59.999999+00'::timestamptz`
)

// lastShown is lastMoment.
var lastShown = time.Date(9999, 12, 31, 22, 59, 59, 999_999_000, time.UTC)

// aDay and aMoment hold for a value that is not odd, and are NULL for none.
func aDay(column string) string { return column + ` BETWEEN '0001-01-01' AND '9999-12-31'` }

func aMoment(column string) string { return column + ` BETWEEN ` + firstMoment + ` AND ` + lastMoment }

// undated holds for a requested date that says nothing about today: none, or one that no
// calendar reaches.
func undated(requested string) string {
	return `(` + requested + ` IS NULL OR ` + requested + ` > '9999-12-31')`
}

// datedColumn is a column of sperr_orders with a day or a moment.
type datedColumn struct {
	name     string
	moment   bool // else a day
	required bool // NOT NULL: it is clamped, the others read as NULL
}

func (c datedColumn) ordinary() string {
	if c.moment {
		return aMoment(c.name)
	}
	return aDay(c.name)
}

// datedColumns are all columns of sperr_orders with a day or a moment, in their order.
var datedColumns = []datedColumn{
	{name: "ausfuehrung_am"},
	{name: "ausfuehrung_zeitpunkt", moment: true},
	{name: "fruehestens_am"},
	{name: "ausfuehrung_faellig_am"},
	{name: "ausfuehrung_eskaliert_at", moment: true},
	{name: "vorlauffrist_spaetester_ut"},
	{name: "uebertragungstag"},
	{name: "letzter_versuch_am", moment: true},
	{name: "executed_at", moment: true},
	{name: "iftsta_faellig_am"},
	{name: "iftsta_dispatched_at", moment: true},
	{name: "iftsta_escalated_at", moment: true},
	{name: "iftsta_next_attempt_at", moment: true, required: true},
	{name: "created_at", moment: true, required: true},
	{name: "updated_at", moment: true, required: true},
	{name: "redacted_at", moment: true},
}

// shown selects dated columns under their names as they can be shown. In ORDER BY the bare
// name means this value, and not the column's own.
func shown(names ...string) string {
	var list []string
	for _, name := range names {
		for _, c := range datedColumns {
			switch {
			case c.name != name:
			case c.required:
				list = append(list, clamped(name)+` AS `+name)
			default:
				list = append(list, fmt.Sprintf(`CASE WHEN %s THEN %s END AS %s`, c.ordinary(), name, name))
			}
		}
	}
	return strings.Join(list, ", ")
}

// clamped is a moment of a column as the nearest one that can be shown. It is the first one
// for NULL too.
func clamped(name string) string {
	return `LEAST(GREATEST(` + name + `, ` + firstMoment + `), ` + lastMoment + `)`
}

// notShown selects the odd values of an order by their columns, NULL where there are none.
// In JSON they are spelled the same way whatever the DateStyle.
func notShown() string {
	var odd, each []string
	for _, c := range datedColumns {
		odd = append(odd, `NOT (`+c.ordinary()+`)`)
		each = append(each, fmt.Sprintf(`'%s', CASE WHEN NOT (%s) THEN %s END`, c.name, c.ordinary(), c.name))
	}
	return `CASE WHEN ` + strings.Join(odd, " OR ") + ` THEN jsonb_strip_nulls(jsonb_build_object(` + strings.Join(each, ", ") + `)) END AS odd_values`
}

// oddWarnings tell of the odd values, so that what is shown in their place is not taken
// for what is stored.
func (o Order) oddWarnings() []string {
	if o.OddValues == nil {
		return nil
	}
	clamped := map[string]time.Time{
		"iftsta_next_attempt_at": o.IFTSTANextAttemptAt, "created_at": o.CreatedAt, "updated_at": o.UpdatedAt,
	}
	var warnings []string
	for _, c := range datedColumns {
		value, odd := o.OddValues[c.name]
		if !odd {
			continue
		}
		as := "null"
		if c.required {
			as = clamped[c.name].UTC().Format(time.RFC3339Nano)
		}
		warning := fmt.Sprintf("%s holds %s, which is no day of the years 1 to 9999, and is shown as %s", c.name, value, as)
		if c.name == "iftsta_dispatched_at" {
			warning += "; the outcome counts as dispatched"
		}
		warnings = append(warnings, warning)
	}
	return warnings
}

// unreportable reports whether the order was executed at no moment that a command can carry.
func (o Order) unreportable() bool { return o.Status == StatusExecuted && o.ExecutedAt == nil }

// neverDue reports whether no time that passes makes the next attempt due.
func (o Order) neverDue() bool { return !o.IFTSTANextAttemptAt.Before(lastShown) }
