package sperr

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"sperrd/internal/postgres/postgrestest"
)

const otherTenant = "9900000000002"

// statsDay is the Berlin day of testNow.
var statsDay = day("2026-09-03")

// countEveryOrder is what Stats has to say, counted the plain way over all orders.
const countEveryOrder = `
	SELECT
		count(*) AS total,
		count(*) FILTER (WHERE status = 'pending') AS pending,
		count(*) FILTER (WHERE status = 'executed') AS executed,
		count(*) FILTER (WHERE status = 'failed') AS failed,
		count(*) FILTER (WHERE status = 'cancelled') AS cancelled,
		count(*) FILTER (WHERE status = 'pending' AND COALESCE(ausfuehrung_am, fruehestens_am) < $2::date) AS overdue_pending,
		count(*) FILTER (WHERE status = 'pending' AND ausfuehrung_am < $2::date) AS fixtermin_verpasst,
		count(*) FILTER (WHERE status = 'pending' AND ausfuehrung_faellig_am < $2::date) AS frist_ueberschritten,
		count(*) FILTER (WHERE owed) AS iftsta_outstanding,
		count(*) FILTER (WHERE owed AND iftsta_faellig_am < $2::date) AS iftsta_ueberfaellig,
		count(*) FILTER (WHERE owed AND iftsta_attempts >= $3) AS iftsta_stuck,
		count(*) FILTER (WHERE vorlauffrist_eingehalten = false) AS vorlauffrist_verletzt,
		0::bigint AS webhook_rejects_offen
	FROM (SELECT *, status IN ('executed', 'failed') AND process_id IS NOT NULL AND iftsta_dispatched_at IS NULL AS owed
		FROM sperr_orders WHERE tenant = $1) AS orders`

// checkStats compares Stats with the plain count, both in one snapshot.
func checkStats(ctx context.Context, b *bench) error {
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return pgx.BeginTxFunc(ctx, b.pool, snapshot, func(tx pgx.Tx) error {
		got, err := b.repo.stats(ctx, tx, statsDay)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, countEveryOrder, b.repo.tenant, statsDay, testMaxAttempts)
		if err != nil {
			return err
		}
		want, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Stats])
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("stats of %s (-counted +got):\n%s", b.repo.tenant, diff)
		}
		return nil
	})
}

func fold(ctx context.Context, b *bench) error {
	return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error { return b.repo.foldTotals(ctx, tx) })
}

// totals are the rows of the tenant's totals, as text.
func (b *bench) totals(t *testing.T) []string {
	t.Helper()
	return column[string](t, b.pool, `SELECT format('%s %s %s', status, vorlauffrist_verletzt, n)
		FROM sperr_order_totals WHERE tenant = $1 ORDER BY status, vorlauffrist_verletzt, id`, b.repo.tenant)
}

// insertOrder is an order with the guide's columns alone, which the CHECKs let have
// any status.
const insertOrder = `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, executed_at, fail_reason, status, vorlauffrist_eingehalten)
	VALUES ($1, '51238696012', '9900012345678', 'sperrung', now(), 'r', $2, $3)`

func TestTotalsFollowEveryChangeOfAnOrder(t *testing.T) {
	t.Parallel()
	pool := postgrestest.New(t)
	b, other := newBenchOn(t, pool, testTenant), newBenchOn(t, pool, otherTenant)
	b.forgetHistory(t)
	b.exec(t, insertOrder, testTenant, "pending", nil)
	const set = `UPDATE sperr_orders SET `
	for _, step := range []struct {
		name, sql string
		want      Stats
		rows      int // in the totals of all tenants: none is appended for what changes no total
	}{
		{"a verdict on a pending order", set + `vorlauffrist_eingehalten = false`, Stats{Total: 1, Pending: 1, VorlauffristVerletzt: 1}, 0},
		{"closed: the verdict counts once", set + `status = 'executed'`, Stats{Total: 1, Executed: 1, VorlauffristVerletzt: 1}, 1},
		{"nothing that counts", set + `hinweis = 'x', iftsta_attempts = 3, status = status`, Stats{Total: 1, Executed: 1, VorlauffristVerletzt: 1}, 1},
		{"another verdict", set + `vorlauffrist_eingehalten = true`, Stats{Total: 1, Executed: 1}, 3},
		{"no verdict", set + `vorlauffrist_eingehalten = NULL`, Stats{Total: 1, Executed: 1}, 3},
		{"the verdict again", set + `vorlauffrist_eingehalten = false`, Stats{Total: 1, Executed: 1, VorlauffristVerletzt: 1}, 5},
		{"another outcome", set + `status = 'failed'`, Stats{Total: 1, Failed: 1, VorlauffristVerletzt: 1}, 7},
		{"another tenant", set + `tenant = '` + otherTenant + `'`, Stats{}, 9},
		{"the first tenant", set + `tenant = '` + testTenant + `'`, Stats{Total: 1, Failed: 1, VorlauffristVerletzt: 1}, 11},
		{"open again", set + `status = 'pending'`, Stats{Total: 1, Pending: 1, VorlauffristVerletzt: 1}, 12},
		{"pending, another tenant", set + `tenant = '` + otherTenant + `'`, Stats{}, 12},
		{"closed on the way back", set + `tenant = '` + testTenant + `', status = 'cancelled'`, Stats{Total: 1, Cancelled: 1, VorlauffristVerletzt: 1}, 13},
		{"deleted", `DELETE FROM sperr_orders`, Stats{}, 14},
	} {
		b.exec(t, step.sql)
		got, err := b.repo.Stats(t.Context(), statsDay)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s: stats (-want +got):\n%s", step.name, diff)
		}
		if err := checkStats(t.Context(), other); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		if n := column[int](t, pool, `SELECT count(*) FROM sperr_order_totals`)[0]; n != step.rows {
			t.Errorf("%s: %d rows of totals, want %d", step.name, n, step.rows)
		}
	}
}

func TestTotalsCountAnOrderThatIsInsertedClosed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, status := range []string{"pending", "executed", "failed", "cancelled"} {
		b.exec(t, insertOrder, testTenant, status, false)
	}
	if diff := cmp.Diff([]string{"cancelled t 1", "executed t 1", "failed t 1"}, b.totals(t)); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
	if err := checkStats(t.Context(), b); err != nil {
		t.Error(err)
	}
}

func TestTotalsSeeWhatAnotherTriggerChanges(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(t, insertOrder, testTenant, "pending", nil)
	b.exec(t, `CREATE FUNCTION close_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.status := 'executed'; RETURN NEW; END $$`)
	b.exec(t, `CREATE TRIGGER close_it BEFORE UPDATE OF hinweis ON sperr_orders FOR EACH ROW EXECUTE FUNCTION close_it()`)
	b.exec(t, `UPDATE sperr_orders SET hinweis = 'x'`)
	if err := checkStats(t.Context(), b); err != nil {
		t.Error(err)
	}
}

func TestTotalsGoWithTruncatedOrders(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(t, insertOrder, testTenant, "executed", nil)
	for _, sql := range []string{`TRUNCATE sperr_orders`, `TRUNCATE sperr_orders CASCADE`} {
		if _, err := b.pool.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s succeeds beside the history's guard", sql)
		}
	}
	b.exec(t, `ALTER TABLE sperr_order_history DISABLE TRIGGER sperr_order_history_append_only`)
	b.exec(t, `TRUNCATE sperr_orders CASCADE`)
	if err := checkStats(t.Context(), b); err != nil {
		t.Error(err)
	}
}

func TestAFoldLeavesOneRowForEachStatusAndVerdict(t *testing.T) {
	t.Parallel()
	pool := postgrestest.New(t)
	b, other := newBenchOn(t, pool, testTenant), newBenchOn(t, pool, otherTenant)
	for range 3 {
		b.exec(t, insertOrder, testTenant, "executed", false)
		b.exec(t, insertOrder, testTenant, "executed", true)
		b.exec(t, insertOrder, testTenant, "cancelled", nil)
		b.exec(t, insertOrder, otherTenant, "failed", nil)
	}
	b.forgetHistory(t)
	b.exec(t, `DELETE FROM sperr_orders WHERE status = 'cancelled'`)
	b.exec(t, insertOrder, testTenant, "failed", nil)
	if err := fold(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"executed f 3", "executed t 3", "failed f 1"}, b.totals(t)); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"failed f 1", "failed f 1", "failed f 1"}, other.totals(t)); diff != "" {
		t.Errorf("totals of the other tenant (-want +got):\n%s", diff)
	}
	const ids = `SELECT id FROM sperr_order_totals ORDER BY id`
	before := column[int64](t, pool, ids)
	if err := fold(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, column[int64](t, pool, ids)); diff != "" {
		t.Errorf("a fold of what is folded writes rows anew (-before +after):\n%s", diff)
	}
}

func TestAFoldIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(t, `INSERT INTO sperr_order_totals (tenant, status, order_type, vorlauffrist_verletzt, n)
		SELECT $1, 'executed', 'sperrung', false, 1 FROM generate_series(1, $2)`, testTenant, foldLimit+5)
	for _, want := range [][]string{
		{"executed f 1", "executed f 1", "executed f 1", "executed f 1", "executed f 1", fmt.Sprint("executed f ", foldLimit)},
		{fmt.Sprint("executed f ", foldLimit+5)},
	} {
		if err := fold(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, b.totals(t)); diff != "" {
			t.Errorf("totals (-want +got):\n%s", diff)
		}
	}
}

func TestAFoldWaitsForNobody(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Rollback(context.Background()) }()
	b.exec(t, insertOrder, testTenant, "executed", nil)
	b.exec(t, insertOrder, testTenant, "executed", nil)
	if err := b.repo.foldTotals(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	b.exec(t, insertOrder, testTenant, "executed", nil)
	b.exec(t, insertOrder, testTenant, "executed", nil)
	if err := fold(t.Context(), b); err != nil {
		t.Fatalf("a fold beside another: %v", err)
	}
	if diff := cmp.Diff([]string{"executed f 1", "executed f 1", "executed f 2"}, b.totals(t)); diff != "" {
		t.Errorf("totals beside a fold under way (-want +got):\n%s", diff)
	}
	if err := first.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"executed f 2", "executed f 2"}, b.totals(t)); diff != "" {
		t.Errorf("totals after both folds (-want +got):\n%s", diff)
	}
}

// changes are what humans and programs may do to orders by SQL, to a few at a time;
// locked ones are passed over, so that no two of them deadlock.
var changes = []string{
	`status = (ARRAY['pending', 'executed', 'failed', 'cancelled'])[1 + floor(random() * 4)::int]`,
	`status = 'executed', vorlauffrist_eingehalten = NOT vorlauffrist_eingehalten`,
	`vorlauffrist_eingehalten = (ARRAY[true, false, NULL])[1 + floor(random() * 3)::int]`,
	`tenant = CASE tenant WHEN '` + testTenant + `' THEN '` + otherTenant + `' ELSE '` + testTenant + `' END`,
	`process_id = gen_random_uuid(), iftsta_attempts = 8, iftsta_faellig_am = '2026-09-01', ausfuehrung_am = '2026-09-01'`,
}

const someOrders = ` WHERE id IN (SELECT o.id FROM sperr_orders o
	WHERE executed_at IS NOT NULL AND fail_reason IS NOT NULL
	  AND NOT EXISTS (SELECT FROM sperr_order_history h WHERE h.order_id = o.id)
	ORDER BY random() LIMIT 3 FOR UPDATE OF o SKIP LOCKED)`

// changeOrders does one thing to the orders of two tenants, chosen at random.
func changeOrders(ctx context.Context, b *bench, random *rand.Rand) error {
	statuses := []string{"pending", "executed", "failed", "cancelled"}
	switch random.IntN(5) {
	case 0:
		var batch pgx.Batch
		for range 4 {
			batch.Queue(insertOrder, testTenant, statuses[random.IntN(4)], random.IntN(2) == 0)
		}
		return b.pool.SendBatch(ctx, &batch).Close()
	case 1:
		return useService(ctx, b, random)
	case 2:
		_, err := b.pool.Exec(ctx, `DELETE FROM sperr_orders`+someOrders)
		return err
	}
	undone := errors.New("undone")
	err := pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE sperr_orders SET `+changes[random.IntN(len(changes))]+someOrders)
		if err == nil && random.IntN(5) == 0 {
			return undone
		}
		return err
	})
	if errors.Is(err, undone) {
		return nil
	}
	return err
}

// useService takes an order from its arrival to one of its ends, or leaves it open.
func useService(ctx context.Context, b *bench, random *rand.Rand) error {
	// Its Marktlokation has no orders of insertOrder: those would be warned of it, and what
	// has a history is never deleted.
	created, err := b.service.Create(ctx, Call{Actor: "operator"}, NewOrder{MaloID: otherMalo, LieferantID: testLF, OrderType: "sperrung"})
	if err != nil {
		return err
	}
	switch random.IntN(4) {
	case 0:
		return second(b.service.Execute(ctx, Call{Actor: "field"}, created.Order.ID, ExecuteReport{}))
	case 1:
		return second(b.service.Fail(ctx, Call{Actor: "field"}, created.Order.ID, FailReport{Reason: "x", Endgueltig: true}))
	case 2:
		return second(b.service.Cancel(ctx, Call{Actor: "operator"}, created.Order.ID, ""))
	}
	return nil
}

func TestStatsAreExactAtEveryMoment(t *testing.T) {
	t.Parallel()
	pool := postgrestest.New(t)
	benches := []*bench{newBenchOn(t, pool, testTenant), newBenchOn(t, pool, otherTenant)}
	seed := rand.Uint64()
	t.Log("seed ", seed)

	writers, ctx := errgroup.WithContext(t.Context())
	for i := range uint64(3) {
		random := rand.New(rand.NewPCG(seed, i))
		writers.Go(func() error {
			for range 150 {
				if err := changeOrders(ctx, benches[0], random); err != nil {
					return err
				}
			}
			return nil
		})
	}
	written := make(chan struct{})
	var beside errgroup.Group
	for range 2 {
		for _, act := range []func(context.Context, *bench) error{fold, checkStats} {
			beside.Go(func() error { return repeat(t.Context(), written, benches, act) })
		}
	}
	if err := writers.Wait(); err != nil {
		t.Error(err)
	}
	close(written)
	if err := beside.Wait(); err != nil {
		t.Error(err)
	}
	for _, b := range benches {
		if err := errors.Join(fold(t.Context(), b), checkStats(t.Context(), b)); err != nil {
			t.Error(err)
		}
		// A tenant may have no closed order left at all.
		closed := column[int](t, b.pool, `SELECT count(DISTINCT (status, COALESCE(NOT vorlauffrist_eingehalten, false)))::int
			FROM sperr_orders WHERE tenant = $1 AND status <> 'pending'`, b.repo.tenant)[0]
		if rows := b.totals(t); len(rows) != closed {
			t.Errorf("totals %v after the last fold, want one for each of %d statuses and verdicts", rows, closed)
		}
	}
}

// repeat acts on each bench in turn until done is closed.
func repeat(ctx context.Context, done <-chan struct{}, benches []*bench, act func(context.Context, *bench) error) error {
	for {
		for _, b := range benches {
			if err := act(ctx, b); err != nil {
				return err
			}
		}
		select {
		case <-done:
			return nil
		default:
		}
	}
}
