package main

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

const rejectsPath = "/api/v1/webhook-rejects"

// reject is a delivery that was refused and kept.
type reject struct {
	ID               uuid.UUID  `json:"id"`
	WebhookID        string     `json:"webhook_id"`
	Status           int        `json:"status"`
	Reason           string     `json:"reason"`
	Settlement       *string    `json:"settlement"` // nil: it waits for a human
	SettledBy        *string    `json:"settled_by"`
	SettlementReason *string    `json:"settlement_reason"`
	OrderID          *uuid.UUID `json:"order_id"`
}

func (r reject) path(part string) string { return rejectsPath + "/" + r.ID.String() + part }

// aMessageCannotBeRead refuses two signed events. makod takes a 4xx for final: a human
// finds both in the work list, and settles each in its way.
func (s *story) aMessageCannotBeRead(ctx context.Context) {
	s.chapter("A market message that could not be read: kept, found in the work list, and settled")
	before := s.stats(ctx)[openRejects]
	mistyped := s.theLieferantMistypes(ctx)
	misdirected := s.makodHasAWrongURL(ctx)
	s.expectOpenRejects(ctx, before+2)
	s.nothingCanComeOfIt(ctx, mistyped)
	s.itsCauseIsGone(ctx, misdirected)
	s.expectOpenRejects(ctx, before)
}

// theLieferantMistypes delivers a MaLo-ID whose check digit does not fit.
func (s *story) theLieferantMistypes(ctx context.Context) reject {
	e := newEvent(earliestDate, time.Now(), s.today)
	right := e.MaloID[len(e.MaloID)-1:]
	e.MaloID = spoil(e.MaloID)
	a := s.deliver(ctx, http.StatusUnprocessableEntity, "17115 with a mistyped MaLo", e)
	s.expect(strings.Contains(a.gist(), "but "+right+" would fit"), "the refusal does not name the digit %s: %s", right, a.body)
	return s.kept(ctx, e, "unusable_event")
}

// makodHasAWrongURL delivers a good event to a URL that somebody has written wrongly. It
// came in time for its day.
func (s *story) makodHasAWrongURL(ctx context.Context) marketEvent {
	s.print("\n")
	e := newEvent(fixedDate, s.arrival(s.due, inTimeWT), s.due)
	if s.done() {
		return e
	}
	s.try(s.market.spawn(e))
	a, err := s.market.deliverTo(ctx, "/webhook?from=makod", e, s.market.signer)
	s.try(err)
	s.answered("17115, from a makod whose URL of sperrd has a query", a)
	s.expect(a.status == http.StatusBadRequest, "expected 400 for a URL with a query, got %d %s", a.status, a.body)
	s.expect(len(s.list(ctx, "?malo_id="+e.MaloID)) == 0, "an order came of what was refused")
	return e
}

// kept finds a refused event in the work list.
func (s *story) kept(ctx context.Context, e marketEvent, code string) reject {
	path := rejectsPath + "?code=" + code
	rejects := read[[]reject](s, s.fetch(ctx, path))
	i := slices.IndexFunc(rejects, func(r reject) bool { return r.WebhookID == e.EventID })
	s.expect(i >= 0, "GET %s does not have the refused event", path)
	if s.done() {
		return reject{}
	}
	s.note("kept under GET %s: %d, %s", path, rejects[i].Status, rejects[i].Reason)
	return rejects[i]
}

// nothingCanComeOfIt replays a message that says what it said before: it is refused as
// before and stays open, until a human dismisses it.
func (s *story) nothingCanComeOfIt(ctx context.Context, r reject) {
	s.print("\n")
	a := s.ask(ctx, http.StatusUnprocessableEntity, request{http.MethodPost, r.path("/replay"), nil, newIdentifiers()})
	s.expect(strings.Contains(a.gist(), r.Reason), "the replay is refused with %s, the delivery with %s", a.body, r.Reason)
	s.expect(s.lookAt(ctx, r).Settlement == nil, "the refused replay has settled the delivery")
	s.note("a replay reads what is kept and changes nothing of it. The Lieferant has to send it anew")
	const reason = "MaLo vertippt, der Lieferant bestellt neu"
	s.ask(ctx, http.StatusNoContent, request{http.MethodPost, r.path("/dismiss"), fields{"reason": reason}, newIdentifiers()})
	s.expectSettled(s.lookAt(ctx, r), "dismissed", reason)
}

// itsCauseIsGone replays the event of a makod whose URL is right by now. It is judged by
// the day on which it came, not by the one on which it is replayed.
func (s *story) itsCauseIsGone(ctx context.Context, e marketEvent) {
	s.print("\n")
	s.note("in makod somebody corrects the URL. The query was no part of the event")
	r := s.kept(ctx, e, "invalid_parameter")
	const reason = "URL in makod berichtigt"
	a := s.ask(ctx, http.StatusCreated, request{http.MethodPost, r.path("/replay"), fields{"reason": reason}, newIdentifiers()})
	s.replayed = s.look(ctx, read[order](s, a))
	s.expect(s.replayed.MaloID == e.MaloID && a.header.Get("Location") == s.replayed.path(""), "the replay made %+v", s.replayed)
	s.expectVorlauffrist(s.replayed, 12, true)
	settled := s.lookAt(ctx, r)
	s.expect(settled.OrderID != nil && *settled.OrderID == s.replayed.ID, "the delivery came to %v", shown(settled.OrderID))
	s.expectSettled(settled, "replayed", reason)
	s.passOver(ctx, "17115, the same once more: makod's operator has helped as well", e)
	s.report(ctx, http.StatusNoContent, s.replayed.path("/execute"), fields{"note": "Siegel 4714"})
	s.replayed = s.look(ctx, s.replayed)
	s.lieferantKnows(s.replayed, "Z37", "Z14", "A07")
	s.tellHistory(ctx, s.replayed, "created", "executed", "iftsta_dispatched")
}

func (s *story) lookAt(ctx context.Context, r reject) reject {
	return read[reject](s, s.fetch(ctx, r.path("")))
}

func (s *story) expectSettled(r reject, how, reason string) {
	s.expect(shown(r.Settlement) == how && shown(r.SettledBy) == asDisponent && shown(r.SettlementReason) == reason,
		"the delivery is %v by %v: %v", shown(r.Settlement), shown(r.SettledBy), shown(r.SettlementReason))
	s.note("%s by %s: %s", how, asDisponent, reason)
}

// openRejects counts the deliveries that wait for a human.
const openRejects = "webhook_rejects_offen"

func (s *story) expectOpenRejects(ctx context.Context, want int) {
	got := s.stats(ctx)[openRejects]
	s.expect(got == want, "%s is %d, expected %d", openRejects, got, want)
	s.note("GET %s/stats: %s %d", ordersPath, openRejects, got)
}
