package sperr

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"sperrd/internal/postgres"
	"sperrd/internal/postgres/postgrestest"
	"sperrd/migrations"
)

// benchBeforeTotals is a bench on a schema that has no totals yet, and what brings
// it up to date. On the way it proves that the totals can be taken back.
func benchBeforeTotals(t *testing.T) (*bench, *postgres.Migrator) {
	t.Helper()
	url := postgrestest.NewURL(t)
	pool, err := postgres.Open(t.Context(), url, postgres.Options{PoolSize: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	b := newBenchOn(t, pool, testTenant)
	b.exec(t, insertOrder, testTenant, "executed", nil)
	migrator := postgres.NewMigrator(url, migrations.FS, nil)
	for column[bool](t, pool, `SELECT to_regclass('sperr_order_totals') IS NOT NULL`)[0] {
		if err := migrator.Down(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return b, migrator
}

func TestTotalsBeginWithTheOrdersThatAreThere(t *testing.T) {
	t.Parallel()
	b, migrator := benchBeforeTotals(t)
	for _, status := range []string{"pending", "executed", "failed", "cancelled"} {
		b.exec(t, insertOrder, testTenant, status, false)
		b.exec(t, insertOrder, testTenant, status, nil)
		b.exec(t, insertOrder, otherTenant, status, true)
	}
	b.exec(t, `UPDATE sperr_orders SET status = 'failed' WHERE status = 'cancelled' AND vorlauffrist_eingehalten`)
	if err := migrator.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"cancelled f 1", "cancelled t 1", "executed f 2", "executed t 1", "failed f 1", "failed t 1"}
	if diff := cmp.Diff(want, b.totals(t)); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
	other := newBenchOn(t, b.pool, otherTenant)
	if diff := cmp.Diff([]string{"executed f 1", "failed f 2"}, other.totals(t)); diff != "" {
		t.Errorf("totals of the other tenant (-want +got):\n%s", diff)
	}
}

// One order is closed but not yet committed when the migration begins, another is
// closed while it runs: by an older replica, which knows nothing of totals.
func TestTotalsMissNothingThatIsWrittenWhileTheyAreSetUp(t *testing.T) {
	t.Parallel()
	b, migrator := benchBeforeTotals(t)
	early, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = early.Rollback(context.Background()) }()
	if _, err := early.Exec(t.Context(), insertOrder, testTenant, "failed", false); err != nil {
		t.Fatal(err)
	}
	var beside errgroup.Group
	beside.Go(func() error { return migrator.Up(t.Context()) })
	b.awaitLockWaits(t, 1)
	beside.Go(func() error {
		_, err := b.pool.Exec(t.Context(), insertOrder, testTenant, "cancelled", nil)
		return err
	})
	b.awaitLockWaits(t, 2)
	if err := early.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := beside.Wait(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"cancelled f 1", "executed f 1", "failed t 1"}, b.totals(t)); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
	if err := checkStats(t.Context(), b); err != nil {
		t.Error(err)
	}
}

func TestTotalsAreSetUpBesideOneWhoReadsAndThenWrites(t *testing.T) {
	t.Parallel()
	b, migrator := benchBeforeTotals(t)
	reader, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Rollback(context.Background()) }()
	if _, err := reader.Exec(t.Context(), `SELECT FROM sperr_orders`); err != nil {
		t.Fatal(err)
	}
	var beside errgroup.Group
	beside.Go(func() error { return migrator.Up(t.Context()) })
	b.awaitLockWaits(t, 1)
	if _, err := reader.Exec(t.Context(), insertOrder, testTenant, "executed", nil); err != nil {
		t.Fatal(err)
	}
	if err := reader.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := beside.Wait(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"executed f 2"}, b.totals(t)); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
}

// awaitLockWaits returns once n sessions wait for a lock on the orders.
func (b *bench) awaitLockWaits(t *testing.T, n int) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for column[int](t, b.pool, `SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'sperr_orders'::regclass AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)[0] < n {
		if time.Now().After(deadline) {
			t.Fatalf("fewer than %d sessions wait for a lock on the orders", n)
		}
	}
}

// plan is a node of an EXPLAIN in JSON.
type plan struct {
	NodeType string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Rows     float64 `json:"Actual Rows"`
	Loops    float64 `json:"Actual Loops"`
	Removed  float64 `json:"Rows Removed by Filter"`
	Recheck  float64 `json:"Rows Removed by Index Recheck"`
	Plans    []plan  `json:"Plans"`
}

// addTo adds up, for each table and way to read it, the rows that were read.
func (p plan) addTo(read map[string]map[string]float64) {
	if p.Relation != "" {
		if read[p.Relation] == nil {
			read[p.Relation] = map[string]float64{}
		}
		read[p.Relation][p.NodeType] += (p.Rows + p.Removed + p.Recheck) * p.Loops
	}
	for _, child := range p.Plans {
		child.addTo(read)
	}
}

// rowsRead are the rows that one Stats reads: by table, then by kind of scan.
func (b *bench) rowsRead(t *testing.T) map[string]map[string]float64 {
	t.Helper()
	read := map[string]map[string]float64{}
	b.explained(t, `EXPLAIN (ANALYZE, FORMAT JSON) `+countOrders, b.repo.countArgs(statsDay)).addTo(read)
	return read
}

// explained is the plan that an EXPLAIN in JSON shows.
func (b *bench) explained(t *testing.T, sql string, args pgx.NamedArgs) plan {
	t.Helper()
	rows, err := b.pool.Query(t.Context(), sql, args)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[[]byte])
	if err != nil {
		t.Fatal(err)
	}
	var explained []struct{ Plan plan }
	if err := json.Unmarshal(raw, &explained); err != nil || len(explained) != 1 {
		t.Fatalf("EXPLAIN = %s, %v", raw, err)
	}
	return explained[0].Plan
}

// vacuum brings map and statistics of the orders up to date. A session that starts on
// another test's database at this moment can keep pages from being marked.
func (b *bench) vacuum(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		b.exec(t, `VACUUM (ANALYZE) sperr_orders, sperr_order_totals`)
		if column[bool](t, b.pool, `SELECT relallvisible = relpages FROM pg_class WHERE oid = 'sperr_orders'::regclass`)[0] {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("something keeps VACUUM from marking pages as visible to all")
		}
	}
}

// Half of the closed orders are an operator's, who owes no IFTSTA. The planner, which
// takes the conditions for independent, expects a quarter of all orders to owe one:
// only an index that holds all that is counted keeps it from reading the table.
func TestStatsReadOpenWorkWhateverIsClosed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const pending, owed = 100, 20 // among the first 5,000
	last := 0
	for _, upTo := range []int{5_000, 20_000} {
		b.exec(t, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, executed_at, fail_reason, hinweis,
				status, process_id, iftsta_dispatched_at, vorlauffrist_eingehalten)
			SELECT $1, 'm', 'l', 'sperrung', now(), 'r', repeat('x', 200),
				CASE WHEN open THEN 'pending' ELSE (ARRAY['executed', 'failed'])[1 + i % 2] END,
				CASE WHEN owed OR i % 2 = 0 THEN 'p' || i END, CASE WHEN i % 2 = 0 AND NOT owed THEN now() END, i % 3 = 0
			FROM (SELECT i, i <= 5000 AND i % 50 = 1 AS open, i <= 5000 AND i % 250 = 2 AS owed
				FROM generate_series($2::int, $3) AS i) AS orders`, testTenant, last+1, upTo)
		last = upTo
		if err := fold(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		b.vacuum(t)
		got := b.rowsRead(t)
		want := map[string]float64{"Index Only Scan": pending + owed}
		if diff := cmp.Diff(want, got["sperr_orders"]); diff != "" {
			t.Errorf("%d orders: rows read (-want +got):\n%s", upTo, diff)
		}
		for scan, n := range got["sperr_order_totals"] {
			if n > 6 {
				t.Errorf("%d orders: %v rows of totals read by %s", upTo, n, scan)
			}
		}
		if err := checkStats(t.Context(), b); err != nil {
			t.Error(err)
		}
	}
}
