package outbox

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/outbox/erptest"
)

// moved runs a repair in a transaction of its own.
func (b *bench) moved(t *testing.T, repair func(tx pgx.Tx) ([]Moved, error)) (list []Moved) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) (err error) {
		list, err = repair(tx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (b *bench) requeue(t *testing.T, s Selection) []Moved {
	t.Helper()
	return b.moved(t, func(tx pgx.Tx) ([]Moved, error) { return Requeue(t.Context(), tx, s) })
}

func (b *bench) kill(t *testing.T, where string) {
	t.Helper()
	b.exec(t, `UPDATE event_outbox SET dead_lettered_at = now(), attempts = 90, last_error = 'boom',
		first_attempt_at = now() - interval '200 h', next_attempt_at = now() + interval '1 h' WHERE `+where)
}

func TestARequeuedDeadLetterStartsAgainFromTheBeginning(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.pairs(t, 1)[0]
	b.kill(t, `event_id = 'first-0'`)
	b.round(t) // delivers the second
	want := []Moved{{EventID: "first-0", Type: "first", OrderID: order, Seq: 1}}
	if diff := cmp.Diff(want, b.requeue(t, Selection{Tenant: tenant, EventIDs: []string{"first-0", "second-0", "unknown"}})); diff != "" {
		t.Errorf("requeued (-want +got):\n%s", diff)
	}
	got := b.row(t, "first-0")
	if got.DeadLetterAt != nil || got.Attempts != 0 || got.FirstAttemptAt != nil || got.Wait > 0 ||
		got.LastError == nil || *got.LastError != "boom" {
		t.Errorf("requeued: %+v", got)
	}
	b.round(t)
	if diff := cmp.Diff([]string{"second", "first"}, b.erp.AcceptedFor(order.String())); diff != "" {
		t.Errorf("accepted (-want +got):\n%s", diff)
	}
}

func TestRequeueWithoutIDsMeansAllOfTheTenantWithinItsBound(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.pairs(t, 600)
	b.kill(t, `event_id <> 'second-0'`)
	if got := b.requeue(t, Selection{Tenant: "9900000000002"}); len(got) != 0 {
		t.Fatalf("%d dead letters of another tenant requeued", len(got))
	}
	first := b.requeue(t, Selection{Tenant: tenant})
	if len(first) != MaxMoved || first[0].EventID != "first-0" || first[1].EventID != "first-1" {
		t.Fatalf("%d requeued, beginning with %+v", len(first), first[:2])
	}
	b.kill(t, `event_id = 'first-0'`) // dies again: the call that goes on does not move it twice
	rest := b.requeue(t, Selection{Tenant: tenant, After: first[len(first)-1].Seq})
	if len(rest) != 199 || b.count(t, `dead_lettered_at IS NOT NULL`) != 1 {
		t.Errorf("%d requeued by the second call, want 199 and one left", len(rest))
	}
}

func TestARequeueThatIsRolledBackDidNotHappen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.one(t, "a")
	b.kill(t, `true`)
	err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		if _, err := Requeue(t.Context(), tx, Selection{Tenant: tenant}); err != nil {
			return err
		}
		return context.Canceled
	})
	if err == nil || b.count(t, `dead_lettered_at IS NOT NULL`) != 1 {
		t.Errorf("%v; the dead letter is gone", err)
	}
}

func TestDepthCountsWhatTheERPDoesNotHave(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	depth := func(tenant string) Depth {
		d, err := ReadDepth(t.Context(), b.pool, tenant)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if diff := cmp.Diff(Depth{}, depth(tenant)); diff != "" {
		t.Errorf("empty (-want +got):\n%s", diff)
	}
	b.pairs(t, 3)
	b.exec(t, `UPDATE event_outbox SET created_at = now() - interval '1 h' * seq`)
	b.exec(t, `UPDATE event_outbox SET delivered_at = now() WHERE event_id = 'second-2'`)
	b.kill(t, `event_id IN ('second-1', 'first-2')`)
	got := depth(tenant)
	if got.Pending != 3 || got.DeadLetters != 2 || got.OldestPending == nil {
		t.Fatalf("depth %+v, want 3 pending and 2 dead letters", got)
	}
	if b.count(t, `event_id = 'first-1' AND created_at = '`+got.OldestPending.Format("2006-01-02T15:04:05.999999Z07:00")+`'`) != 1 {
		t.Errorf("oldest pending at %v", got.OldestPending)
	}
	if diff := cmp.Diff(Depth{}, depth("9900000000002")); diff != "" {
		t.Errorf("another tenant (-want +got):\n%s", diff)
	}
}

func TestListsAreBoundedAndOldestFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.pairs(t, 3)
	b.exec(t, `UPDATE event_outbox SET delivered_at = now() WHERE event_id = 'first-0'`)
	b.kill(t, `event_id LIKE 'second-%'`)
	b.exec(t, `UPDATE event_outbox SET dead_lettered_at = now() - interval '1 h' WHERE event_id = 'second-2'`)
	for _, c := range []struct {
		options ListOptions
		want    []string
		more    bool
	}{
		{ListOptions{Tenant: tenant, Limit: 2}, []string{"first-1", "first-2"}, false},
		{ListOptions{Tenant: tenant, Limit: 1}, []string{"first-1"}, true},
		{ListOptions{Tenant: tenant, Limit: 2, DeadLetters: true}, []string{"second-2", "second-0"}, true},
		{ListOptions{Tenant: "9900000000002", Limit: 2}, nil, false},
		{ListOptions{Tenant: "9900000000002", Limit: 2, DeadLetters: true}, nil, false},
	} {
		list, more, err := List(t.Context(), b.pool, c.options)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range list {
			got = append(got, r.EventID)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || more != c.more {
			t.Errorf("%+v: more %v (-want +got):\n%s", c.options, more, diff)
		}
	}
	list, _, err := List(t.Context(), b.pool, ListOptions{Tenant: tenant, Limit: 1, DeadLetters: true})
	if err != nil {
		t.Fatal(err)
	}
	if r := list[0]; r.Type != "second" || r.Attempts != 90 || r.FirstAttemptAt == nil || r.DeadLetteredAt == nil || *r.LastError != "boom" {
		t.Errorf("row: %+v", r)
	}
}

func TestHurryEndsTheWaitOfWhatNobodyHasInHand(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.pairs(t, 3)
	b.erp.Fail(erptest.Answer(503))
	b.round(t) // each first one waits 15 s or more, its second one with it
	b.erp.Recover()
	b.exec(t, `UPDATE event_outbox SET next_attempt_at = now() + interval '2 h' WHERE event_id IN ('first-0', 'second-0')`)
	b.exec(t, `UPDATE event_outbox SET next_attempt_at = now() + interval '50 s' WHERE event_id IN ('first-1', 'second-1')`) // within a lease
	b.kill(t, `event_id IN ('first-2', 'second-2')`)
	hurry := func(s Selection) []Moved {
		return b.moved(t, func(tx pgx.Tx) ([]Moved, error) { return Hurry(t.Context(), tx, s, b.Lease) })
	}
	if list := hurry(Selection{Tenant: "9900357000011"}); len(list) != 0 {
		t.Errorf("another tenant hurried %v", list)
	}
	hurried := hurry(Selection{Tenant: tenant})
	var ids []string
	for _, e := range hurried {
		ids = append(ids, e.EventID)
	}
	if diff := cmp.Diff([]string{"first-0", "second-0"}, ids); diff != "" {
		t.Errorf("hurried (-want +got):\n%s", diff)
	}
	b.round(t)
	b.round(t)
	if n := b.count(t, `delivered_at IS NOT NULL`); n != 2 {
		t.Errorf("%d events are delivered, want the two", n)
	}
}

func TestHurryLeavesAloneWhatIsClaimedBesideIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.one(t, "a")
	err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), `SELECT now()`); err != nil { // the transaction is older than the claim
			return err
		}
		b.claimed(t, 1)
		moved, err := Hurry(t.Context(), tx, Selection{Tenant: tenant}, b.Lease)
		if len(moved) != 0 {
			t.Errorf("moved %v, which is on its way", moved)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestHurryGoesOnAfterItsPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.pairs(t, 2)
	b.exec(t, `UPDATE event_outbox SET next_attempt_at = now() + interval '2 h'`)
	moved := b.moved(t, func(tx pgx.Tx) ([]Moved, error) {
		return Hurry(t.Context(), tx, Selection{Tenant: tenant, After: 2}, b.Lease)
	})
	if len(moved) != 2 || moved[0].Seq != 3 {
		t.Errorf("moved %v, want the two after the second", moved)
	}
}
