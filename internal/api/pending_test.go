package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// event17117 is the event of an Entsperrauftrag of a new process.
func event17117(maloID string) []byte {
	return fmt.Appendf(nil, `{"specversion":"1.0","id":"%s","source":"urn:x","type":"de.mako.process.initiated","subject":"%s",
		"makopid":17117,"data":{"malo_id":"%s","lf_mp_id":"%s","arbeitszeit":"Z53"}}`, uuid.NewString(), uuid.NewString(), maloID, lf)
}

func TestPending_orders_that_come_together_on_both_ways_are_warned_of_each_other(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for round := range 3 {
		created := make([]string, 10)
		var together sync.WaitGroup
		for i := range created {
			together.Go(func() {
				if i%2 == 0 {
					a := b.call(t, http.MethodPost, orders, strings.Replace(minimal("sperrung"), malo, maloOf(round), 1))
					created[i] = decode[order](t, a, http.StatusCreated).ID
					return
				}
				created[i] = decode[order](t, b.deliver(t, event17117(maloOf(round))), http.StatusCreated).ID
			})
		}
		together.Wait()
		for i, id := range created {
			warnings := strings.Join(b.order(t, id).Warnungen, "\n")
			for j, other := range created {
				if (i == j) == strings.Contains(warnings, other) {
					t.Errorf("order %d names order %d: %v; warnings\n%s", i, j, i != j, warnings)
				}
			}
		}
	}
}

func TestPending_order_that_is_met_by_another_says_so_in_its_history(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.create(t, minimal("sperrung")).ID
	second := decode[order](t, b.deliver(t, event17117(malo)), http.StatusCreated).ID
	type line struct {
		Action, Actor, From, To string
		Detail                  map[string]string
	}
	history := decode[[]line](t, b.get(t, orders+"/"+first+"/history"), http.StatusOK)
	want := line{"another_order_pending", "makod", "pending", "pending", map[string]string{"order_id": second}}
	if diff := cmp.Diff(want, history[len(history)-1]); diff != "" || len(history) != 2 {
		t.Errorf("last of %d lines (-want +got):\n%s", len(history), diff)
	}
}

// There are more of them than connections, and each waits for its turn in vain.
func TestWebhook_beside_a_session_that_holds_the_turn_stores_every_order(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tx, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	if _, err := tx.Exec(t.Context(), `SELECT pg_advisory_xact_lock(hashtextextended('sperr_orders/malo_id/' || $1 || '/' || $2, 0))`, tenant, malo); err != nil {
		t.Fatal(err)
	}
	var deliveries sync.WaitGroup
	for range 12 {
		deliveries.Go(func() { wantDelivered(t, b.deliver(t, event17117(malo))) })
	}
	deliveries.Wait()
	if n := b.orderCount(t); n != 12 {
		t.Errorf("%d orders, want 12", n)
	}
}

func wantDelivered(t *testing.T, a answer) {
	t.Helper()
	if a.status != http.StatusCreated {
		t.Errorf("status %d, want 201; body %s", a.status, a.body)
	}
}
