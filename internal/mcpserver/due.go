package mcpserver

import (
	"context"
	"math"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"sperrd/internal/sperr"
	"sperrd/internal/werktag"
)

// maxDue bounds the list of the field team: no team works through more in a day, and a
// result that nobody can read must not take a replica's memory. What is cut is the least
// urgent end, and the result says so.
const maxDue = 1000

// dueList is the result of list_due_orders. Count is that of DueOrders.
type dueList struct {
	Count     int        `json:"count"`
	DueOrders []dueOrder `json:"due_orders"`
	Truncated bool       `json:"truncated"`
	Note      string     `json:"note"`
}

type dueOrder struct {
	ID          uuid.UUID          `json:"id"`
	MaloID      string             `json:"malo_id"`
	LieferantID string             `json:"lf_mp_id"`
	OrderType   sperr.Type         `json:"order_type"`
	Arbeitszeit *sperr.Arbeitszeit `json:"arbeitszeit"`
	SollAm      *werktag.Date      `json:"soll_am"`
	// IstFixtermin tells DTM+203, a commitment to a day, from DTM+469, a lower bound.
	IstFixtermin bool       `json:"ist_fixtermin"`
	TageOffen    *int       `json:"tage_offen"`
	Treffpunkt   treffpunkt `json:"treffpunkt"`
	Hinweis      *string    `json:"hinweis"`
}

type treffpunkt struct {
	Strasse *string `json:"strasse"`
	PLZ     *string `json:"plz"`
	Ort     *string `json:"ort"`
	Hinweis *string `json:"hinweis"`
}

// The notes of a due list.
const (
	noteDue = "ist_fixtermin true: a fixed date (DTM+203), agreed for that day and place; once it has passed a commitment to the Lieferant is broken. " +
		"false: soll_am is the earliest possible date (DTM+469), and the visit may lie on it or up to the 6th Werktag after it (GPKE Teil 2 § 3.5.1.2 Nr. 1). " +
		"soll_am null: no date was given. An Entsperrung never has one: it is owed unverzueglich and stands first. A Sperrung without one carries a warning: ask the Lieferant."
	noteTruncated = " truncated true: only the 1000 most urgent are here; GET /api/v1/sperr-orders?due=true has all of them, page by page."
)

func (s *server) due(ctx context.Context, raw jsontext.Value) (any, error) {
	if err := readArguments(raw, &struct{}{}); err != nil {
		return nil, err
	}
	today := s.today()
	page, err := s.Repository.List(ctx, sperr.Filter{Due: true, Today: today, Limit: maxDue})
	if err != nil {
		return nil, err
	}
	result := dueList{Count: len(page.Orders), DueOrders: make([]dueOrder, len(page.Orders)), Note: noteDue}
	for i, order := range page.Orders {
		result.DueOrders[i] = dueOrderOf(order, today)
	}
	if page.Next != "" {
		result.Truncated = true
		result.Note += noteTruncated
	}
	return result, nil
}

func dueOrderOf(o sperr.Order, today werktag.Date) dueOrder {
	d := dueOrder{
		ID: o.ID, MaloID: o.MaloID, LieferantID: o.LieferantID, OrderType: o.OrderType, Arbeitszeit: o.Arbeitszeit,
		SollAm: o.RequestedDate(), IstFixtermin: o.AusfuehrungAm != nil,
		Treffpunkt: treffpunkt{Strasse: o.TreffpunktStrasse, PLZ: o.TreffpunktPLZ, Ort: o.TreffpunktOrt, Hinweis: o.TreffpunktHinweis},
		Hinweis:    o.Hinweis,
	}
	if d.SollAm != nil {
		open := daysBetween(*d.SollAm, today)
		d.TageOffen = &open
	}
	return d
}

// daysBetween counts calendar days from one Berlin day to another. Two days of the
// year have 23 and 25 hours, hence the rounding. A time.Duration ends after 292 years, and
// SQL can put in days before that.
func daysBetween(from, to werktag.Date) int {
	const day = 24 * time.Hour / time.Second
	return int(math.Round(float64(to.Start().Unix()-from.Start().Unix()) / float64(day)))
}
