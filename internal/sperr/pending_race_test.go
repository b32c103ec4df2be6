package sperr

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"

	"sperrd/internal/postgres"
	"sperrd/internal/postgres/postgrestest"
)

// Two processes, each with its own pool: orders that come at the same moment see each other.
func TestOrdersOfAMaLoThatComeTogetherAreAllWarnedOfEachOther(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	var benches []*bench
	for range 2 {
		pool, err := postgres.Open(t.Context(), url, postgres.Options{PoolSize: 4})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		benches = append(benches, newBenchOn(t, pool, testTenant))
	}
	for round := range 5 {
		malo := maloWith(round)
		ids := make([]uuid.UUID, 12)
		var together sync.WaitGroup
		for i := range ids {
			b, operator, orderType := benches[i%2], i%4 < 2, []Type{TypeSperrung, TypeEntsperrung}[i/6]
			var e event.Event
			if !operator {
				e = marketEvent(t, map[Type]int{TypeSperrung: pidSperrauftrag, TypeEntsperrung: pidEntsperrauftrag}[orderType], malo, nil)
			}
			together.Go(func() {
				if operator {
					created, err := b.service.Create(t.Context(), Call{Actor: "operator"}, NewOrder{MaloID: malo, LieferantID: testLF, OrderType: string(orderType)})
					if err != nil {
						t.Error(err)
					}
					ids[i] = created.Order.ID
					return
				}
				receipt, err := b.service.Receive(t.Context(), "", e)
				if err != nil {
					t.Error(err)
				}
				ids[i] = receipt.OrderID
			})
		}
		together.Wait()
		wantAllNamed(t, benches[0], ids)
	}
}

// wantAllNamed checks that of six orders of each type each names the five others of its
// type, and five and a rest of the other type.
func wantAllNamed(t *testing.T, b *bench, ids []uuid.UUID) {
	t.Helper()
	for i, id := range ids {
		warnings := b.about(t, id)
		of := map[bool]int{}
		for j, other := range ids {
			if slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, other.String()) }) {
				of[i/6 == j/6]++
			}
		}
		if of[true] != 5 || of[false] != 5 || len(warnings) != 11 {
			t.Errorf("order %d names %d of its type and %d of the other: %q", i, of[true], of[false], warnings)
		}
	}
}

// A report on an order and a new order beside it meet without a deadlock.
func TestReportsAndNewOrdersOfAMaLoMeetWithoutADeadlock(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var ids []uuid.UUID
	for range 8 {
		ids = append(ids, b.ordered(t, TypeSperrung))
	}
	var together sync.WaitGroup
	for i, id := range ids {
		together.Go(func() {
			if i%2 == 0 {
				if err := second(b.service.Execute(t.Context(), Call{Actor: "team"}, id, ExecuteReport{})); err != nil {
					t.Error(err)
				}
				return
			}
			if err := second(b.service.Cancel(t.Context(), Call{Actor: "operator"}, id, "")); err != nil {
				t.Error(err)
			}
		})
		together.Go(func() {
			if err := second(b.service.Create(t.Context(), Call{Actor: "operator"}, NewOrder{MaloID: testMalo, LieferantID: testLF, OrderType: "entsperrung"})); err != nil {
				t.Error(err)
			}
		})
	}
	together.Wait()
	for _, id := range ids {
		order := b.get(t, id)
		lines := column[int](t, b.pool, `SELECT count(*)::int FROM sperr_order_history WHERE order_id = $1 AND action = 'another_order_pending'`, id)[0]
		if order.Status == StatusPending || lines < len(b.about(t, id))-maxNamed-1 {
			t.Errorf("order %s is %s with %d lines for %q", id, order.Status, lines, b.about(t, id))
		}
	}
}
