package sperr

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
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

// metBy are the new orders in the history of an order beside which they came.
func (b *bench) metBy(t *testing.T, id uuid.UUID) []string {
	t.Helper()
	return column[string](t, b.pool, `SELECT detail ->> 'order_id' FROM sperr_order_history
		WHERE order_id = $1 AND action = 'another_order_pending' ORDER BY id`, id)
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
	call := keyed(idB, idA)
	call.Attempt.Reference = "ticket 7"
	created, err := b.service.Create(t.Context(), call, NewOrder{MaloID: testMalo, LieferantID: testLF, OrderType: "sperrung"})
	if err != nil {
		t.Fatal(err)
	}
	entsperrung := b.arrived(t, pidEntsperrauftrag, testMalo)
	history, err := b.repo.History(t.Context(), older.ID)
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		action, actor, transaction string
		detail                     map[string]string
	}
	var got []line
	for _, h := range history[1:] {
		if h.From == nil || *h.From != StatusPending || h.To != StatusPending || !h.At.Equal(testNow) {
			t.Errorf("line %+v; want it from pending to pending, now", h)
		}
		var detail map[string]string
		if err := json.Unmarshal(h.Detail, &detail); err != nil {
			t.Fatal(err)
		}
		got = append(got, line{h.Action, h.Actor, text(h.TransactionID), detail})
	}
	want := []line{
		{"another_order_pending", "team", idB, map[string]string{
			"order_id": created.Order.ID.String(), "initial_transaction_id": idA, "reference_id": "ticket 7",
		}},
		{"another_order_pending", actorMarket, "", map[string]string{"order_id": entsperrung.ID.String()}},
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

// A report may be of a later moment than the new order: another process has a clock of its own.
func TestAWarningLeavesALaterChangeTheLastOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	older, later := b.ordered(t, TypeSperrung), testNow.Add(time.Hour)
	for _, c := range []struct{ before, want time.Time }{{later, later}, {testNow.Add(-time.Hour), testNow}} {
		b.exec(t, `UPDATE sperr_orders SET updated_at = $2 WHERE id = $1`, older, c.before)
		newer := b.ordered(t, TypeSperrung).String()
		got := b.get(t, older)
		if named := slices.ContainsFunc(got.Warnungen, func(w string) bool { return strings.Contains(w, newer) }); !named || !got.UpdatedAt.Equal(c.want) {
			t.Errorf("updated_at %s with %q, want %s and order %s named", got.UpdatedAt, got.Warnungen, c.want, newer)
		}
	}
}

// What an order shows and what stands in its row are not the same.
func TestWarningsThatFollowFromTheRowAreNotWrittenIntoIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(t, `CREATE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.fruehestens_am := 'infinity'; RETURN NEW; END $$`)
	b.ordered(t, TypeSperrung)
	b.exec(t, `CREATE TRIGGER odd BEFORE INSERT ON sperr_orders FOR EACH ROW EXECUTE FUNCTION odd()`)
	newer := b.ordered(t, TypeSperrung)
	stored := column[[]string](t, b.pool, `SELECT warnungen FROM sperr_orders WHERE id = $1`, newer)[0]
	shown := b.get(t, newer).Warnungen
	if derived := len(shown) - len(stored); derived != 1 || len(b.about(t, newer)) != 1 {
		t.Errorf("stored %q, shown %q; want the other order in both and the odd day in the second", stored, shown)
	}
}
