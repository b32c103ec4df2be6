package sperr

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// A delivery that an earlier version kept is the same one today.
func TestTheHashOfADeliveryNeverChanges(t *testing.T) {
	t.Parallel()
	one := WebhookReject{Headers: EventHeaders{"content-type": {"application/json"}, "ce-id": {"e-1"}}, Body: []byte("{}")}
	want := sha256.Sum256([]byte("ce-id: e-1\ncontent-type: application/json\n\n{}"))
	if got := deliveryHash(one); hex.EncodeToString(got) != hex.EncodeToString(want[:]) {
		t.Errorf("hash = %x, want %x", got, want)
	}
	twice, joined := one, one
	twice.Headers = EventHeaders{"ce-id": {"e-1", "e-2"}}
	joined.Headers = EventHeaders{"ce-id": {"e-1, e-2"}}
	if string(deliveryHash(twice)) == string(deliveryHash(joined)) {
		t.Error("a header given twice has the hash of one value")
	}
}

func TestEventHeadersReadWhatEarlierVersionsKept(t *testing.T) {
	t.Parallel()
	var got EventHeaders
	if err := json.Unmarshal([]byte(`{"ce-id":"e-1","content-type":"a, b","ce-source":"a, b","ce-type":["a","b"],"ce-subject":["a, b"],"ce-x":[],"ce-y":null}`), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(EventHeaders{
		"ce-id": {"e-1"}, "content-type": {"a, b"}, "ce-source": {"a", "b"}, "ce-type": {"a", "b"}, "ce-subject": {"a, b"}, "ce-x": {}, "ce-y": nil,
	}, got); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	for _, broken := range []string{`[]`, `{"a":1}`, `{"a":[1]}`, `"a"`} {
		if err := json.Unmarshal([]byte(broken), &got); err == nil {
			t.Errorf("%s is read as %v", broken, got)
		}
	}
}

// What is settled stays for good; the work list and its counter must not read it.
func TestOpenRejectsAreFoundAmongManySettledOnes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(t, `INSERT INTO webhook_rejects (tenant, webhook_id, body_hash, headers, body, status, code, reason, first_seen_at, last_seen_at,
			settlement, settled_at, settled_by, settlement_reason)
		SELECT $1, n::text, ''::bytea, '{}', ''::bytea, 400, 'invalid_json', 'r', now() - n * interval '1 min', now(),
			CASE WHEN n % 1000 > 0 THEN 'dismissed' END, CASE WHEN n % 1000 > 0 THEN now() END,
			CASE WHEN n % 1000 > 0 THEN 'x' END, CASE WHEN n % 1000 > 0 THEN 'x' END
		FROM generate_series(1, 20000) AS n`, testTenant)
	b.exec(t, `ANALYZE webhook_rejects`)
	page, err := b.repo.WebhookRejects(t.Context(), RejectsFilter{Status: RejectsOpen, Limit: 5})
	if err != nil || len(page.Rejects) != 5 || page.Next == "" {
		t.Fatalf("page = %+v, %v", page, err)
	}
	rest, err := b.repo.WebhookRejects(t.Context(), RejectsFilter{Status: RejectsOpen, Limit: 100, Cursor: page.Next})
	if err != nil || len(rest.Rejects) != 15 {
		t.Fatalf("%d on the second page, %v; want 15", len(rest.Rejects), err)
	}
	if stats, err := b.repo.Stats(t.Context(), statsDay); err != nil || stats.WebhookRejectsOffen != 20 {
		t.Errorf("webhook_rejects_offen = %d, %v; want 20", stats.WebhookRejectsOffen, err)
	}

	list, args, err := rejectsQuery(RejectsFilter{Status: RejectsOpen, Limit: 5, Cursor: page.Next})
	if err != nil {
		t.Fatal(err)
	}
	args["tenant"] = testTenant
	for name, c := range map[string]struct {
		sql  string
		args pgx.NamedArgs
	}{"list": {list, args}, "stats": {countOrders, b.repo.countArgs(statsDay)}} {
		plan := strings.Join(column[string](t, b.pool, `EXPLAIN `+c.sql, c.args), "\n")
		if !strings.Contains(plan, "webhook_rejects_open") || strings.Contains(plan, "Seq Scan on webhook_rejects") {
			t.Errorf("%s does not go by the index of what is open:\n%s", name, plan)
		}
	}
}

func TestADeliveryThatIsNotOpenIsNotSettled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(t, insertRejects, testTenant, 1, true)
	settled := column[uuid.UUID](t, b.pool, `SELECT id FROM webhook_rejects`)[0]
	for _, id := range []uuid.UUID{settled, uuid.New()} {
		err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
			return b.repo.settle(t.Context(), tx, id, settling{settlement: SettlementReplayed, actor: "a", at: testNow})
		})
		if err == nil {
			t.Errorf("%s is settled without an error", id)
		}
	}
	if how := column[string](t, b.pool, `SELECT settlement FROM webhook_rejects`)[0]; how != "dismissed" {
		t.Errorf("it is %s now", how)
	}
}

func TestAListOfAStatusThatThereIsNotIsNoStatement(t *testing.T) {
	t.Parallel()
	for _, status := range []RejectStatus{"", "pending", "OPEN"} {
		if sql, _, err := rejectsQuery(RejectsFilter{Status: status, Limit: 1}); err == nil {
			t.Errorf("status %q: %s", status, sql)
		}
	}
}

func TestAWalkOfRejectsIsExactAmongOddMoments(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	newestFirst := []string{
		"infinity", "294276-12-31 23:59:59.999999Z", "12000-01-01 00:00:00.000002Z", "12000-01-01 00:00:00.000001Z", "2026-09-03 08:00:00.5Z",
		"1999-12-31 23:59:59.999999Z", "0044-03-15 12:00:00.000001Z BC", "4714-11-24 00:00:00Z BC", "-infinity",
	}
	for _, at := range newestFirst {
		b.exec(t, `INSERT INTO webhook_rejects (tenant, webhook_id, body_hash, headers, body, status, code, reason, first_seen_at, last_seen_at)
			VALUES ($1, $2, '', '{}', '', 400, 'c', 'r', $2::text::timestamptz, now())`, testTenant, at)
	}
	for limit := range 3 {
		f := RejectsFilter{Status: RejectsOpen, Limit: limit + 1}
		var seen []string
		for more := true; more; more = f.Cursor != "" {
			page, err := b.repo.WebhookRejects(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page.Rejects {
				seen = append(seen, r.WebhookID)
			}
			f.Cursor = page.Next
		}
		if diff := cmp.Diff(newestFirst, seen); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", f.Limit, diff)
		}
	}
	for _, made := range []string{`"2026-09-01T00:00:00Z"`, `"infinity"`, `9223371331200000000`, `-211813488000000001`, `9223372036854775808`, `1.5`} {
		cursor := base64.RawURLEncoding.EncodeToString([]byte(`{"s":"open","f":` + made + `,"i":"` + uuid.NewString() + `"}`))
		if _, err := b.repo.WebhookRejects(t.Context(), RejectsFilter{Status: RejectsOpen, Limit: 1, Cursor: cursor}); !errors.Is(err, ErrCursor) {
			t.Errorf("cursor at %s: %v, want ErrCursor", made, err)
		}
	}
}
