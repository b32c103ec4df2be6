package sperr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"sperrd/internal/makod/makodtest"
	"sperrd/internal/postgres/postgrestest"
	"sperrd/internal/transaction"
)

const (
	testAge = 90 * 24 * time.Hour
	marker  = "Marke"
)

// wholeAnswer is the order as the REST interface answers it.
func wholeAnswer(r Result, refusal error) (transaction.Answer, error) {
	if refusal != nil {
		return transaction.Answer{Status: http.StatusUnprocessableEntity, Body: fmt.Appendf(nil, `{"code":"x","detail":%q}`, refusal)}, nil
	}
	body, err := json.Marshal(r.Order)
	return transaction.Answer{Status: http.StatusCreated, Body: body}, err
}

// marked is a market order with a marker in every text, closed, reported and delivered.
func (b *bench) marked(t *testing.T, malo string, report func(id uuid.UUID) error) Order {
	t.Helper()
	e := marketEvent(t, pidEntsperrauftrag, malo, map[string]any{"hinweis": marker + " Hund", "treffpunkt": map[string]any{
		"hinweis": marker + " Hof", "strasse": marker + "weg 7", "plz": "01067 " + marker, "ort": marker + "hausen", "land": marker,
	}})
	if _, err := b.makod.Spawn(makodtest.Process{ID: e.Subject(), MaloID: malo, PID: pidEntsperrauftrag}); err != nil {
		t.Fatal(err)
	}
	receipt, err := b.service.Receive(t.Context(), "", e)
	if err != nil {
		t.Fatal(err)
	}
	if err := report(receipt.OrderID); err != nil {
		t.Fatal(err)
	}
	return b.get(t, receipt.OrderID)
}

// created is an operator's order with markers, whose answer is kept.
func (b *bench) created(t *testing.T) Order {
	t.Helper()
	call := keyed(uuid.NewString(), "")
	call.Attempt.Initial, call.Answer = call.Attempt.ID, wholeAnswer
	result, err := b.service.Create(t.Context(), call, NewOrder{
		MaloID: testMalo, LieferantID: testLF, OrderType: "sperrung", Hinweis: marker + " Ω",
		Treffpunkt: Treffpunkt{Hinweis: marker, Strasse: marker, PLZ: marker, Ort: marker, Land: "DE"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return result.Order
}

// tells are the rows of all tables that hold the marker.
func (b *bench) tells(t *testing.T) (rows []string) {
	t.Helper()
	for _, table := range []string{"sperr_orders", "sperr_order_history", "event_outbox", "webhook_rejects", "api_transactions", "api_transaction_attempts"} {
		for _, row := range column[string](t, b.pool, `SELECT to_jsonb(r)::text FROM `+table+` r`) {
			decoded := strings.ReplaceAll(row, fmt.Sprintf("%x", marker), marker) // bytea is written in hex
			if strings.Contains(decoded, marker) {
				rows = append(rows, table+" "+row)
			}
		}
	}
	return rows
}

// age makes everything look as if it had happened so much earlier.
func (b *bench) age(t *testing.T, by time.Duration) {
	t.Helper()
	b.exec(t, `UPDATE sperr_orders SET created_at = created_at - $1::interval, updated_at = updated_at - $1::interval`, by)
	b.exec(t, `UPDATE webhook_rejects SET settled_at = settled_at - $1::interval`, by)
}

func (b *bench) executeNow(id uuid.UUID) error {
	_, err := b.service.Execute(context.Background(), Call{Actor: "team"}, id, ExecuteReport{Note: marker + " Siegel"})
	return err
}

func (b *bench) failNow(id uuid.UUID) error {
	code := "A02"
	_, err := b.service.Fail(context.Background(), Call{Actor: "team"}, id, FailReport{Reason: marker + " Zaun", PruefschrittCode: &code, Endgueltig: true})
	return err
}

func TestRedact_leaves_no_address_and_no_free_text_of_closed_orders_anywhere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.marked(t, testMalo, b.executeNow)
	b.marked(t, otherMalo, b.failNow)
	operators := b.created(t)
	if _, err := b.service.Cancel(t.Context(), Call{Actor: "team"}, operators.ID, ""); err != nil {
		t.Fatal(err)
	}
	b.exec(t, `UPDATE sperr_orders SET iftsta_last_error = $1, iftsta_ref = $1, warnungen = warnungen || ARRAY['land "' || $1 || '" dropped']`, marker)
	b.exec(t, `UPDATE event_outbox SET envelope = jsonb_set(envelope, '{data,last_error}', to_jsonb($1::text))`, marker)
	b.exec(t, `INSERT INTO webhook_rejects (tenant, webhook_id, body_hash, headers, body, status, code, reason, first_seen_at, last_seen_at,
			settlement, settled_at, settled_by, settlement_reason)
		VALUES ($1, 'w', '', jsonb_build_object('ce-x', $2::text), convert_to($2, 'UTF8'), 422, 'unusable_event', $2, now(), now(), 'dismissed', $3, 'x', 'y')`,
		testTenant, marker, testNow)
	if rows := b.tells(t); len(rows) < 7 {
		t.Fatalf("only %d rows hold markers: %v", len(rows), rows)
	}
	before, err := b.repo.Stats(t.Context(), statsDay)
	if err != nil {
		t.Fatal(err)
	}

	if done, err := b.service.Redact(t.Context(), "t", testAge); err != nil || done != (Redaction{}) {
		t.Errorf("before its age: %+v, %v", done, err)
	}
	b.age(t, testAge+time.Second)
	preview, err := b.service.PreviewRedaction(t.Context(), testAge)
	if err != nil || preview.Orders != 3 || preview.Rejects != 1 || preview.Answers != 1 || preview.Events != 6 || preview.Oldest == nil {
		t.Errorf("preview %+v, %v", preview, err)
	}
	done, err := b.service.Redact(t.Context(), "t", testAge)
	if want := (Redaction{Orders: 3, Events: 6, Answers: 1, Rejects: 1}); err != nil || done != want {
		t.Errorf("replaced %+v, %v; want %+v", done, err, want)
	}
	if rows := b.tells(t); len(rows) != 0 {
		t.Errorf("left:\n%s", strings.Join(rows, "\n"))
	}
	if after, err := b.repo.Stats(t.Context(), statsDay); err != nil || cmp.Diff(before, after) != "" {
		t.Errorf("stats (-before +after):\n%s, %v", cmp.Diff(before, after), err)
	}
	got := b.get(t, operators.ID)
	if text(got.Hinweis) != Redacted || text(got.TreffpunktPLZ) != Redacted || got.TreffpunktLand != nil || got.RedactedAt == nil || got.MaloID != testMalo || got.ExecutionNote != nil {
		t.Errorf("order %+v", got)
	}
	if actions := b.actions(t, operators.ID); actions[len(actions)-1] != actionRedacted {
		t.Errorf("history %v", actions)
	}
	if again, err := b.service.Redact(t.Context(), "t", testAge); err != nil || again != (Redaction{}) {
		t.Errorf("again: %+v, %v", again, err)
	}
}

func TestRedact_never_touches_what_is_open(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pending := b.marked(t, testMalo, func(uuid.UUID) error { return nil })
	b.makod.FailNext(makodtest.UntilCleared, makodtest.ProcessNotFound())
	owed := b.marked(t, otherMalo, b.executeNow)
	b.exec(t, `INSERT INTO webhook_rejects (tenant, webhook_id, body_hash, headers, body, status, code, reason, first_seen_at, last_seen_at)
		VALUES ($1, 'w', '', '{}', convert_to($2, 'UTF8'), 422, 'unusable_event', $2, '2020-01-01', '2020-01-01')`, testTenant, marker)
	b.exec(t, `INSERT INTO webhook_rejects (tenant, webhook_id, body_hash, headers, body, status, code, reason, first_seen_at, last_seen_at,
			settlement, settled_at, settled_by, order_id)
		VALUES ($1, 'r', '', '{}', convert_to($2, 'UTF8'), 422, 'unusable_event', $2, '2020-01-01', '2020-01-01', 'replayed', '2020-01-01', 'x', $3)`, testTenant, marker, pending.ID)
	b.exec(t, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, status, hinweis, created_at, updated_at)
		VALUES ('9900357000005', $1, $2, 'sperrung', 'cancelled', $3, '2020-01-01', '2020-01-01')`, testMalo, testLF, marker)
	b.age(t, 3*testAge)
	before := b.tells(t)
	if done, err := b.service.Redact(t.Context(), "t", testAge); err != nil || done != (Redaction{}) {
		t.Errorf("replaced %+v, %v", done, err)
	}
	if diff := cmp.Diff(before, b.tells(t)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	if o := b.get(t, owed.ID); !o.OutstandingIFTSTA() || text(o.ExecutionNote) == Redacted {
		t.Errorf("owed: %+v", o)
	}
}

func TestRedacted_order_takes_a_late_delivery_of_its_process_as_before(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := marketEvent(t, pidSperrauftrag, testMalo, map[string]any{"hinweis": marker, "treffpunkt": map[string]any{
		"hinweis": "h", "strasse": marker, "plz": "01067", "ort": "Dresden", "land": "DE",
	}})
	receipt, err := b.service.Receive(t.Context(), "", e)
	if err != nil {
		t.Fatal(err)
	}
	b.exec(t, `UPDATE sperr_orders SET status = 'cancelled'`)
	b.age(t, testAge+time.Second)
	for _, marktdaten := range []string{`marktdaten`, `NULL`} {
		b.exec(t, `UPDATE sperr_orders SET redacted_at = NULL, updated_at = created_at, marktdaten = `+marktdaten)
		if done, err := b.service.Redact(t.Context(), "t", testAge); err != nil || done.Orders != 1 {
			t.Fatalf("replaced %+v, %v", done, err)
		}
		if again, err := b.service.Receive(t.Context(), "", e); err != nil || again.Kind != ReceiptRedelivery || again.OrderID != receipt.OrderID {
			t.Errorf("redelivery: %+v, %v", again, err)
		}
		changed := e.Clone()
		changed.SetSubject(e.Subject())
		if err := changed.SetData("application/json", map[string]any{"malo_id": otherMalo, "lf_mp_id": testLF, "fruehestens_am": "2026-09-01"}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.service.Receive(t.Context(), "", changed); err == nil {
			t.Error("another MaLo is no contradiction any more")
		}
	}
	if rows := b.tells(t); len(rows) != 0 {
		t.Errorf("left:\n%s", strings.Join(rows, "\n"))
	}
}

func TestRedact_works_through_many_orders_beside_others_that_do_the_same(t *testing.T) {
	t.Parallel()
	b := newBenchOn(t, postgrestest.New(t), testTenant)
	const n = 2*maxRedacted + 7
	b.exec(t, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, status, hinweis, created_at, updated_at)
		SELECT $1, $2, $3, 'sperrung', 'cancelled', $4, '2020-01-01'::timestamptz + (i / 3) * interval '1 second', '2020-01-02' FROM generate_series(1, $5::int) AS i`,
		testTenant, testMalo, testLF, marker, n)
	cut, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.service.Redact(cut, "t", testAge); !errors.Is(err, context.Canceled) {
		t.Errorf("a run that was told to stop: %v", err)
	}
	var group errgroup.Group
	total := make([]int, 3)
	for i := range total {
		group.Go(func() error {
			done, err := b.service.Redact(t.Context(), "t", testAge)
			total[i] = done.Orders
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	last, err := b.service.Redact(t.Context(), "t", testAge) // what others had locked
	if sum := total[0] + total[1] + total[2] + last.Orders; err != nil || sum != n {
		t.Errorf("%d orders, %v; want %d", sum, err, n)
	}
	if lines := column[int](t, b.pool, `SELECT count(*)::int FROM sperr_order_history WHERE action = 'redacted'`)[0]; lines != n {
		t.Errorf("%d lines, want %d", lines, n)
	}
}
