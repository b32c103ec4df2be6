package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"sperrd/internal/makod/makodtest"
)

func (b *bench) reset(t *testing.T, id, body string, header ...string) answer {
	t.Helper()
	return b.call(t, http.MethodPost, orders+"/"+id+"/iftsta/reset", body, header...)
}

// outstanding is a market order whose outcome makod did not take, with its attempts spent.
func (b *bench) outstanding(t *testing.T, maloID string) string {
	t.Helper()
	id := b.market(t, 17115, maloID).ID
	b.makod.FailNext(1, makodtest.ProcessNotFound())
	wantStatus(t, b.report(t, id, "execute", ""), http.StatusAccepted)
	if _, err := b.pool.Exec(t.Context(), `UPDATE sperr_orders SET iftsta_attempts = 8, iftsta_escalated_at = now() WHERE id = $1`, id); err != nil {
		t.Fatal(err)
	}
	return id
}

// cycle is what a reset changes.
type cycle struct {
	Attempts  int     `json:"iftsta_attempts"`
	Escalated *string `json:"iftsta_escalated_at"`
}

func (b *bench) cycle(t *testing.T, id string) cycle {
	t.Helper()
	return decode[cycle](t, b.get(t, orders+"/"+id), http.StatusOK)
}

func TestReset_begins_a_new_cycle_and_is_on_record(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.outstanding(t, malo)
	a := b.reset(t, id, `{"reason":"Prozess in makod angelegt"}`)
	if a.status != http.StatusNoContent || len(a.body) != 0 {
		t.Fatalf("%d %s, want 204", a.status, a.body)
	}
	if got := b.cycle(t, id); got != (cycle{}) {
		t.Errorf("order %+v, want no attempts and no escalation", got)
	}
	type line struct {
		Actor, Action string
		Detail        struct{ Reason string }
	}
	history := decode[[]line](t, b.get(t, orders+"/"+id+"/history"), http.StatusOK)
	want := line{Actor: "dev-admin", Action: "iftsta_reset"}
	want.Detail.Reason = "Prozess in makod angelegt"
	if diff := cmp.Diff(want, history[len(history)-1]); diff != "" {
		t.Errorf("last line of the history (-want +got):\n%s", diff)
	}
}

func TestReset_takes_no_body_or_one_object_with_a_reason(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.outstanding(t, malo)
	for _, body := range []string{"", "{}", `{"reason":null}`, `{"reason":"` + strings.Repeat("ß", 2560) + `"}`} {
		wantStatus(t, b.reset(t, id, body), http.StatusNoContent)
	}
	wantProblem(t, b.reset(t, id, `{"Reason":"x"}`), http.StatusBadRequest, "invalid_body", "Reason")
	wantProblem(t, b.reset(t, id, `{"reason":5}`), http.StatusBadRequest, "invalid_body", "reason")
	wantProblem(t, b.reset(t, id, `null`), http.StatusBadRequest, "invalid_body")
	wantProblem(t, b.reset(t, id, `{"reason":"`), http.StatusBadRequest, "invalid_json")
	wantProblem(t, b.reset(t, id, "{}", "Content-Type", "text/plain"), http.StatusUnsupportedMediaType, "unsupported_media_type")
	wantProblem(t, b.reset(t, id, strings.Repeat(" ", 1<<20+1)), http.StatusRequestEntityTooLarge, "body_too_large")
	for _, reason := range []string{strings.Repeat("ß", 2561), `\u0000`} {
		wantProblem(t, b.reset(t, id, `{"reason":"`+reason+`"}`), http.StatusUnprocessableEntity, "invalid_report", "reason")
	}
	path := orders + "/" + id + "/iftsta/reset?dry_run=true"
	wantProblem(t, b.call(t, http.MethodPost, path, ""), http.StatusBadRequest, "invalid_parameter", "dry_run")
}

func TestReset_without_an_outstanding_IFTSTA_says_how_the_order_stands(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	dispatched := b.market(t, 17115, malo).ID
	wantStatus(t, b.report(t, dispatched, "execute", ""), http.StatusNoContent)
	pending := b.market(t, 17115, maloOf(1)).ID
	cancelled := b.market(t, 17115, maloOf(2)).ID
	wantStatus(t, b.report(t, cancelled, "cancel", ""), http.StatusNoContent)
	operator := b.create(t, minimal("sperrung")).ID
	wantStatus(t, b.report(t, operator, "execute", ""), http.StatusNoContent)

	for _, c := range []struct {
		id, status, detail string
	}{
		{dispatched, "executed", "its IFTSTA is dispatched since 2026-09-03T08:00:00Z."},
		{pending, "pending", "it is pending"},
		{cancelled, "cancelled", "it is cancelled"},
		{operator, "executed", "it has no market process"},
	} {
		a := b.reset(t, c.id, "")
		if p := wantProblem(t, a, http.StatusConflict, "nothing_to_reset"); !strings.Contains(p.Detail, c.detail) {
			t.Errorf("detail %q, want %q", p.Detail, c.detail)
		}
		var stands struct {
			OrderStatus string `json:"order_status"`
		}
		if err := json.Unmarshal(a.body, &stands); err != nil || stands.OrderStatus != c.status {
			t.Errorf("%v, %s; want the order_status %s", err, a.body, c.status)
		}
	}
}

func TestReset_knows_the_orders_of_its_tenant_alone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	foreign := b.outstanding(t, malo)
	if _, err := b.pool.Exec(t.Context(), `UPDATE sperr_orders SET tenant = '9900000000001'`); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{foreign, uuid.NewString(), "x", "urn:uuid:" + foreign} {
		wantProblem(t, b.reset(t, id, ""), http.StatusNotFound, "not_found")
	}
	if got := b.count(t, `SELECT iftsta_attempts FROM sperr_orders`); got != 8 {
		t.Errorf("%d attempts, want the 8 of before", got)
	}
}
