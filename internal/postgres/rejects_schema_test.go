package postgres_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/postgres/postgrestest"
	"sperrd/migrations"
)

// beforeSettling is the newest schema whose headers are one text each.
const beforeSettling = 8

func TestMigration_of_rejects_leaves_headers_on_the_way_down_that_the_version_before_reads(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	conn := connect(t, url)
	for _, headers := range []string{
		`{"content-type": ["application/json"], "ce-id": ["e-1"]}`, `{"ce-id": ["b", "a"], "ce-type": []}`,
		`{"ce-id": "kept by the version before", "ce-type": ["x"]}`, `{"ce-id": "one"}`, `{}`,
	} {
		do(t, conn, `INSERT INTO webhook_rejects (tenant, webhook_id, body_hash, headers, body, status, code, reason, first_seen_at, last_seen_at)
			VALUES ('T', $1, '', $1::text::jsonb, '', 400, 'c', 'r', now(), now())`, headers)
	}
	down(t, url, beforeSettling)
	want := map[string]string{
		`{"content-type": ["application/json"], "ce-id": ["e-1"]}`:  `{"ce-id": "e-1", "content-type": "application/json"}`,
		`{"ce-id": ["b", "a"], "ce-type": []}`:                      `{"ce-id": "b, a", "ce-type": ""}`,
		`{"ce-id": "kept by the version before", "ce-type": ["x"]}`: `{"ce-id": "kept by the version before", "ce-type": "x"}`,
		`{"ce-id": "one"}`: `{"ce-id": "one"}`,
		`{}`:               `{}`,
	}
	got := ask[map[string]string](t, conn, `SELECT jsonb_object_agg(webhook_id, headers::text) FROM webhook_rejects`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	up(t, url, migrations.FS)
}

// Without an index, who deletes an order reads all deliveries that might have come to it.
func TestSchema_of_rejects_has_an_index_for_its_foreign_key(t *testing.T) {
	t.Parallel()
	conn := connect(t, postgrestest.NewURL(t))
	indexes := ask[[]string](t, conn, `
		SELECT array_agg(pg_get_indexdef(i.indexrelid)) FROM pg_constraint c
		JOIN pg_index i ON i.indrelid = c.conrelid AND i.indkey[0] = c.conkey[1]
		WHERE c.contype = 'f' AND c.conrelid = 'webhook_rejects'::regclass`)
	if len(indexes) != 1 || !strings.Contains(indexes[0], "(order_id) WHERE (order_id IS NOT NULL)") {
		t.Errorf("indexes of order_id: %q", indexes)
	}
}
