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

// newTurnBench is one process of several. A turn comes however busy the machine is.
func newTurnBench(t *testing.T, url string) *bench {
	t.Helper()
	pool, err := postgres.Open(t.Context(), url, postgres.Options{PoolSize: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	b := newBenchOn(t, pool, testTenant)
	b.service.turnWait = writeTimeout / 2
	return b
}

// Two processes, each with its own pool: orders that come at the same moment see each other.
func TestOrdersOfAMaLoThatComeTogetherAreAllWarnedOfEachOther(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	var benches []*bench
	for range 2 {
		benches = append(benches, newTurnBench(t, url))
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
		benches[0].wantEachPairMet(t, ids)
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

// More than there are connections: those that come later wait for one first, and not in a turn.
func TestFiftyOrdersOfAMaLoThatComeTogetherAllSeeEachOther(t *testing.T) {
	t.Parallel()
	b := newTurnBench(t, postgrestest.NewURL(t))
	ids := make([]uuid.UUID, 50)
	var together sync.WaitGroup
	for i := range ids {
		e := marketEvent(t, pidSperrauftrag, testMalo, nil)
		together.Go(func() {
			receipt, err := b.service.Receive(t.Context(), "", e)
			if err != nil {
				t.Error(err)
			}
			ids[i] = receipt.OrderID
		})
	}
	together.Wait()
	b.wantEachPairMet(t, ids)
	for _, id := range ids {
		if got := b.about(t, id); len(got) != 6 || got[5] != "and 44 more of type sperrung are pending for this Marktlokation" {
			t.Errorf("warnings %q, want 49 orders", got)
		}
	}
}

// wantEachPairMet checks that of any two orders that are pending the one that came first
// has a line about the other one in its history.
func (b *bench) wantEachPairMet(t *testing.T, ids []uuid.UUID) {
	t.Helper()
	met := map[[2]string]int{}
	for _, id := range ids {
		for _, newer := range b.metBy(t, id) {
			met[[2]string{min(id.String(), newer), max(id.String(), newer)}]++
		}
	}
	for i, one := range ids {
		for _, other := range ids[:i] {
			if n := met[[2]string{min(one.String(), other.String()), max(one.String(), other.String())}]; n != 1 {
				t.Errorf("%d lines about orders %s and %s, want 1", n, one, other)
			}
		}
	}
}

// A report on an order and a new order beside it meet without a deadlock.
func TestReportsAndNewOrdersOfAMaLoMeetWithoutADeadlock(t *testing.T) {
	t.Parallel()
	b := newTurnBench(t, postgrestest.NewURL(t))
	var ids []uuid.UUID
	for range 8 {
		ids = append(ids, b.ordered(t, TypeSperrung))
	}
	entsperrungen := make([]uuid.UUID, len(ids))
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
			created, err := b.service.Create(t.Context(), Call{Actor: "operator"}, NewOrder{MaloID: testMalo, LieferantID: testLF, OrderType: "entsperrung"})
			if err != nil {
				t.Error(err)
			}
			entsperrungen[i] = created.Order.ID
		})
	}
	together.Wait()
	for _, id := range ids {
		order, lines := b.get(t, id), map[string]int{}
		for _, newer := range b.metBy(t, id) {
			lines[newer]++
		}
		if order.Status == StatusPending {
			t.Errorf("order %s is pending", id)
		}
		for _, newer := range entsperrungen {
			named := slices.ContainsFunc(order.Warnungen, func(w string) bool { return strings.Contains(w, newer.String()) })
			if n := lines[newer.String()]; named && n != 1 {
				t.Errorf("order %s names %s and has %d lines about it", id, newer, n)
			}
		}
	}
	b.wantEachPairMet(t, entsperrungen)
}
