package api_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

const another = "another sperrung for this Marktlokation is pending"

func (o order) warnsOfAnother() bool {
	return strings.Contains(strings.Join(o.Warnungen, "\n"), another)
}

// Without a key of the caller two equal calls are two orders: nothing tells a second
// click from a second wish. The answer says so, and the caller can cancel one.
func TestCreate_twice_is_two_orders_and_the_second_answer_warns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, second := b.create(t, fullOrder), b.create(t, fullOrder)
	if first.ID == second.ID || first.warnsOfAnother() || !second.warnsOfAnother() {
		t.Errorf("warnings %q and %q; want the second to say that another is pending", first.Warnungen, second.Warnungen)
	}
	for id, beside := range map[string]string{first.ID: second.ID, second.ID: first.ID} {
		if stored := b.order(t, id); !slices.Contains(stored.Warnungen, another+": order "+beside) {
			t.Errorf("stored warnings %q; want order %s named", stored.Warnungen, beside)
		}
	}
	for _, id := range []string{first.ID, second.ID} {
		wantStatus(t, b.report(t, id, "cancel", ""), http.StatusNoContent)
	}
	if third := b.create(t, fullOrder); third.warnsOfAnother() {
		t.Errorf("warnings %q beside closed orders", third.Warnungen)
	}
}

func TestCreate_beside_an_order_of_the_market_is_accepted_with_a_warning(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	market := b.market(t, 17115, malo)
	operator := b.create(t, minimal("sperrung"))
	if market.warnsOfAnother() || !operator.warnsOfAnother() || !b.order(t, market.ID).warnsOfAnother() {
		t.Errorf("warnings %q and %q; want each to say that another is pending", b.order(t, market.ID).Warnungen, operator.Warnungen)
	}
	if other := b.create(t, strings.Replace(minimal("sperrung"), malo, maloOf(1), 1)); other.warnsOfAnother() {
		t.Errorf("warnings %q at another Marktlokation", other.Warnungen)
	}
}

func TestCreate_in_parallel_stores_and_announces_every_order_whole(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	answers := make([]answer, 20)
	var clicks sync.WaitGroup
	for i := range answers {
		clicks.Go(func() { answers[i] = b.call(t, http.MethodPost, orders, fullOrder) })
	}
	clicks.Wait()
	seen := map[string]bool{}
	for _, a := range answers {
		seen[decode[order](t, a, http.StatusCreated).ID] = true
	}
	for _, table := range []string{"sperr_orders WHERE process_id IS NULL", "event_outbox", "sperr_order_history WHERE action = 'created'"} {
		if n := b.count(t, "SELECT count(*) FROM "+table); n != 20 || len(seen) != 20 {
			t.Errorf("%d rows of %s and %d ids, want 20", n, table, len(seen))
		}
	}
}
