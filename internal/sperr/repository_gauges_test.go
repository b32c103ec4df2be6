package sperr

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/postgres/postgrestest"
)

// insertRejects are n refused deliveries of a tenant, dismissed or open.
const insertRejects = `INSERT INTO webhook_rejects (tenant, webhook_id, body_hash, headers, body, status, code, reason,
		first_seen_at, last_seen_at, settlement, settled_at, settled_by, settlement_reason)
	SELECT $1, gen_random_uuid(), '', '{}', '', 422, 'unusable_event', 'r', now(), now(), s, t, b, b
	FROM generate_series(1, $2::int), (SELECT CASE WHEN $3 THEN 'dismissed' END AS s, CASE WHEN $3 THEN now() END AS t, CASE WHEN $3 THEN 'x' END AS b) AS settled`

const insertTyped = `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, executed_at, fail_reason, status)
	SELECT $1, '51238696012', '9900012345678', $2, now(), 'r', $3 FROM generate_series(1, $4::int)`

func sortedCounts(counts []TypeCount) []TypeCount {
	slices.SortFunc(counts, func(a, b TypeCount) int {
		return strings.Compare(string(a.Status+" ")+string(a.OrderType), string(b.Status+" ")+string(b.OrderType))
	})
	return counts
}

func TestCountByType_follows_orders_of_the_tenant_and_their_folding(t *testing.T) {
	t.Parallel()
	pool := postgrestest.New(t)
	b, other := newBenchOn(t, pool, testTenant), newBenchOn(t, pool, otherTenant)
	b.exec(t, insertTyped, testTenant, "sperrung", "pending", 3)
	b.exec(t, insertTyped, testTenant, "entsperrung", "pending", 1)
	b.exec(t, insertTyped, testTenant, "sperrung", "executed", 4)
	b.exec(t, insertTyped, testTenant, "entsperrung", "executed", 2)
	b.exec(t, insertTyped, otherTenant, "sperrung", "failed", 5)
	b.exec(t, `UPDATE sperr_orders SET status = 'cancelled' WHERE id = (SELECT id FROM sperr_orders WHERE status = 'executed' AND order_type = 'entsperrung' LIMIT 1)`)
	b.exec(t, `UPDATE sperr_orders SET order_type = 'entsperrung' WHERE id = (SELECT id FROM sperr_orders WHERE status = 'executed' AND order_type = 'sperrung' LIMIT 1)`)
	want := []TypeCount{
		{StatusCancelled, TypeEntsperrung, 1},
		{StatusExecuted, TypeEntsperrung, 2},
		{StatusExecuted, TypeSperrung, 3},
		{StatusPending, TypeEntsperrung, 1},
		{StatusPending, TypeSperrung, 3},
	}
	for _, step := range []string{"as written", "folded"} {
		if got, err := b.repo.CountByType(t.Context()); err != nil || cmp.Diff(want, sortedCounts(got)) != "" {
			t.Errorf("%s: %v, %v; want %v", step, got, err, want)
		}
		if err := fold(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := other.repo.CountByType(t.Context()); err != nil || cmp.Diff([]TypeCount{{StatusFailed, TypeSperrung, 5}}, got) != "" {
		t.Errorf("other tenant: %v, %v", got, err)
	}
}

func TestCountByType_reads_no_closed_order(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(t, insertTyped, testTenant, "sperrung", "executed", 3000)
	b.exec(t, insertTyped, testTenant, "entsperrung", "pending", 20)
	if err := fold(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	b.vacuum(t)
	read := map[string]map[string]float64{}
	b.explained(t, `EXPLAIN (ANALYZE, FORMAT JSON) `+strings.ReplaceAll(countByType, "$1", "@tenant"), pgx.NamedArgs{"tenant": testTenant}).addTo(read)
	total := 0.0
	for _, n := range read["sperr_orders"] {
		total += n
	}
	if total != 20 {
		t.Errorf("%v rows of sperr_orders were read for 20 pending ones: %v", total, read)
	}
}

// A replica of the version before merges totals of both types into one row.
func TestFold_that_does_not_keep_the_types_apart_takes_nothing_away(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(t, insertTyped, testTenant, "sperrung", "executed", 2)
	b.exec(t, insertTyped, testTenant, "entsperrung", "executed", 2)
	before := b.totals(t)
	b.exec(t, `WITH taken AS (DELETE FROM sperr_order_totals WHERE tenant = $1 RETURNING status, vorlauffrist_verletzt, n)
		INSERT INTO sperr_order_totals (tenant, status, vorlauffrist_verletzt, n)
		SELECT $1, status, vorlauffrist_verletzt, sum(n) FROM taken GROUP BY status, vorlauffrist_verletzt HAVING sum(n) <> 0`, testTenant)
	if diff := cmp.Diff(before, b.totals(t)); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
}
