package sperr

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/makod/makodtest"
)

// state is what of an order no change may leave without a line.
type state struct {
	Status     Status
	Visits     int
	Dispatched bool
	Resets     int
	Facts      string // what the market and the field team said, as one hash
}

// counted are the columns that the service counts and schedules by itself.
const counted = `'{updated_at,warnungen,marktdaten,iftsta_attempts,iftsta_resets,iftsta_last_error,iftsta_last_code,iftsta_unklar,iftsta_in_flight,
	iftsta_next_attempt_at,iftsta_escalated_at,iftsta_frist_gemeldet,iftsta_transaktion,ausfuehrung_eskaliert_at,
	letzter_versuch_transaktion,abschluss_transaktion,abschluss_traceparent}'::text[]`

func (b *bench) states(t *testing.T) map[uuid.UUID]state {
	t.Helper()
	rows, err := b.pool.Query(t.Context(), `SELECT id, status, sperrversuche, iftsta_dispatched_at IS NOT NULL, iftsta_resets,
		md5((to_jsonb(o) - `+counted+`)::text) FROM sperr_orders o`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	states := map[uuid.UUID]state{}
	for rows.Next() {
		var id uuid.UUID
		var s state
		if err := rows.Scan(&id, &s.Status, &s.Visits, &s.Dispatched, &s.Resets, &s.Facts); err != nil {
			t.Fatal(err)
		}
		states[id] = s
	}
	return states
}

// owedBy are the lines that a step owes for what it has made of an order, in their order. A
// statement in psql has one for all that it changes, and one for a reset beside it.
func owedBy(before, after state, existed, bySQL bool) (owed []string) {
	line := func(action string, from, to Status) { owed = append(owed, fmt.Sprintf("%s %s %s", action, from, to)) }
	reset := existed && after.Resets != before.Resets
	before.Resets = after.Resets
	switch {
	case bySQL:
		if reset {
			line("iftsta_reset", before.Status, after.Status)
		}
		if before != after {
			line("changed_by_sql", before.Status, after.Status)
		}
		return owed
	case !existed:
		line(actionCreated, "", after.Status)
	case before.Status != after.Status:
		line(string(after.Status), before.Status, after.Status)
	case before.Visits != after.Visits:
		line(actionVisitFailed, before.Status, after.Status)
	case reset:
		line("iftsta_reset", after.Status, after.Status)
	}
	if before.Dispatched != after.Dispatched {
		line(actionIFTSTADispatched, after.Status, after.Status)
	}
	if len(owed) == 0 && before.Facts != after.Facts {
		line("a line for the facts", after.Status, after.Status)
	}
	return owed
}

// marks are the actions that stand for a change of state.
var marks = map[string]bool{
	actionCreated: true, actionExecuted: true, actionFailed: true, actionCancelled: true, actionVisitFailed: true,
	actionIFTSTADispatched: true, "iftsta_reset": true, "changed_by_sql": true,
}

// historyStep is what the service does, or somebody in psql.
type historyStep struct {
	name  string
	bySQL bool
	do    func(id uuid.UUID)
}

func (b *bench) historySteps(t *testing.T, r *rand.Rand) []historyStep {
	t.Helper()
	ctx, call, received := context.Background(), Call{Actor: "team"}, 0
	a02, a08 := "A02", "A08"
	steps := []historyStep{
		{"receive", false, func(uuid.UUID) { received++; b.receive(t, pidSperrauftrag, maloWith(received)) }},
		{"create", false, func(uuid.UUID) {
			_, _ = b.service.Create(ctx, call, NewOrder{MaloID: otherMalo, LieferantID: testLF, OrderType: "entsperrung"})
		}},
		{"execute", false, func(id uuid.UUID) { _, _ = b.service.Execute(ctx, call, id, ExecuteReport{Note: "n"}) }},
		{"fail", false, func(id uuid.UUID) {
			_, _ = b.service.Fail(ctx, call, id, FailReport{Reason: "r", PruefschrittCode: &a08})
		}},
		{"fail for good", false, func(id uuid.UUID) {
			_, _ = b.service.Fail(ctx, call, id, FailReport{Reason: "r", PruefschrittCode: &a02, Endgueltig: true})
		}},
		{"cancel", false, func(id uuid.UUID) { _, _ = b.service.Cancel(ctx, call, id, "") }},
		{"reset", false, func(id uuid.UUID) { _, _ = b.service.ResetIFTSTA(ctx, call, id, "why") }},
		{"retry", false, func(uuid.UUID) { b.due(t); drain(t, b.worker()) }},
		{"makod changes", false, func(uuid.UUID) {
			if b.makod.ClearFaults(); r.IntN(2) == 0 {
				b.makod.FailNext(makodtest.UntilCleared, makodtest.ProcessNotFound())
			}
		}},
	}
	for _, set := range []string{
		`status = 'executed', executed_at = now()`,
		`status = 'pending', sperrversuche = 0`,
		`status = 'pending', iftsta_attempts = 0`, // a reset beside it
		`sperrversuche = 2 - sperrversuche`,
		`iftsta_dispatched_at = CASE WHEN iftsta_dispatched_at IS NULL THEN now() END`,
		`iftsta_attempts = 0`,
		`iftsta_attempts = 0, fail_reason = fail_reason || 'x'`,
		`hinweis = CASE WHEN hinweis IS NULL THEN 'x' END, warnungen = warnungen || 'y'::text`,
		`warnungen = warnungen || 'z'::text, iftsta_last_error = 'z'`, // nothing that counts
		`process_id = COALESCE(process_id, gen_random_uuid()::text), malo_id = malo_id`,
	} {
		steps = append(steps, historyStep{set, true, func(id uuid.UUID) {
			_, _ = b.pool.Exec(ctx, `UPDATE sperr_orders SET `+set+` WHERE id = $1`, id) // a CHECK may refuse it
		}})
	}
	return append(steps, historyStep{"insert", true, func(uuid.UUID) {
		b.exec(t, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type) VALUES ($1, $2, $3, 'sperrung')`, testTenant, testMalo, testLF)
	}})
}

// linesSince are the lines that stand for changes of state after a line, by their orders.
func (b *bench) linesSince(t *testing.T, last *int64) map[uuid.UUID][]string {
	t.Helper()
	rows, err := b.pool.Query(t.Context(), `SELECT id, order_id, action, concat_ws(' ', action, COALESCE(from_status, ''), to_status)
		FROM sperr_order_history WHERE id > $1 ORDER BY id`, *last)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[uuid.UUID][]string{}
	var order uuid.UUID
	var action, line string
	if _, err = pgx.ForEachRow(rows, []any{last, &order, &action, &line}, func() error {
		if marks[action] {
			lines[order] = append(lines[order], line)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return lines
}

// The states are read before and after each step by themselves, and compared with the lines
// that the step has added: each difference has one, by who made it, and nothing else has any.
func TestNoStateOfAnOrderChangesWithoutItsLine(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	steps := b.historySteps(t, r)
	var last int64
	before := map[uuid.UUID]state{}
	for n := range 500 {
		ids := slices.SortedFunc(maps.Keys(before), func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) })
		step := steps[0]
		if len(ids) > 0 {
			step = steps[r.IntN(len(steps))]
		} else {
			ids = []uuid.UUID{uuid.Nil}
		}
		step.do(ids[r.IntN(len(ids))])
		after, owed := b.states(t), map[uuid.UUID][]string{}
		for id, now := range after {
			was, existed := before[id]
			if lines := owedBy(was, now, existed, step.bySQL); lines != nil {
				owed[id] = lines
			}
		}
		if diff := cmp.Diff(owed, b.linesSince(t, &last)); diff != "" {
			t.Fatalf("seed %d, step %d, %s (-owed +got):\n%s", seed, n, step.name, diff)
		}
		before = after
	}
}

// Of several statements in one transaction each has its line, also where the last one undoes
// the first.
func TestEachStatementOfATransactionInSQLHasItsLine(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.receive(t, pidSperrauftrag, testMalo).ID
	err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		for _, set := range []string{
			`status = 'executed', executed_at = now()`, `status = 'pending'`, `sperrversuche = 1`, `sperrversuche = 2`,
			`status = 'executed'`, `iftsta_dispatched_at = now()`, `iftsta_dispatched_at = NULL`, `iftsta_attempts = 0`, `hinweis = 'x'`,
		} {
			if _, err := tx.Exec(t.Context(), `UPDATE sperr_orders SET `+set+` WHERE id = $1`, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := column[string](t, b.pool, `SELECT concat_ws(' ', action, from_status, to_status, detail -> 'columns') FROM sperr_order_history ORDER BY id`)
	if diff := cmp.Diff([]string{
		"created pending",
		"iftsta_reset executed executed", // at once; the others when the transaction ends
		`changed_by_sql pending executed ["status", "executed_at"]`,
		`changed_by_sql executed pending ["status"]`,
		`changed_by_sql pending pending ["sperrversuche"]`,
		`changed_by_sql pending pending ["sperrversuche"]`,
		`changed_by_sql pending executed ["status"]`,
		`changed_by_sql executed executed ["iftsta_dispatched_at"]`,
		`changed_by_sql executed executed ["iftsta_dispatched_at"]`,
		`changed_by_sql executed executed ["hinweis"]`,
	}, lines); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
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
		cmp.Diff([]string{"sperrversuche", "status", "executed_at", "iftsta_dispatched_at"}, detail.Columns) != "" {
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
