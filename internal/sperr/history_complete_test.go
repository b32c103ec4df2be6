package sperr

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"sperrd/internal/makod/makodtest"
)

// state is what of an order no change may leave without a line.
type state struct {
	Status     Status
	Visits     int
	Dispatched bool
	Resets     int
}

func (b *bench) states(t *testing.T) map[uuid.UUID]state {
	t.Helper()
	rows, err := b.pool.Query(t.Context(), `SELECT id, status, sperrversuche, iftsta_dispatched_at IS NOT NULL, iftsta_resets FROM sperr_orders`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	states := map[uuid.UUID]state{}
	for rows.Next() {
		var id uuid.UUID
		var s state
		if err := rows.Scan(&id, &s.Status, &s.Visits, &s.Dispatched, &s.Resets); err != nil {
			t.Fatal(err)
		}
		states[id] = s
	}
	return states
}

// changesOf are the lines that the states before and after a step owe, as "action from to".
func changesOf(before, after state, existed bool) (owed []string) {
	line := func(action string, from, to Status) { owed = append(owed, fmt.Sprintf("%s %s %s", action, from, to)) }
	switch {
	case !existed:
		line("*", "", after.Status)
	case before.Status != after.Status:
		line("*", before.Status, after.Status)
	case before.Visits != after.Visits:
		line("*", before.Status, after.Status)
	}
	if after.Resets != before.Resets && existed {
		line("iftsta_reset", after.Status, after.Status)
	}
	if existed && before.Dispatched != after.Dispatched {
		line("*", after.Status, after.Status)
	}
	return owed
}

// marks are the actions that stand for a change of state.
var marks = map[string]bool{
	actionCreated: true, actionExecuted: true, actionFailed: true, actionCancelled: true, actionVisitFailed: true,
	actionIFTSTADispatched: true, "iftsta_reset": true, "changed_by_sql": true,
}

// steps of a walk: what the service does, and what somebody does in psql.
func (b *bench) historySteps(t *testing.T, r *rand.Rand) []func(id uuid.UUID) {
	t.Helper()
	ctx, call, received := context.Background(), Call{Actor: "team"}, 0
	a02, a08 := "A02", "A08"
	statement := func(sql string) func(uuid.UUID) {
		return func(id uuid.UUID) { _, _ = b.pool.Exec(ctx, sql, id) } // a CHECK may refuse it
	}
	return []func(uuid.UUID){
		func(uuid.UUID) { received++; b.receive(t, pidSperrauftrag, maloWith(received)) },
		func(uuid.UUID) {
			_, _ = b.service.Create(ctx, call, NewOrder{MaloID: otherMalo, LieferantID: testLF, OrderType: "entsperrung"})
		},
		func(id uuid.UUID) { _, _ = b.service.Execute(ctx, call, id, ExecuteReport{}) },
		func(id uuid.UUID) {
			_, _ = b.service.Fail(ctx, call, id, FailReport{Reason: "r", PruefschrittCode: &a08})
		},
		func(id uuid.UUID) {
			_, _ = b.service.Fail(ctx, call, id, FailReport{Reason: "r", PruefschrittCode: &a02, Endgueltig: true})
		},
		func(id uuid.UUID) { _, _ = b.service.Cancel(ctx, call, id, "") },
		func(id uuid.UUID) { _, _ = b.service.ResetIFTSTA(ctx, call, id, "why") },
		func(uuid.UUID) { b.due(t); drain(t, b.worker()) },
		func(uuid.UUID) {
			if b.makod.ClearFaults(); r.IntN(2) == 0 {
				b.makod.FailNext(makodtest.UntilCleared, makodtest.ProcessNotFound())
			}
		},
		statement(`UPDATE sperr_orders SET status = 'executed', executed_at = now() WHERE id = $1`),
		statement(`UPDATE sperr_orders SET status = 'pending', sperrversuche = 0 WHERE id = $1`),
		statement(`UPDATE sperr_orders SET sperrversuche = 2 - sperrversuche WHERE id = $1`),
		statement(`UPDATE sperr_orders SET iftsta_dispatched_at = CASE WHEN iftsta_dispatched_at IS NULL THEN now() END WHERE id = $1`),
		statement(`UPDATE sperr_orders SET iftsta_attempts = 0 WHERE id = $1`),
		statement(`UPDATE sperr_orders SET hinweis = 'x', warnungen = warnungen || 'y'::text WHERE id = $1`),
		func(uuid.UUID) {
			b.exec(t, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type) VALUES ($1, $2, $3, 'sperrung')`, testTenant, testMalo, testLF)
		},
	}
}

// The states are read before and after each step by themselves, and compared with the lines
// that the step has added: each difference has one, and nothing else has any.
func TestNoStateOfAnOrderChangesWithoutItsLine(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	steps := b.historySteps(t, r)
	b.receive(t, pidSperrauftrag, testMalo)
	before, lines := b.states(t), int64(column[int](t, b.pool, `SELECT max(id)::int FROM sperr_order_history`)[0])
	for n := range 400 {
		ids := make([]uuid.UUID, 0, len(before))
		for id := range before {
			ids = append(ids, id)
		}
		step := r.IntN(len(steps))
		steps[step](ids[r.IntN(len(ids))])
		after := b.states(t)
		owed := map[uuid.UUID][]string{}
		for id, now := range after {
			was, existed := before[id]
			if changes := changesOf(was, now, existed); changes != nil {
				owed[id] = changes
			}
		}
		got := map[uuid.UUID][]string{}
		rows := column[string](t, b.pool, `SELECT id || ' ' || order_id || ' ' || action || ' ' || COALESCE(from_status, '') || ' ' || to_status
			FROM sperr_order_history WHERE id > $1 ORDER BY id`, lines)
		for _, row := range rows {
			part := strings.SplitN(row, " ", 5)
			if _, err := fmt.Sscan(part[0], &lines); err != nil {
				t.Fatal(err)
			}
			if marks[part[2]] {
				action := "*"
				if part[2] == "iftsta_reset" {
					action = part[2]
				}
				id := uuid.MustParse(part[1])
				got[id] = append(got[id], action+" "+part[3]+" "+part[4])
			}
		}
		if !sameLines(owed, got, before, after) {
			t.Fatalf("seed %d, step %d of kind %d (-owed +got):\n%s", seed, n, step, cmp.Diff(owed, got))
		}
		before = after
	}
}

// sameLines compares what is owed with what there is. A step that closes an order and gets its
// outcome to makod has a line for each, of which the states show one status and a dispatch.
func sameLines(owed, got map[uuid.UUID][]string, before, after map[uuid.UUID]state) bool {
	for id, lines := range got {
		if _, known := owed[id]; !known && len(lines) > 0 {
			return false
		}
	}
	for id, lines := range owed {
		if was, existed := before[id]; existed && was.Status != after[id].Status && was.Dispatched != after[id].Dispatched {
			lines = []string{lines[0], fmt.Sprintf("* %s %s", after[id].Status, after[id].Status)}
		}
		if len(lines) != len(got[id]) {
			return false
		}
		for i, line := range lines {
			if got[id][i] != line {
				return false
			}
		}
	}
	return true
}

func TestHistoryNamesWhoChangedAnOrderInSQL(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.receive(t, pidSperrauftrag, testMalo).ID
	b.exec(t, `UPDATE sperr_orders SET status = 'executed', executed_at = now(), sperrversuche = 1, iftsta_dispatched_at = now() WHERE id = $1`, id)
	history, err := b.repo.History(t.Context(), id)
	if err != nil || len(history) != 2 {
		t.Fatalf("history %v, %v", history, err)
	}
	line := history[1]
	var detail struct{ Columns []string }
	if err := json.Unmarshal(line.Detail, &detail); err != nil {
		t.Fatal(err)
	}
	if line.Actor != "sql:sperrd" || line.Action != "changed_by_sql" || *line.From != StatusPending || line.To != StatusExecuted ||
		cmp.Diff([]string{"status", "sperrversuche", "iftsta_dispatched_at"}, detail.Columns) != "" {
		t.Errorf("line %+v, columns %v", line, detail.Columns)
	}
}

func TestHistoryIsAppendOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.receive(t, pidSperrauftrag, testMalo).ID
	for _, sql := range []string{
		`UPDATE sperr_order_history SET actor = 'x'`, `DELETE FROM sperr_order_history`, `TRUNCATE sperr_order_history`,
		`DELETE FROM sperr_orders`, `TRUNCATE sperr_orders CASCADE`,
	} {
		if _, err := b.pool.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s works", sql)
		}
	}
	if actions := b.actions(t, id); len(actions) != 1 {
		t.Errorf("history %v", actions)
	}
}

func TestHistoryHasALineForEachAttemptThatCountsAndNoneOfMakodsWords(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	b.makod.FailNext(1, makodtest.ProcessNotFound())
	if _, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{}); err != nil {
		t.Fatal(err)
	}
	b.makod.FailNext(1, makodtest.RateLimited()) // gives the attempt back
	b.due(t)
	drain(t, b.worker())
	history, err := b.repo.History(t.Context(), order.ID)
	if err != nil || len(history) != 3 || history[2].Action != actionIFTSTANotTaken {
		t.Fatalf("history %v, %v", history, err)
	}
	if want := `{"code": "process_not_found", "unklar": false, "attempt": 1}`; string(history[2].Detail) != want || history[2].TransactionID == nil {
		t.Errorf("detail %s, want %s", history[2].Detail, want)
	}
}
