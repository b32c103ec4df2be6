package sperr

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"sperrd/internal/makod/makodtest"
)

var oddValues = []string{"infinity", "-infinity", "0044-03-15 BC", "12000-01-01"}

// Whatever column is odd, the Lieferant is told if the moment to tell of is one, and the
// odd value stays.
func TestAnOutcomeWithAnOddColumnIsSentAndListed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ids := b.backlog(t, len(datedColumns)*len(oddValues))
	type odd struct {
		datedColumn
		value string
	}
	rows := map[uuid.UUID]odd{}
	sent := map[uuid.UUID]int{}
	for i, id := range ids {
		row := odd{datedColumns[i/len(oddValues)], oddValues[i%len(oddValues)]}
		b.exec(t, `UPDATE sperr_orders SET `+row.name+` = '`+row.value+`' WHERE id = $1`, id)
		rows[id], sent[id] = row, 1
		never := row.value == "infinity" || row.value == "12000-01-01"
		if row.name == "executed_at" || row.name == "iftsta_dispatched_at" || row.name == "iftsta_next_attempt_at" && never {
			sent[id] = 0
		}
	}
	listed, more, err := b.repo.ListOutstanding(t.Context(), IFTSTAFilter{}, 1000)
	if err != nil || more || len(listed) != len(ids)-len(oddValues) {
		t.Errorf("%d outcomes are listed, %v, want all but those that count as dispatched", len(listed), err)
	}
	b.scanAll(t)
	drain(t, b.worker())
	for id, row := range rows {
		if n := len(b.requestsFor(id)); n != sent[id] {
			t.Errorf("%s = %s: sent %d times, want %d", row.name, row.value, n, sent[id])
		}
		if row.name == "iftsta_next_attempt_at" || row.name == "updated_at" && sent[id] == 1 || row.name == "iftsta_escalated_at" {
			continue
		}
		if !column[bool](t, b.pool, `SELECT `+row.name+` = '`+row.value+`' FROM sperr_orders WHERE id = $1`, id)[0] {
			t.Errorf("%s = %s is gone", row.name, row.value)
		}
	}
	if n := column[int](t, b.pool, `SELECT count(*)::int FROM sperr_orders WHERE warnungen <> '{}'`)[0]; n != 0 {
		t.Errorf("a warning was written to %d orders", n)
	}
}

// An order executed at no moment cannot be reported. It must not wait for ever unseen.
func TestAnOutcomeThatNoCommandCanCarryIsStuckInTheEnd(t *testing.T) {
	t.Parallel()
	for _, value := range oddValues {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			id := b.backlog(t, 1)[0]
			b.exec(t, `UPDATE sperr_orders SET iftsta_faellig_am = NULL, executed_at = '`+value+`'`)
			if advice := text(b.get(t, id).IFTSTAEmpfehlung); !strings.Contains(advice, "set it by SQL") {
				t.Errorf("before the first attempt the advice is %q", advice)
			}
			for range testMaxAttempts {
				drain(t, b.worker())
				b.due(t)
			}
			b.scanAll(t)
			o := b.get(t, id)
			if !o.SpentIFTSTA(testMaxAttempts) || !strings.Contains(text(o.IFTSTALastError), "executed_at") || !strings.Contains(text(o.IFTSTAEmpfehlung), "reset the order") {
				t.Errorf("attempts %d, error %q, advice %q", o.IFTSTAAttempts, text(o.IFTSTALastError), text(o.IFTSTAEmpfehlung))
			}
			if stats, err := b.repo.Stats(t.Context(), statsDay); err != nil || stats.IFTSTAStuck != 1 {
				t.Errorf("stats %+v, %v", stats, err)
			}
			if n, _, _, lastError := b.ausstehend(t, id); n != 1 || !strings.Contains(lastError, "executed_at") {
				t.Errorf("announced %d times, last error %q", n, lastError)
			}
			if n := len(b.requestsFor(id)); n != 0 {
				t.Fatalf("%d commands were sent", n)
			}
			b.exec(t, `UPDATE sperr_orders SET executed_at = $1`, testNow.Add(-time.Hour))
			if _, err := b.service.ResetIFTSTA(t.Context(), Call{Actor: "operator"}, id, "mended"); err != nil {
				t.Fatal(err)
			}
			drain(t, b.worker())
			if all := b.makod.IFTSTA(); len(all) != 1 || !all[0].Fertigstellung.Equal(testNow.Add(-time.Hour)) {
				t.Errorf("after the repair makod has %+v", all)
			}
		})
	}
}

// The moment of a visit in vain is no part of its report.
func TestAFailedOutcomeIsSentWhateverItsExecutedAtHolds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.backlog(t, 1)[0]
	b.exec(t, `UPDATE sperr_orders SET status = 'failed', fail_reason = 'zu', pruefschritt_code = 'A01', executed_at = 'infinity'`)
	drain(t, b.worker())
	if o := b.get(t, id); o.IFTSTADispatchedAt == nil || !hasWarning(o, "executed_at holds infinity") {
		t.Errorf("dispatched at %v, warnings %q", o.IFTSTADispatchedAt, o.Warnungen)
	}
}

func TestAnAttemptThatIsNeverDueIsStuckAtOnce(t *testing.T) {
	t.Parallel()
	for _, flying := range []bool{false, true} {
		for _, value := range []string{"infinity", "12000-01-01"} {
			t.Run(value, func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				id := b.backlog(t, 1)[0]
				b.exec(t, `UPDATE sperr_orders SET iftsta_faellig_am = NULL, iftsta_in_flight = $1, iftsta_next_attempt_at = '`+value+`'`, flying)
				o := b.get(t, id)
				if !o.SpentIFTSTA(testMaxAttempts) || o.IFTSTAInFlight || !strings.Contains(text(o.IFTSTAEmpfehlung), "set it to now() by SQL") {
					t.Errorf("in flight %v, advice %q", o.IFTSTAInFlight, text(o.IFTSTAEmpfehlung))
				}
				if stuck, _, err := b.repo.ListOutstanding(t.Context(), IFTSTAFilter{Stuck: true}, 10); err != nil || len(stuck) != 1 {
					t.Errorf("%d are stuck, %v", len(stuck), err)
				}
				if stats, err := b.repo.Stats(t.Context(), statsDay); err != nil || stats.IFTSTAStuck != 1 {
					t.Errorf("stats %+v, %v", stats, err)
				}
				b.scanAll(t)
				if n, _, _, _ := b.ausstehend(t, id); n != 1 {
					t.Errorf("announced %d times", n)
				}
				if reset, err := b.service.ResetAll(t.Context(), "operator", "", IFTSTAFilter{Stuck: true}); err != nil || len(reset) != 1 {
					t.Errorf("%d are reset, %v", len(reset), err)
				}
				drain(t, b.worker())
				if o := b.get(t, id); o.IFTSTADispatchedAt == nil {
					t.Errorf("after the reset: %+v", o)
				}
			})
		}
	}
}

func TestAnOddDispatchCountsAsOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.backlog(t, 1)[0]
	b.exec(t, `UPDATE sperr_orders SET iftsta_dispatched_at = 'infinity', iftsta_attempts = 8, iftsta_last_error = 'x'`)
	o := b.get(t, id)
	if o.OutstandingIFTSTA() || o.IFTSTAEmpfehlung != nil || !hasWarning(o, "the outcome counts as dispatched") {
		t.Errorf("outstanding %v, advice %v, warnings %q", o.OutstandingIFTSTA(), o.IFTSTAEmpfehlung, o.Warnungen)
	}
	if stats, err := b.repo.Stats(t.Context(), statsDay); err != nil || stats.IFTSTAOutstanding != 0 {
		t.Errorf("stats %+v, %v", stats, err)
	}
	_, err := b.service.ResetIFTSTA(t.Context(), Call{Actor: "operator"}, id, "")
	if err == nil || !strings.Contains(err.Error(), "counts as dispatched") {
		t.Errorf("reset: %v", err)
	}
}

// What is read with its odd values in place of none is written by nobody.
func TestTheWarningOfAnOddValueIsDerivedEachTime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	b.exec(t, `UPDATE sperr_orders SET fruehestens_am = 'infinity'`)
	b.makod.FailNext(1, makodtest.ProcessNotFound())
	old := testNow.AddDate(0, -2, 0).Format(time.RFC3339)
	result, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{ExecutedAt: &old})
	if err != nil || !hasWarning(result.Order, "fruehestens_am holds infinity") || !hasWarning(result.Order, "more than 30 days") {
		t.Fatalf("warnings %q, %v", result.Order.Warnungen, err)
	}
	stored := column[[]string](t, b.pool, `SELECT warnungen FROM sperr_orders`)[0]
	for _, w := range stored {
		if strings.Contains(w, "holds") {
			t.Errorf("stored: %q", w)
		}
	}
	if len(stored) != len(result.Order.Warnungen)-1 {
		t.Errorf("stored %q of %q", stored, result.Order.Warnungen)
	}
	b.exec(t, `UPDATE sperr_orders SET fruehestens_am = '2026-09-01'`)
	if o := b.get(t, order.ID); hasWarning(o, "holds") {
		t.Errorf("after the repair: %q", o.Warnungen)
	}
}

func TestAHistoryWithAnOddMomentIsRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	for _, at := range oddValues {
		b.exec(t, `INSERT INTO sperr_order_history (tenant, order_id, at, actor, action, to_status) VALUES ($1, $2, '`+at+`', 'sql', 'note', 'pending')`, testTenant, order.ID)
	}
	if entries, err := b.repo.History(t.Context(), order.ID); err != nil || len(entries) != 1+len(oddValues) {
		t.Errorf("%d lines, %v", len(entries), err)
	}
}
