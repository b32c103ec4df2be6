package sperr

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"sperrd/internal/transaction"
)

// A refusal that came to no order may quote what was sent.
func TestRedact_replaces_what_old_answers_about_no_order_quote(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	call := keyed(uuid.NewString(), "")
	call.Attempt.Initial, call.Answer = call.Attempt.ID, func(Result, error) (transaction.Answer, error) {
		return transaction.Answer{Status: http.StatusUnprocessableEntity, Body: []byte(`{"code":"x","detail":"` + marker + `"}`)}, nil
	}
	refused := NewOrder{MaloID: "1", LieferantID: testLF, OrderType: "sperrung"}
	first, err := b.service.Create(t.Context(), call, refused)
	if err == nil || first.Answered == nil || !strings.Contains(string(first.Answered.Body), marker) {
		t.Fatalf("answer %+v, %v; want a refusal that quotes", first.Answered, err)
	}
	if done, err := b.service.Redact(t.Context(), "t", testAge); err != nil || done != (Redaction{}) {
		t.Errorf("before its age: %+v, %v", done, err)
	}
	b.exec(t, `UPDATE api_transactions SET created_at = created_at - $1::interval`, testAge+time.Second)
	if preview, err := b.service.PreviewRedaction(t.Context(), testAge); err != nil || preview != (RedactionPreview{Answers: 1}) {
		t.Errorf("preview %+v, %v", preview, err)
	}
	if done, err := b.service.Redact(t.Context(), "t", testAge); err != nil || done != (Redaction{Answers: 1}) {
		t.Errorf("replaced %+v, %v", done, err)
	}
	if rows := b.tells(t); len(rows) != 0 {
		t.Errorf("left:\n%s", strings.Join(rows, "\n"))
	}
	again, err := b.service.Create(t.Context(), call, refused)
	if err != nil || again.Answered == nil {
		t.Fatalf("repeated: %+v, %v", again, err)
	}
	want := fmt.Sprintf(`{"code":"x","detail":%q}`, Redacted)
	if a := again.Answered; string(a.Body) != want || a.Status != first.Answered.Status || !a.Replayed {
		t.Errorf("repeated: %+v %s; want %s", a, a.Body, want)
	}
}

// A call about an order that was redacted long ago may still be refused, with words of its own.
func TestRedact_replaces_old_answers_that_came_after_their_order_was_redacted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	redacted, open := b.created(t).ID, b.created(t).ID
	b.exec(t, `UPDATE sperr_orders SET status = 'cancelled', redacted_at = now() WHERE id = $1`, redacted)
	b.exec(t, `UPDATE api_transactions SET created_at = created_at - $1::interval`, testAge+time.Second)
	if preview, err := b.service.PreviewRedaction(t.Context(), testAge); err != nil || preview != (RedactionPreview{Answers: 1}) {
		t.Errorf("preview %+v, %v", preview, err)
	}
	for _, want := range []Redaction{{Answers: 1}, {}} {
		if done, err := b.service.Redact(t.Context(), "t", testAge); err != nil || done != want {
			t.Errorf("replaced %+v, %v; want %+v", done, err, want)
		}
	}
	if preview, err := b.service.PreviewRedaction(t.Context(), testAge); err != nil || preview != (RedactionPreview{}) {
		t.Errorf("preview afterwards %+v, %v", preview, err)
	}
	if left := column[uuid.UUID](t, b.pool, `SELECT order_id FROM api_transactions WHERE redacted_at IS NULL`); len(left) != 1 || left[0] != open {
		t.Errorf("left %v, want that of %v", left, open)
	}
}

func TestRedact_works_through_many_answers_about_no_order(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const n = 1007
	b.exec(t, `INSERT INTO api_transactions (tenant, logical_id, principal, operation, fingerprint, fingerprint_version, executed_by, state,
			status_code, response_headers, response_body, created_at, expires_at)
		SELECT $1, gen_random_uuid()::text, 'p', 'POST', '', 1, 'x', 'final', 422, '{}',
			CASE i % 3 WHEN 0 THEN ''::bytea WHEN 1 THEN '{"code":"c","status":422}' ELSE convert_to(format('{"detail":"%s"}', $2::text), 'UTF8') END, '2020-01-01', '2099-01-01'
		FROM generate_series(1, $3::int) AS i`, testTenant, marker, n)
	b.exec(t, `UPDATE api_transactions SET tenant = '9900357000005' WHERE logical_id = (SELECT min(logical_id) FROM api_transactions WHERE length(response_body) = 18)`)
	done, err := b.service.Redact(t.Context(), "t", testAge)
	if err != nil || done != (Redaction{Answers: n / 3}) {
		t.Errorf("replaced %+v, %v", done, err)
	}
	got := column[string](t, b.pool, `SELECT concat_ws(' ', tenant, convert_from(response_body, 'UTF8'), count(*)) FROM api_transactions GROUP BY tenant, response_body ORDER BY 1`)
	want := []string{
		testTenant + "  335", testTenant + fmt.Sprintf(` {"code":"c","status":422} %d`, 336), testTenant + ` {"detail":"[gelöscht]"} 335`,
		`9900357000005 {"detail":"Marke"} 1`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}
