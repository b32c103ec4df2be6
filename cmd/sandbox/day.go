package main

import (
	"context"
	"net/http"
	"slices"
	"time"

	"sperrd/internal/werktag"
)

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
	lateDay := s.werktageAgo(lateWT)
	s.late = s.receive(ctx, "17115, fixed date two weeks ago, delivered only now", newEvent(fixedDate, s.arrival(lateDay, inTimeWT), lateDay))
	s.expectVorlauffrist(s.late, 12, true)

	s.passOver(ctx, "17116, a question to the Messstellenbetreiber: no order", newEvent(anfrage, time.Now(), s.today))
	s.passOver(ctx, "55001, another process", newEvent(supplierStart, time.Now(), s.werktageAhead(10)))
	again := inTime
	again.Template, again.EventID = throughMarktd, newEvent(throughMarktd, again.At, again.Day).EventID
	s.passOver(ctx, "17115, the first one once more, through marktd", again)
	s.expect(len(s.list(ctx, "?malo_id="+s.fixed.MaloID)) == 1, "the redelivery made a second order")
}

func (s *story) theERPLearns(ctx context.Context) {
	s.chapter("The ERP learns of each order, and which of them is too late")
	for _, o := range []order{s.fixed, s.earliest, s.entsperrung, s.withdrawn} {
		s.erpKnows(ctx, o, "auftrag.eingegangen")
	}
	s.erpKnows(ctx, s.late, "auftrag.eingegangen", "ausfuehrung.ueberfaellig")
	s.late = s.look(ctx, s.late)
	s.expect(s.late.AusfuehrungEskaliertAt != nil && s.late.AusfuehrungFaelligAm != nil, "the late order is not marked as announced")
	if !s.done() {
		s.note("the order of %s had its six Werktage until %s", s.late.requestedDay(), *s.late.AusfuehrungFaelligAm)
	}
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
	s.expect(len(ours) == 4 && ours[0].ID == s.entsperrung.ID,
		"due are %d orders of this run, not four with the Entsperrung first", len(ours))
}

func (s *story) aVisitSucceeds(ctx context.Context) {
	s.chapter("A visit succeeds: the Lieferant learns it, and the ERP")
	s.report(ctx, http.StatusNoContent, s.fixed.path("/execute"), fields{"note": "Sperrung am Zaehlerplatz, Siegel 4711"})
	s.fixed = s.look(ctx, s.fixed)
	s.lieferantKnows(s.fixed, "Z37", "Z14", "A07")
	s.erpKnows(ctx, s.fixed, "auftrag.eingegangen", "ausgefuehrt")
	s.tellHistory(ctx, s.fixed, "created", "executed", "iftsta_dispatched")
}

func (s *story) twoVisitsFail(ctx context.Context) {
	s.chapter("The ERP goes down (503, Retry-After 2 s). Two visits fail: the second closes the order")
	s.try(s.erp.setFault("busy"))
	report := fields{"reason": "niemand angetroffen", "pruefschritt_code": "A08"}
	s.report(ctx, http.StatusAccepted, s.earliest.path("/fail"), report)
	s.earliest = s.look(ctx, s.earliest)
	s.expect(s.earliest.Status == "pending" && s.earliest.Sperrversuche == 1,
		"after the first visit the order is %s with %d visits", s.earliest.Status, s.earliest.Sperrversuche)
	s.lieferantKnowsNothing(s.earliest)
	s.report(ctx, http.StatusNoContent, s.earliest.path("/fail"), report)
	s.earliest = s.look(ctx, s.earliest)
	s.lieferantKnows(s.earliest, "Z37", "Z13", "A08")
	s.erpRefuses(ctx, s.earliest, "auftrag.eingegangen")
}

func (s *story) anOrderIsWithdrawn(ctx context.Context) {
	s.chapter("An order is cancelled: nobody goes there, and no IFTSTA follows")
	s.report(ctx, http.StatusNoContent, s.withdrawn.path("/cancel"), fields{"reason": "Rechnung bezahlt"})
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
	s.expect(len(s.market.commandsFor(s.operator.MaloID)) == 0, "makod was told of an operator's order")
	s.lieferantKnowsNothing(s.operator)
}

func (s *story) whatIsNotRightIsRefused(ctx context.Context) {
	s.chapter("What is not right is refused")
	s.deliverForged(ctx, "17115 from somebody who does not know the secret", newEvent(earliestDate, time.Now(), s.werktageAhead(10)))
	s.report(ctx, http.StatusConflict, s.fixed.path("/execute"), nil)
	s.expect(len(s.market.makod.IFTSTAFor(s.fixed.MaloID)) == 1, "the second report reached the Lieferant")
}
