package sperr

import (
	"cmp"
	"math"
	"slices"

	"github.com/google/uuid"

	"sperrd/internal/werktag"
)

// Monat is a month of the calendar in Berlin. The zero value is none.
type Monat struct{ first werktag.Date }

// ParseMonat reads YYYY-MM; ok is false for what is no month of the calendar's years.
func ParseMonat(text string) (m Monat, ok bool) {
	first, err := werktag.ParseDate(text + "-01")
	if err != nil || !first.InCalendar() {
		return Monat{}, false
	}
	return Monat{first}, true
}

// Von and Bis are the first and the last day of the month.
func (m Monat) Von() werktag.Date { return m.first }

// Bis is the last day.
func (m Monat) Bis() werktag.Date { return m.next().AddDays(-1) }

func (m Monat) next() werktag.Date {
	later := m.first.AddDays(31)
	return werktag.NewDate(later.Year(), later.Month(), 1)
}

// String is the month as YYYY-MM.
func (m Monat) String() string { return m.first.String()[:len("2006-01")] }

// ValidMPIDShape reports whether id has the shape of an MP-ID, whatever its check digit.
func ValidMPIDShape(id string) bool { return checkMPID(id) == nil }

// VorlauffristReport is how the Lieferanten kept the Vorlauffrist (GPKE Teil 2 § 3.5.1.2
// Nr. 1) in one month: their Sperrauftraege from the market whose Übertragungstag lies in
// it, open and closed ones alike.
type VorlauffristReport struct {
	Monat       string                  `json:"monat"`
	Von         werktag.Date            `json:"von"`
	Bis         werktag.Date            `json:"bis"`
	Lieferanten []LieferantVorlauffrist `json:"lieferanten"` // by lf_mp_id
	// Truncated tells that more orders were late than are listed. The counts are complete.
	Truncated bool `json:"truncated"`
}

// LieferantVorlauffrist is the month of one Lieferant. An order without a requested date
// is among the orders and not judged.
type LieferantVorlauffrist struct {
	LieferantID string      `db:"lf_mp_id" json:"lf_mp_id"`
	Orders      int64       `db:"orders" json:"orders"`
	Judged      int64       `db:"judged" json:"judged"`
	Late        int64       `db:"late" json:"late"`
	Share       *float64    `db:"-" json:"share"`       // late of judged, four decimals; nil: none was judged
	LateOrders  []LateOrder `db:"-" json:"late_orders"` // by Übertragungstag and id
}

// LateOrder is an order that came too late for its requested date.
type LateOrder struct {
	ID        uuid.UUID `json:"id"`
	MaloID    string    `json:"malo_id"`
	ProcessID string    `json:"process_id"`
	Status    Status    `json:"status"`
	// Termingebunden tells the Vorlauf of a fixed date, 12 WT, from that of an earliest
	// one, 6 WT.
	Termingebunden bool          `json:"termingebunden"`
	RequestedDate  *werktag.Date `json:"requested_date"`
	// Uebertragungstag is the day that puts the order into the month: its own, or that of
	// its arrival here where none is known.
	Uebertragungstag         werktag.Date  `json:"uebertragungstag"`
	VorlauffristSpaetesterUT *werktag.Date `json:"vorlauffrist_spaetester_ut"`
	// WerktageZuSpaet counts the Werktage after the latest Übertragungstag, up to the real
	// one or to the next Werktag after it; nil where the calendar cannot tell.
	WerktageZuSpaet *int `json:"werktage_zu_spaet"`
}

// werktageZuSpaet is the length of a delay. What comes on a Saturday is as late as what
// comes on the Monday after it.
func werktageZuSpaet(cal *werktag.Calendar, spaetester *werktag.Date, ut werktag.Date) *int {
	if spaetester == nil {
		return nil
	}
	until, err := cal.Next(ut)
	if err != nil {
		return nil
	}
	n, err := cal.Count(*spaetester, until)
	if err != nil {
		return nil
	}
	return &n
}

// finish puts the list of a Lieferant in order and adds the share.
func (l *LieferantVorlauffrist) finish() {
	if l.Judged > 0 {
		share := math.Round(float64(l.Late)/float64(l.Judged)*10_000) / 10_000
		l.Share = &share
	}
	slices.SortFunc(l.LateOrders, func(a, b LateOrder) int {
		return cmp.Or(a.Uebertragungstag.Compare(b.Uebertragungstag), cmp.Compare(a.ID.String(), b.ID.String()))
	})
}
