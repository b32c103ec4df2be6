package main

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"sperrd/internal/makod/makodtest"
)

func (s *story) makodHasClosedAProcess(ctx context.Context) {
	s.chapter("The late order is carried out, but makod has closed its process: the report is kept")
	if s.done() {
		return
	}
	s.try(s.market.makod.SetState(*s.late.ProcessID, makodtest.StateRejected))
	s.report(ctx, http.StatusAccepted, s.late.path("/execute"), fields{"note": "Sperrung nachgeholt"})
	s.late = s.queued(ctx, s.late)
}

func (s *story) makodFails(ctx context.Context) {
	s.chapter("A visit succeeds while makod fails (" + s.MakodFault + "): the report is sent again by itself")
	s.try(s.market.breakFor(s.entsperrung.MaloID, s.MakodFault))
	s.report(ctx, http.StatusAccepted, s.entsperrung.path("/execute"), fields{"note": "Versorgung wiederhergestellt"})
	s.entsperrung = s.queued(ctx, s.entsperrung)
	s.await(ctx, "makod gets the command again", func() bool { return len(s.market.commandsFor(s.entsperrung.MaloID)) >= 2 })
	s.operatorLooks(ctx)
	s.note("makod works again")
	s.market.makod.ClearFaults()
	s.entsperrung = s.dispatched(ctx, s.entsperrung)
	s.tellAttempts(s.entsperrung)
	s.lieferantKnows(s.entsperrung, "Z38", "Z14", "A01")
}

// operatorLooks shows the two queues as sperrd's own commands do: what the Lieferanten
// do not know yet, and what the ERP does not.
func (s *story) operatorLooks(ctx context.Context) {
	s.print("\n")
	lines := s.operate(ctx, "iftsta", "list")
	for _, o := range []order{s.late, s.entsperrung} {
		i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, o.ID.String()) })
		s.expect(i > 0, "the order %s is not in the queue", o.ID)
		if !s.done() {
			row, _, _ := strings.Cut(lines[i], " => ") // the advice was told with the order
			s.note("%s", row)
		}
	}
	outstanding := s.stats(ctx)["iftsta_outstanding"]
	s.expect(outstanding >= 2, "iftsta_outstanding is %d", outstanding)
	s.note("GET %s/stats: iftsta_outstanding %d", ordersPath, outstanding)
	if lines := s.operate(ctx, "outbox", "list"); len(lines) > 0 {
		s.note("%s", lines[0])
	}
	s.print("\n")
}

// operate runs a command of sperrd as an operator does and tells it.
func (s *story) operate(ctx context.Context, arg ...string) []string {
	if s.done() {
		return nil
	}
	lines, err := s.command.lines(ctx, arg...)
	s.try(err)
	s.print("  sperrd %s\n", strings.Join(arg, " "))
	return lines
}

func (s *story) theAttemptsAreSpent(ctx context.Context) {
	s.chapter("The attempts for the late order are spent: announced once, mended, reset, and sent")
	s.late = s.awaitOrder(ctx, s.late, "it is announced", func(o order) bool { return o.IFTSTAEscalatedAt != nil })
	s.expect(s.late.IFTSTAAttempts == maxAttempts, "it is announced after %d attempts", s.late.IFTSTAAttempts)
	s.tellAttempts(s.late)
	s.lieferantKnowsNothing(s.late)
	if s.done() {
		return
	}
	s.note("in makod somebody opens the process again")
	s.try(s.market.makod.SetState(*s.late.ProcessID, makodtest.StateValidationPassed))
	s.whatIsStuckIsReset(ctx)
	s.late = s.dispatched(ctx, s.late)
	s.lieferantKnows(s.late, "Z37", "Z14", "A07")
	s.tellHistory(ctx, s.late, "created", "ausfuehrung_ueberfaellig", "executed", "iftsta_not_taken", "iftsta_ausstehend", "iftsta_reset", "iftsta_dispatched")
}

// resets is the answer to a reset of many outcomes.
type resets struct {
	DryRun bool `json:"dry_run"`
	Count  int  `json:"count"`
}

// whatIsStuckIsReset asks why the late order is stuck, and resets what waits for the same
// reason: first it looks which orders those are.
func (s *story) whatIsStuckIsReset(ctx context.Context) {
	lines := s.operate(ctx, "iftsta", "list", "--stuck", "--malo", s.late.MaloID, "--why")
	s.expect(len(lines) == 2 && strings.HasPrefix(lines[1], s.late.ID.String()), "the stuck order is listed as %q", lines)
	if s.done() {
		return
	}
	s.note("%s", lines[1])
	chosen := fields{"stuck": true, "malo_id": s.late.MaloID, "reason": "Prozess in makod wieder offen"}
	for _, query := range []string{"?dry_run=true", ""} {
		got := read[resets](s, s.ask(ctx, http.StatusOK, request{http.MethodPost, resetsPath + query, chosen, newIdentifiers()}))
		s.expect(got == resets{query != "", 1}, "the reset of what is stuck is %+v", got)
		s.note("dry_run %t, count %d", got.DryRun, got.Count)
	}
}

func (s *story) theERPRecovers(ctx context.Context) {
	s.chapter("The ERP is back: what waited arrives, the events of each order in their order")
	s.tellOutbox(ctx, map[string]int{
		"auftrag.eingegangen": 2, "ausgefuehrt": 4, "versuch.gescheitert": 1, "fehlgeschlagen": 1, "storniert": 1, "iftsta.ausstehend": 1,
	})
	s.erp.Recover()
	s.erpKnows(ctx, s.earliest, "auftrag.eingegangen", "versuch.gescheitert", "fehlgeschlagen")
	s.erpKnows(ctx, s.entsperrung, "auftrag.eingegangen", "ausgefuehrt")
	s.erpKnows(ctx, s.withdrawn, "auftrag.eingegangen", "storniert")
	s.erpKnows(ctx, s.late, "auftrag.eingegangen", "ausfuehrung.ueberfaellig", "ausgefuehrt", "iftsta.ausstehend")
	s.erpKnows(ctx, s.operator, "auftrag.eingegangen", "ausgefuehrt")
	s.erpKnows(ctx, s.replayed, "auftrag.eingegangen", "ausgefuehrt")
	s.tellDeliveries()
	// It is written down a moment after the ERP has taken it.
	s.await(ctx, "the outbox is empty", func() bool { return len(s.waiting(ctx)) == 0 })
	s.tellOutbox(ctx, nil)
}
