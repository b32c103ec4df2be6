package sperr

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// about are the warnings of an order about others at its Marktlokation.
func (b *bench) about(t *testing.T, id uuid.UUID) []string {
	t.Helper()
	list := []string{}
	for _, w := range b.get(t, id).Warnungen {
		if strings.Contains(w, "for this Marktlokation") {
			list = append(list, w)
		}
	}
	return list
}

// ordered is an operator's order at testMalo.
func (b *bench) ordered(t *testing.T, orderType Type) uuid.UUID {
	t.Helper()
	return b.create(t, NewOrder{MaloID: testMalo, LieferantID: testLF, OrderType: string(orderType)}).ID
}

// arrived is a market order of which makod is not asked.
func (b *bench) arrived(t *testing.T, pid int, malo string) Order {
	t.Helper()
	receipt, err := b.service.Receive(t.Context(), "", marketEvent(t, pid, malo, nil))
	if err != nil || receipt.Kind != ReceiptQueued {
		t.Fatalf("receipt = %+v, %v; want a queued order", receipt, err)
	}
	return b.get(t, receipt.OrderID)
}

// hold runs SQL in a transaction that is open until release.
func (b *bench) hold(t *testing.T, sql string, args ...any) (release func()) {
	t.Helper()
	tx, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(func() { _ = tx.Rollback(t.Context()) })
	if _, err := tx.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
	return release
}

func (b *bench) holdTurn(t *testing.T, malo string) (release func()) {
	t.Helper()
	return b.hold(t, `SELECT pg_advisory_xact_lock(hashtextextended('sperr_orders/malo_id/' || $1 || '/' || $2, 0))`, testTenant, malo)
}

func TestTwoPendingOrdersOfAMaLoAreWarnedOfEachOther(t *testing.T) {
	t.Parallel()
	const clear = "; clear which of the two holds before anybody goes"
	for _, c := range []struct {
		older, newer         Type
		onTheOlder, onTheNew string // what stands around the id of the other
	}{
		{TypeSperrung, TypeSperrung, "another sperrung for this Marktlokation is pending: order %s", "another sperrung for this Marktlokation is pending: order %s"},
		{TypeEntsperrung, TypeEntsperrung, "another entsperrung for this Marktlokation is pending: order %s", "another entsperrung for this Marktlokation is pending: order %s"},
		{
			TypeSperrung, TypeEntsperrung, "an entsperrung for this Marktlokation is pending beside this sperrung: order %s" + clear,
			"a sperrung for this Marktlokation is pending beside this entsperrung: order %s" + clear,
		},
		{
			TypeEntsperrung, TypeSperrung, "a sperrung for this Marktlokation is pending beside this entsperrung: order %s" + clear,
			"an entsperrung for this Marktlokation is pending beside this sperrung: order %s" + clear,
		},
	} {
		t.Run(string(c.older+" then "+c.newer), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			older, newer := b.ordered(t, c.older), b.ordered(t, c.newer)
			if diff := cmp.Diff([]string{fmt.Sprintf(c.onTheOlder, newer)}, b.about(t, older)); diff != "" {
				t.Errorf("the older (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{fmt.Sprintf(c.onTheNew, older)}, b.about(t, newer)); diff != "" {
				t.Errorf("the newer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAWarningOnAnOlderOrderIsInItsHistoryAndInNoEvent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	older := b.arrived(t, pidSperrauftrag, testMalo)
	call := keyed(idA, idA)
	created, err := b.service.Create(t.Context(), call, NewOrder{MaloID: testMalo, LieferantID: testLF, OrderType: "sperrung"})
	if err != nil {
		t.Fatal(err)
	}
	entsperrung := b.arrived(t, pidEntsperrauftrag, testMalo)
	history, err := b.repo.History(t.Context(), older.ID)
	if err != nil {
		t.Fatal(err)
	}
	type line struct{ action, actor, transaction, detail string }
	var got []line
	for _, h := range history[1:] {
		if h.From == nil || *h.From != StatusPending || h.To != StatusPending || !h.At.Equal(testNow) {
			t.Errorf("line %+v; want it from pending to pending, now", h)
		}
		got = append(got, line{h.Action, h.Actor, text(h.TransactionID), string(h.Detail)})
	}
	want := []line{
		{"another_order_pending", "team", idA, fmt.Sprintf(`{"order_id": %q}`, created.Order.ID)},
		{"another_order_pending", actorMarket, "", fmt.Sprintf(`{"order_id": %q}`, entsperrung.ID)},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(line{})); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{EventAuftragEingegangen}, b.events(t, older.ID)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{actionCreated}, b.actions(t, entsperrung.ID)); diff != "" {
		t.Errorf("history of the newest (-want +got):\n%s", diff)
	}
}

func TestOrdersThatAreClosedOrElsewhereAreNoneToWarnOf(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	foreign := newBenchOn(t, b.pool, "9900000000001")
	executed, cancelled := b.receive(t, pidSperrauftrag, testMalo), b.arrived(t, pidSperrauftrag, otherMalo)
	if _, err := b.service.Execute(t.Context(), Call{Actor: "team"}, executed.ID, ExecuteReport{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.service.Cancel(t.Context(), Call{Actor: "operator"}, cancelled.ID, ""); err != nil {
		t.Fatal(err)
	}
	first := b.arrived(t, pidEntsperrauftrag, testMalo).ID // of a Sperrung that was done
	for _, id := range []uuid.UUID{
		executed.ID, cancelled.ID, first, b.arrived(t, pidSperrauftrag, otherMalo).ID,
		b.arrived(t, pidSperrauftrag, maloWith(1)).ID,
	} {
		if got := b.about(t, id); len(got) != 0 {
			t.Errorf("warnings %q, want none", got)
		}
	}
	if got := foreign.about(t, foreign.ordered(t, TypeSperrung)); len(got) != 0 || len(b.about(t, first)) != 0 {
		t.Errorf("warnings %q of another Netzbetreiber's order", got)
	}
}

func TestARedeliveryWarnsNobodyAndWaitsForNobody(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	b := newBench(t, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	older := b.ordered(t, TypeSperrung)
	e := marketEvent(t, pidSperrauftrag, testMalo, nil)
	receipt, err := b.service.Receive(t.Context(), "", e)
	if err != nil {
		t.Fatal(err)
	}
	before := []Order{b.get(t, older), b.get(t, receipt.OrderID)}
	defer b.holdTurn(t, testMalo)()
	for range 3 {
		if again, err := b.service.Receive(t.Context(), "", e); err != nil || again.Kind != ReceiptRedelivery {
			t.Fatalf("redelivery = %+v, %v", again, err)
		}
	}
	if diff := cmp.Diff(before, []Order{b.get(t, older), b.get(t, receipt.OrderID)}); diff != "" {
		t.Errorf("a redelivery changed an order (-want +got):\n%s", diff)
	}
	if strings.Contains(log.String(), "same moment") {
		t.Errorf("a redelivery waited for its turn: %s", &log)
	}
}

func TestALockedOrderIsNamedAndPassedOver(t *testing.T) {
	t.Parallel()
	for _, lock := range []string{"FOR UPDATE", "FOR NO KEY UPDATE", "FOR SHARE"} {
		t.Run(lock, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			locked, free := b.ordered(t, TypeSperrung), b.ordered(t, TypeSperrung)
			before := b.about(t, locked)
			defer b.hold(t, `SELECT FROM sperr_orders WHERE id = $1 `+lock, locked)()
			for range 2 {
				newer := b.arrived(t, pidSperrauftrag, testMalo).ID
				for _, named := range []uuid.UUID{locked, free} {
					if got := b.about(t, newer); !slices.ContainsFunc(got, func(w string) bool { return strings.Contains(w, named.String()) }) {
						t.Errorf("warnings %q, want order %s named", got, named)
					}
				}
				if got := b.about(t, free); !slices.ContainsFunc(got, func(w string) bool { return strings.Contains(w, newer.String()) }) {
					t.Errorf("warnings %q of the free order, want order %s named", got, newer)
				}
			}
			if diff := cmp.Diff(before, b.about(t, locked)); diff != "" {
				t.Errorf("the locked order (-want +got):\n%s", diff)
			}
		})
	}
}

func TestATurnThatDoesNotComeCostsNoOrder(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	b := newBench(t, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	older := b.ordered(t, TypeSperrung)
	release := b.holdTurn(t, testMalo)
	defer release()
	b.arrived(t, pidSperrauftrag, otherMalo) // has turns of its own
	if strings.Contains(log.String(), "level=WARN") {
		t.Errorf("log %s; want nobody to wait for another Marktlokation", &log)
	}
	newer := b.arrived(t, pidSperrauftrag, testMalo)
	if got := b.about(t, newer.ID); len(got) != 1 || !strings.HasSuffix(got[0], older.String()) {
		t.Errorf("warnings %q, want what is known to stand there", got)
	}
	if !strings.Contains(log.String(), "order_id="+newer.ID.String()) {
		t.Errorf("log %s; want the order of which a warning may be missing", &log)
	}
}

// Of many orders a few are named on each side, and the rest is counted or told of once.
func TestOfManyPendingOrdersAFewAreNamed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.ordered(t, TypeSperrung)
	var last uuid.UUID
	for range 20 {
		last = b.ordered(t, TypeSperrung)
	}
	named := func(w string) bool { return strings.HasPrefix(w, "another sperrung") }
	for id, rest := range map[uuid.UUID]string{
		first: "still more of type sperrung are pending for this Marktlokation",
		last:  "and 15 more of type sperrung are pending for this Marktlokation",
	} {
		got := b.about(t, id)
		if len(got) != 6 || got[5] != rest || len(slices.DeleteFunc(got, named)) != 1 {
			t.Errorf("warnings %q; want five orders named and %q", got, rest)
		}
	}
	entsperrung := b.ordered(t, TypeEntsperrung)
	for _, id := range []uuid.UUID{first, last} {
		if got := b.about(t, id); len(got) != 7 || !strings.Contains(got[6], "pending beside this sperrung: order "+entsperrung.String()) {
			t.Errorf("warnings %q; want the Entsperrung named beside any number of Sperrungen", got)
		}
	}
	if n := column[int](t, b.pool, `SELECT max(cardinality(warnungen)) FROM sperr_orders`)[0]; n > 10 {
		t.Errorf("%d warnings on an order", n)
	}
}

func TestAThousandPendingOrdersDoNotMakeIntakeWriteAThousandRows(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(t, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type) SELECT $1, $2, $3, 'sperrung' FROM generate_series(1, 1000)`,
		testTenant, testMalo, testLF)
	newer := b.ordered(t, TypeEntsperrung)
	if got := b.about(t, newer); len(got) != 6 || got[5] != "and 995 more of type sperrung are pending for this Marktlokation" {
		t.Errorf("warnings %q", got)
	}
	if n := column[int](t, b.pool, `SELECT count(*)::int FROM sperr_orders WHERE warnungen <> '{}' AND id <> $1`, newer)[0]; n != maxWarned {
		t.Errorf("%d orders written to, want %d", n, maxWarned)
	}
}

// A new order whose answer cannot be kept leaves no warning behind.
func TestAnOrderThatIsRolledBackWarnsNobody(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	older := b.ordered(t, TypeSperrung)
	before := b.get(t, older)
	undone := fmt.Errorf("undone")
	err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		order, err := NewOrder{MaloID: testMalo, LieferantID: testLF, OrderType: "sperrung"}.order(testTenant, b.service.Calendar, testNow)
		if err != nil {
			return err
		}
		if _, inserted, err := b.service.add(t.Context(), tx, Call{Actor: "operator"}, order); err != nil || !inserted {
			return fmt.Errorf("inserted %v: %w", inserted, err)
		}
		return undone
	})
	if err != undone { //nolint:errorlint // the very error that the function returned
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, b.get(t, older)); diff != "" {
		t.Errorf("the older order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{actionCreated}, b.actions(t, older)); diff != "" {
		t.Errorf("its history (-want +got):\n%s", diff)
	}
}
