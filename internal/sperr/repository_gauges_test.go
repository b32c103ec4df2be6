package sperr

import (
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5"

	"sperrd/internal/postgres/postgrestest"
)

// insertRejects are n refused deliveries of a tenant, dismissed or open.
const insertRejects = `INSERT INTO webhook_rejects (tenant, webhook_id, body_hash, headers, body, status, code, reason,
		first_seen_at, last_seen_at, settlement, settled_at, settled_by, settlement_reason)
	SELECT $1, gen_random_uuid(), '', '{}', '', 422, 'unusable_event', 'r', now(), now(), s, t, b, b
	FROM generate_series(1, $2::int), (SELECT CASE WHEN $3 THEN 'dismissed' END AS s, CASE WHEN $3 THEN now() END AS t, CASE WHEN $3 THEN 'x' END AS b) AS settled`

func TestOpenRejectsAreThoseOfTheTenantThatNobodyHasSettled(t *testing.T) {
	t.Parallel()
	pool := postgrestest.New(t)
	b, other := newBenchOn(t, pool, testTenant), newBenchOn(t, pool, otherTenant)
	for _, step := range []struct {
		tenant     string
		n          int
		dismissed  bool
		want, less int64
	}{
		{testTenant, 0, false, 0, 0},
		{testTenant, 3, false, 3, 0},
		{testTenant, 5, true, 3, 0},
		{otherTenant, 2, false, 3, 2},
	} {
		b.exec(t, insertRejects, step.tenant, step.n, step.dismissed)
		for repo, want := range map[*Repository]int64{b.repo: step.want, other.repo: step.less} {
			if got, err := repo.OpenRejects(t.Context()); err != nil || got != want {
				t.Errorf("after %+v: %d open of %s, %v; want %d", step, got, repo.tenant, err, want)
			}
		}
	}
}

func TestOpenRejectsCostTheSameHoweverManyAreSettled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(t, insertRejects, testTenant, 3, false)
	b.exec(t, insertRejects, testTenant, 3000, true)
	b.exec(t, `ANALYZE webhook_rejects`)
	rows, err := b.pool.Query(t.Context(), `EXPLAIN (ANALYZE, FORMAT JSON) `+countOpenRejects, testTenant)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[[]byte])
	if err != nil {
		t.Fatal(err)
	}
	var explained []struct{ Plan plan }
	if err := json.Unmarshal(raw, &explained); err != nil {
		t.Fatal(err)
	}
	read, total := map[string]map[string]float64{}, 0.0
	explained[0].Plan.addTo(read)
	for _, n := range read["webhook_rejects"] {
		total += n
	}
	if total != 3 {
		t.Errorf("%v rows were read for 3 open ones: %s", total, raw)
	}
}
