package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sperrd/internal/makod/makodtest"
	"sperrd/internal/werktag"
)

// expectVorlauffrist compares sperrd's verdict with the one counted here: the
// ORDERS must have come so many Werktage before the day it asks for.
func (s *story) expectVorlauffrist(o order, werktage int, kept bool) {
	if s.done() {
		return
	}
	day, err := werktag.ParseDate(o.requestedDay())
	s.try(err)
	latest, err := werktag.BDEW().Sub(day, werktage)
	s.try(err)
	s.expect(o.VorlauffristSpaetesterUT != nil && *o.VorlauffristSpaetesterUT == latest.String() &&
		o.VorlauffristEingehalten != nil && *o.VorlauffristEingehalten == kept,
		"the Vorlauffrist ends on %s and kept should be %t, but the order says %v, %v", latest, kept,
		shown(o.VorlauffristSpaetesterUT), shown(o.VorlauffristEingehalten))
	verdict := "kept"
	if !kept {
		verdict = "violated, which is recorded and no reason to refuse"
	}
	s.note("%s; it had to come by %s (%d Werktage): %s", o.requested(), latest, werktage, verdict)
}

// lieferantKnows expects the one IFTSTA of an order and tells what it says.
func (s *story) lieferantKnows(o order, code ...string) {
	if s.done() {
		return
	}
	messages := s.market.makod.IFTSTAFor(o.MaloID)
	s.expect(len(messages) == 1, "makod has %d IFTSTA for the order, not one", len(messages))
	if s.done() {
		return
	}
	m := messages[0]
	s.expect(strings.Join(code, " ") == iftstaCodes(m) && m.ProcessID == *o.ProcessID && o.IFTSTADispatchedAt != nil,
		"the IFTSTA says %s about process %s", iftstaCodes(m), m.ProcessID)
	if o.ExecutedAt != nil {
		s.expect(m.Fertigstellung.Equal(o.ExecutedAt.Truncate(time.Minute)),
			"DTM+293 is %s, the order was executed at %s", m.Fertigstellung, o.ExecutedAt)
	}
	s.note("the Lieferant %s knows: %s", m.LieferantID, iftstaText(m))
}

func (s *story) lieferantKnowsNothing(o order) {
	if s.done() {
		return
	}
	messages := s.market.makod.IFTSTAFor(o.MaloID)
	s.expect(len(messages) == 0, "makod has %d IFTSTA for an order that has none to report", len(messages))
	s.note("no IFTSTA: the Lieferant %s knows nothing", o.LieferantID)
}

func iftstaCodes(m makodtest.IFTSTA) string { return m.Qualifier + " " + m.Code + " " + m.Pruefschritt }

// iftstaText is an IFTSTA in one line: its codes, the minute of completion, the text.
func iftstaText(m makodtest.IFTSTA) string {
	text := iftstaCodes(m)
	if !m.Fertigstellung.IsZero() {
		text += ", completed " + m.Fertigstellung.UTC().Format("2006-01-02T15:04Z")
	}
	if m.Text != "" {
		text += ", \"" + m.Text + "\""
	}
	return text
}

// shown is a value that may be absent.
func shown[T any](value *T) any {
	if value == nil {
		return "nothing"
	}
	return *value
}

// historyLine is one thing that happened to an order.
type historyLine struct {
	At            time.Time `json:"at"`
	Actor         string    `json:"actor"`
	Action        string    `json:"action"`
	To            string    `json:"to"`
	TransactionID string    `json:"transaction_id"` // of the call; empty: none
}

// tellHistory tells what happened to an order, and expects that it was this. How often it
// happened one after another, as attempts do, is told alone.
func (s *story) tellHistory(ctx context.Context, o order, actions ...string) {
	var said, got []string
	times := 1
	for _, line := range read[[]historyLine](s, s.fetch(ctx, o.path("/history"))) {
		text := line.Action + " by " + line.Actor
		if last := len(got) - 1; last >= 0 && got[last] == line.Action {
			times++
			said[last] = fmt.Sprintf("%d times %s", times, text)
			continue
		}
		times = 1
		said, got = append(said, text), append(got, line.Action)
	}
	s.expect(slices.Equal(got, actions), "the history of the order has %s", strings.Join(said, ", "))
	s.note("its history: %s", strings.Join(said, ", "))
}
