package main

import (
	"context"
	"net/http"
	"slices"
	"time"

	"sperrd/internal/werktag"
)

// story is one day of a Netzbetreiber, told in chapters. Each order in it meets
// another fate.
type story struct {
	narrator
	*neighbourhood
	before stats // earlier runs may have left orders behind

	today werktag.Date
	due   werktag.Date // the last Werktag up to today, on which a visit can be due

	fixed       order // a day fixed by the court: the team succeeds
	earliest    order // the team goes there twice in vain
	entsperrung order // done, but makod cannot be told
	withdrawn   order // cancelled before anybody goes there
	operator    order // no market behind it
}

// How many Werktage before the day it asks for an ORDERS of the story comes in. The
// Lieferant owes twelve for a fixed date and six otherwise.
const (
	inTimeWT  = 13 // fixed date
	tooLateWT = 3  // earliest date
	aheadWT   = 20 // fixed date, ordered today
)

// newStory is the story of the day today.
func newStory(n *neighbourhood, today werktag.Date) *story {
	s := &story{narrator: narrator{out: n.stdout}, neighbourhood: n, today: today}
	var err error
	// Counting back from tomorrow finds today itself when it is a Werktag.
	s.due, err = werktag.BDEW().Sub(today.AddDays(1), 1)
	s.try(err)
	return s
}

// tell plays the day. It returns what was not as expected.
func (s *story) tell(ctx context.Context) error {
	s.before = s.stats(ctx)
	chapters := []func(context.Context){
		s.theMarketOrders, s.theTeamLooksAtItsDay, s.aVisitSucceeds, s.twoVisitsFail, s.makodFails,
		s.anOrderIsWithdrawn, s.theOperatorOrders, s.whatIsNotRightIsRefused, s.takeStock,
	}
	for _, chapter := range chapters {
		if s.done() {
			break
		}
		chapter(ctx)
	}
	return s.err
}

func (s *story) theMarketOrders(ctx context.Context) {
	s.chapter("The market orders: makod signs its events and delivers them to POST /webhook")
	inTime := newEvent(fixedDate, s.arrival(s.due, inTimeWT), s.due)
	s.fixed = s.receive(ctx, "17115, fixed date (DTM+203)", inTime)
	s.expectVorlauffrist(s.fixed, 12, true)
	tooLate := newEvent(earliestDate, s.arrival(s.due, tooLateWT), s.due)
	tooLate.LieferantID = anotherLieferant
	s.earliest = s.receive(ctx, "17115, earliest date (DTM+469)", tooLate)
	s.expectVorlauffrist(s.earliest, 6, false)
	s.entsperrung = s.receive(ctx, "17117, restore the supply", newEvent(entsperrung, time.Now(), werktag.Date{}))
	ahead := newEvent(fixedDate, time.Now(), s.werktageAhead(aheadWT))
	s.withdrawn = s.receive(ctx, "17115, fixed date, four weeks ahead", ahead)
	s.expectVorlauffrist(s.withdrawn, 12, true)

	s.passOver(ctx, "17116, a question to the Messstellenbetreiber: no order", newEvent(anfrage, time.Now(), s.today))
	s.passOver(ctx, "55001, another process", newEvent(supplierStart, time.Now(), s.werktageAhead(10)))
	again := inTime
	again.Template, again.EventID = throughMarktd, newEvent(throughMarktd, again.At, again.Day).EventID
	s.passOver(ctx, "17115, the first one once more, through marktd", again)
	s.expect(len(s.list(ctx, "?malo_id="+s.fixed.MaloID)) == 1, "the redelivery made a second order")
}

func (s *story) theTeamLooksAtItsDay(ctx context.Context) {
	s.chapter("The field team asks what is due")
	due := s.pages(ctx, s.call(ctx, http.StatusOK, http.MethodGet, ordersPath+"?due=true", nil))
	var ours []order
	for _, o := range due {
		if slices.ContainsFunc(s.orders(), func(mine order) bool { return mine.ID == o.ID }) {
			s.note("%s %-11s %-15s MaLo %s", o.ID, o.OrderType, o.requested(), o.MaloID)
			ours = append(ours, o)
		}
	}
	s.note("%d of this run, %d of earlier ones; the one asked for %s is not due yet", len(ours), len(due)-len(ours), s.withdrawn.requested())
	s.expect(len(ours) == 3 && ours[0].ID == s.entsperrung.ID,
		"due are %d orders of this run, not three with the Entsperrung first", len(ours))
}

func (s *story) aVisitSucceeds(ctx context.Context) {
	s.chapter("A visit succeeds, and the Lieferant learns it")
	s.call(ctx, http.StatusNoContent, http.MethodPut, s.fixed.path("/execute"), fields{"note": "Sperrung am Zaehlerplatz, Siegel 4711"})
	s.fixed = s.look(ctx, s.fixed)
	s.lieferantKnows(s.fixed, "Z37", "Z14", "A07")
	s.tellHistory(ctx, s.fixed)
}

func (s *story) twoVisitsFail(ctx context.Context) {
	s.chapter("Two visits fail: the first leaves the order open, the second closes it")
	report := fields{"reason": "niemand angetroffen", "pruefschritt_code": "A08"}
	s.call(ctx, http.StatusAccepted, http.MethodPut, s.earliest.path("/fail"), report)
	s.earliest = s.look(ctx, s.earliest)
	s.expect(s.earliest.Status == "pending" && s.earliest.Sperrversuche == 1,
		"after the first visit the order is %s with %d visits", s.earliest.Status, s.earliest.Sperrversuche)
	s.lieferantKnowsNothing(s.earliest)
	s.call(ctx, http.StatusNoContent, http.MethodPut, s.earliest.path("/fail"), report)
	s.earliest = s.look(ctx, s.earliest)
	s.lieferantKnows(s.earliest, "Z37", "Z13", "A08")
}

func (s *story) makodFails(ctx context.Context) {
	s.chapter("A visit succeeds while makod fails (" + s.MakodFault + "): the report is kept")
	s.try(s.market.breakFor(s.entsperrung.MaloID, s.MakodFault))
	s.call(ctx, http.StatusAccepted, http.MethodPut, s.entsperrung.path("/execute"), fields{"note": "Versorgung wiederhergestellt"})
	s.entsperrung = s.look(ctx, s.entsperrung)
	s.expect(s.entsperrung.Status == "executed" && s.entsperrung.IFTSTADispatchedAt == nil && s.entsperrung.IFTSTALastError != nil,
		"the order is %s, dispatched at %v", s.entsperrung.Status, s.entsperrung.IFTSTADispatchedAt)
	if !s.done() {
		s.note("iftsta_last_error: %s", *s.entsperrung.IFTSTALastError)
	}
	s.lieferantKnowsNothing(s.entsperrung)
}

func (s *story) anOrderIsWithdrawn(ctx context.Context) {
	s.chapter("An order is cancelled: nobody goes there, and no IFTSTA follows")
	s.call(ctx, http.StatusNoContent, http.MethodPut, s.withdrawn.path("/cancel"), fields{"reason": "Rechnung bezahlt"})
	s.withdrawn = s.look(ctx, s.withdrawn)
	s.expect(s.withdrawn.Status == "cancelled", "the order is %s", s.withdrawn.Status)
	s.lieferantKnowsNothing(s.withdrawn)
}

func (s *story) theOperatorOrders(ctx context.Context) {
	s.chapter("An operator orders: no market process, so no IFTSTA is owed")
	a := s.call(ctx, http.StatusCreated, http.MethodPost, ordersPath, fields{
		"malo_id": drawMaloID(), "lf_mp_id": lieferant, "order_type": "sperrung", "fruehestens_am": s.today.String(),
		"treffpunkt": fields{"strasse": "Schulgasse 1", "plz": "99084", "ort": "Erfurt", "land": "DE"},
	})
	s.operator = read[order](s, a)
	s.expect(a.header.Get("Location") == s.operator.path(""), "Location is %q", a.header.Get("Location"))
	s.call(ctx, http.StatusNoContent, http.MethodPut, s.operator.path("/execute"), nil)
	s.operator = s.look(ctx, s.operator)
	s.expect(s.market.commandsFor(s.operator.MaloID) == 0, "makod was told of an operator's order")
	s.lieferantKnowsNothing(s.operator)
}

func (s *story) whatIsNotRightIsRefused(ctx context.Context) {
	s.chapter("What is not right is refused, and what was signed is kept for a human")
	wrong := newEvent(earliestDate, time.Now(), s.werktageAhead(10))
	wrong.MaloID = spoil(wrong.MaloID)
	s.deliver(ctx, http.StatusUnprocessableEntity, "17115 with a mistyped MaLo", wrong)
	s.expectKept(ctx, wrong)
	s.deliverForged(ctx, "17115 from somebody who does not know the secret", newEvent(earliestDate, time.Now(), s.werktageAhead(10)))
	s.call(ctx, http.StatusConflict, http.MethodPut, s.fixed.path("/execute"), nil)
	s.expect(len(s.market.makod.IFTSTAFor(s.fixed.MaloID)) == 1, "the second report reached the Lieferant")
}
