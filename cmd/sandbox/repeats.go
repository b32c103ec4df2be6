package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// reportsComeTwice lets answers get lost. Whoever has none sends his report again, and
// says which one it is.
func (s *story) reportsComeTwice(ctx context.Context) {
	s.chapter("The network is bad: a report that is sent twice counts once, and gets the same answer")
	e := newEvent(fixedDate, s.arrival(s.due, inTimeWT), s.due)
	s.repeated = s.receive(ctx, "17115, fixed date, where the network is bad", e)
	visit := s.aVisitIsReportedAgain(ctx)
	outcome := s.anOutcomeIsReportedAgain(ctx)
	s.tellCommands(ctx, s.repeated, outcome.first())
	s.tellReferences(ctx, s.repeated, []cause{
		{"auftrag.eingegangen", e.EventID, ""}, // the market's event, for want of a call
		{"versuch.gescheitert", visit.first(), visit.id},
		{"ausgefuehrt", outcome.first(), outcome.id},
	})
	s.tellHistory(ctx, s.repeated, "created", "sperrversuch_failed", "executed", "iftsta_not_taken", "iftsta_dispatched")
	s.anOrderIsMadeAgain(ctx)
}

// aVisitIsReportedAgain returns what names the call that counted.
func (s *story) aVisitIsReportedAgain(ctx context.Context) identifiers {
	counted := newIdentifiers()
	r := request{http.MethodPut, s.repeated.path("/fail"), fields{"reason": "niemand angetroffen", "pruefschritt_code": "A08"}, counted}
	first := s.ask(ctx, http.StatusAccepted, r)
	s.note("let this answer be lost: the app does not know whether the visit counts, and sends it again")
	r = s.repeat(ctx, r, first)
	s.note("once more, but a colleague sends it: only who made the first call may repeat it")
	s.conflicts(ctx, s.sperrd.as(newTokens(s.issuer, asKollege, s.sperrd.http)), r)
	s.note("once more, but with another reason")
	r.body = fields{"reason": "Hund im Hof", "pruefschritt_code": "A08"}
	s.conflicts(ctx, s.sperrd, r)
	s.repeated = s.look(ctx, s.repeated)
	s.expect(s.repeated.Status == "pending" && s.repeated.Sperrversuche == 1,
		"after one visit that was reported four times the order is %s with %d visits", s.repeated.Status, s.repeated.Sperrversuche)
	s.note("sperrversuche: %d", s.repeated.Sperrversuche)
	return counted
}

// conflicts sends a request that says it is one that came before, and is not. No later
// call will make it so, and the first answer is not for whoever sends it.
func (s *story) conflicts(ctx context.Context, who *client, r request) {
	r.ids = r.ids.again()
	a := s.askAs(ctx, who, http.StatusConflict, r)
	s.expect(strings.HasPrefix(a.gist(), "transaction_conflict: ") && a.header.Get("Retry-After") == "" && !a.replayed(),
		"the contradiction is answered with %s %v", a.body, a.header)
}

// anOutcomeIsReportedAgain reports while makod is away, and again when it is back. It
// returns what names the call that counted.
func (s *story) anOutcomeIsReportedAgain(ctx context.Context) identifiers {
	s.print("\n")
	s.note("makod is away. The second visit succeeds; the first call that reports it does not arrive at all, the second does")
	s.try(s.market.breakFor(s.repeated.MaloID, "down"))
	counted := newIdentifiers().again() // the first one stays on the device
	r := request{http.MethodPut, s.repeated.path("/execute"), fields{"note": "Siegel 4713"}, counted}
	first := s.ask(ctx, http.StatusAccepted, r)
	s.repeated = s.look(ctx, s.repeated)
	s.expect(s.repeated.Status == "executed" && s.repeated.IFTSTADispatchedAt == nil,
		"the order is %s, dispatched at %v", s.repeated.Status, shown(s.repeated.IFTSTADispatchedAt))
	s.note("let its answer be lost. makod works again and gets the outcome; only then the app reports it once more")
	s.market.makod.ClearFaults()
	s.repeated = s.dispatched(ctx, s.repeated)
	s.repeat(ctx, r, first)
	s.lieferantKnows(s.repeated, "Z37", "Z14", "A07")
	return counted
}

// anOrderIsMadeAgain lets an operator's client repeat what has no market process by
// which it could be recognised. All it knows is Idempotency-Key.
func (s *story) anOrderIsMadeAgain(ctx context.Context) {
	s.print("\n")
	s.note("an operator's client makes an order twice")
	maloID := drawMaloID()
	r := request{http.MethodPost, ordersPath, fields{
		"malo_id": maloID, "lf_mp_id": lieferant, "order_type": "sperrung", "fruehestens_am": s.today.String(),
	}, identifiers{id: "order-" + maloID, generic: true}}
	first := s.ask(ctx, http.StatusCreated, r)
	s.reordered = read[order](s, first)
	r = s.repeat(ctx, r, first)
	s.expect(len(s.list(ctx, "?malo_id="+maloID)) == 1, "the operator's order was made twice")
	withdrawal := request{http.MethodPut, s.reordered.path("/cancel"), nil, newIdentifiers()}
	s.ask(ctx, http.StatusNoContent, withdrawal)
	s.tellReferences(ctx, s.reordered, []cause{
		{"auftrag.eingegangen", r.ids.id, r.ids.id}, {"storniert", withdrawal.ids.id, withdrawal.ids.id},
	})
}

// repeat sends a request again, as somebody does who has not got the first answer, and
// expects that answer to the byte. It returns the request as it was sent.
func (s *story) repeat(ctx context.Context, r request, first answer) request {
	r.ids = r.ids.again()
	again := s.ask(ctx, first.status, r)
	s.expect(again.replayed() && !first.replayed() && bytes.Equal(again.body, first.body) &&
		again.header.Get("Location") == first.header.Get("Location"),
		"the repeated call is not answered like the first: %s %v, then %s %v", first.body, first.header, again.body, again.header)
	if s.done() {
		return r
	}
	named := headerIdempotencyKey + " " + r.ids.id
	if !r.ids.generic {
		named = fmt.Sprintf("%s %.8s, %s %.8s", headerTransactionID, r.ids.id, headerInitialTransactionID, r.ids.initial)
	}
	s.note("with %s: the same answer, %s: true", named, headerReplayed)
	// The answer stays what it was; where the order is now stands elsewhere.
	now := read[order](s, s.fetch(ctx, again.header.Get("Content-Location")))
	if now.IFTSTADispatchedAt != nil {
		s.note("how the order stands now tells its Content-Location: iftsta_dispatched_at %s", now.IFTSTADispatchedAt.Format(time.RFC3339))
	}
	return r
}
