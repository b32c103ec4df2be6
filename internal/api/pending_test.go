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

// One more of each type comes last, and by then all are there whatever became of the turns.
func TestPending_orders_that_come_together_on_both_ways_are_warned_of_each_other(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for round := range 3 {
		add := func(i int) string {
			if i%2 == 0 {
				a := b.call(t, http.MethodPost, orders, strings.Replace(minimal("sperrung"), malo, maloOf(round), 1))
				return decode[order](t, a, http.StatusCreated).ID
			}
			return decode[order](t, b.deliver(t, event17117(maloOf(round))), http.StatusCreated).ID
		}
		created := make([]string, 8)
		var together sync.WaitGroup
		for i := range created {
			together.Go(func() { created[i] = add(i) })
		}
		together.Wait()
		created = append(created, add(0), add(1))
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

// Each waits for its turn in vain, and those that wait leave the one connection that is left
// in time for all others.
func TestPending_turn_that_somebody_keeps_costs_no_delivery_and_no_list(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *settings) { s.poolSize = 2 })
	tx, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	if _, err := tx.Exec(t.Context(), `SELECT pg_advisory_xact_lock(hashtextextended('sperr_orders/malo_id/' || $1 || '/' || $2, 0))`, tenant, malo); err != nil {
		t.Fatal(err)
	}
	var deliveries sync.WaitGroup
	for range 8 {
		deliveries.Go(func() { wantDelivered(t, b.deliver(t, event17117(malo))) })
		deliveries.Go(func() { wantStatus(t, b.get(t, orders), http.StatusOK) })
	}
	deliveries.Wait()
	if n := b.orderCount(t); n != 8 {
		t.Errorf("%d orders, want 8", n)
	}
}

func TestPending_order_that_is_met_by_a_replay_names_the_delivery_and_the_call(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.create(t, minimal("sperrung")).ID
	kept := b.refused(t, event17117(malo))
	second := wantQueued(t, b.replay(t, kept, `{"reason":"URL von makod berichtigt"}`, called(callB, callA)...))
	type line struct {
		Action        string            `json:"action"`
		Actor         string            `json:"actor"`
		TransactionID string            `json:"transaction_id"`
		Detail        map[string]string `json:"detail"`
	}
	history := decode[[]line](t, b.get(t, orders+"/"+first+"/history"), http.StatusOK)
	want := line{"another_order_pending", "dev-admin", callB, map[string]string{"order_id": second, "reject_id": kept, "initial_transaction_id": callA}}
	if diff := cmp.Diff(want, history[len(history)-1]); diff != "" || len(history) != 2 {
		t.Errorf("last of %d lines (-want +got):\n%s", len(history), diff)
	}
}

func wantDelivered(t *testing.T, a answer) {
	t.Helper()
	if a.status != http.StatusCreated {
		t.Errorf("status %d, want 201; body %s", a.status, a.body)
	}
}
