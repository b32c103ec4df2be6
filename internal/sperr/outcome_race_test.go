package sperr

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

func TestExactlyOneTerminalOutcomePerOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const orders = 40
	ids := make([]uuid.UUID, orders)
	for i := range ids {
		ids[i] = b.receive(t, pidSperrauftrag, maloWith(i)).ID
	}
	var wg sync.WaitGroup
	won := make([][3]error, orders)
	for i, id := range ids {
		acts := [3]func() error{
			func() error {
				_, err := b.service.Execute(t.Context(), Call{Actor: "a"}, id, ExecuteReport{})
				return err
			},
			func() error {
				_, err := b.service.Fail(t.Context(), Call{Actor: "b"}, id, FailReport{Reason: "x", PruefschrittCode: ptr("A01"), Endgueltig: true})
				return err
			},
			func() error { return second(b.service.Cancel(t.Context(), Call{Actor: "c"}, id, "")) },
		}
		for j, act := range acts {
			wg.Go(func() { won[i][j] = act() })
		}
	}
	wg.Wait()
	outcomes := [3]Status{StatusExecuted, StatusFailed, StatusCancelled}
	events := [3]string{EventAusgefuehrt, EventFehlgeschlagen, EventStorniert}
	for i, id := range ids {
		winner := -1
		for j, err := range won[i] {
			var closed *NotPendingError
			switch {
			case err == nil && winner < 0:
				winner = j
			case err == nil:
				t.Fatalf("order %d has two winners", i)
			case !errors.As(err, &closed):
				t.Fatalf("order %d: loser got %v, want *NotPendingError", i, err)
			}
		}
		if winner < 0 {
			t.Fatalf("order %d has no winner: %v", i, won[i])
		}
		if got := b.get(t, id).Status; got != outcomes[winner] {
			t.Errorf("order %d is %s, but %s won", i, got, outcomes[winner])
		}
		if diff := cmp.Diff([]string{EventAuftragEingegangen, events[winner]}, b.events(t, id)); diff != "" {
			t.Errorf("order %d, events (-want +got):\n%s", i, diff)
		}
		sent := len(b.makod.RequestsFor("sperrd-iftsta-" + id.String()))
		if want := map[bool]int{true: 0, false: 1}[outcomes[winner] == StatusCancelled]; sent != want {
			t.Errorf("order %d: %d commands, want %d", i, sent, want)
		}
	}
}

func TestAClosingReportHoldsOnlyForTheVisitsItWasJudgedBy(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	judged, err := b.service.failed(order, FailReport{Reason: "x", PruefschrittCode: ptr("A01"), Endgueltig: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.service.Fail(t.Context(), Call{Actor: "b"}, order.ID, FailReport{Reason: "y"}); err != nil {
		t.Fatal(err)
	}
	err = pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		return second(b.service.closeOrder(t.Context(), tx, Call{Actor: "a"}, order, judged.closing))
	})
	if !errors.Is(err, errVisitMeanwhile) {
		t.Errorf("closeOrder = %v, want that a visit came between", err)
	}
	report, err := b.service.Fail(t.Context(), Call{Actor: "a"}, order.ID, FailReport{Reason: "x", PruefschrittCode: ptr("A01"), Endgueltig: true})
	if err != nil || report.Order.Sperrversuche != 2 {
		t.Errorf("judged again: %+v, %v; want both visits counted", report.Order, err)
	}
}

func TestConcurrentFirstVisitsCountOneByOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = b.service.Fail(t.Context(), Call{Actor: fmt.Sprint(i)}, order.ID, FailReport{Reason: "x", PruefschrittCode: ptr("A08")})
		})
	}
	wg.Wait()
	recorded := 0
	for _, err := range errs {
		var closed *NotPendingError
		if err == nil {
			recorded++
		} else if !errors.As(err, &closed) {
			t.Errorf("unexpected error: %v", err)
		}
	}
	if got := b.get(t, order.ID); recorded != 2 || got.Status != StatusFailed || got.Sperrversuche != 2 {
		t.Errorf("%d visits recorded, order %s with %d; want 2, failed with 2", recorded, got.Status, got.Sperrversuche)
	}
	if diff := cmp.Diff([]string{EventAuftragEingegangen, EventVersuchGescheitert, EventFehlgeschlagen}, b.events(t, order.ID)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestStateHistoryAndEventAreOneTransaction(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	b.exec(t, `CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'outbox is broken'; END $$`)
	b.exec(t, `CREATE TRIGGER broken BEFORE INSERT ON event_outbox FOR EACH ROW EXECUTE FUNCTION broken()`)
	acts := map[string]func() error{
		"execute": func() error {
			_, err := b.service.Execute(t.Context(), Call{Actor: "a"}, order.ID, ExecuteReport{})
			return err
		},
		"visit": func() error {
			_, err := b.service.Fail(t.Context(), Call{Actor: "a"}, order.ID, FailReport{Reason: "x"})
			return err
		},
		"cancel": func() error { return second(b.service.Cancel(t.Context(), Call{Actor: "a"}, order.ID, "")) },
		"receive": func() error {
			_, err := b.service.Receive(t.Context(), "", marketEvent(t, pidSperrauftrag, otherMalo, nil))
			return err
		},
		"create": func() error {
			_, err := b.service.Create(t.Context(), Call{Actor: "a"}, NewOrder{MaloID: otherMalo, LieferantID: testLF, OrderType: "sperrung"})
			return err
		},
	}
	for name, act := range acts {
		if err := act(); err == nil || !strings.Contains(err.Error(), "outbox is broken") {
			t.Errorf("%s = %v, want the outbox's error", name, err)
		}
	}
	if diff := cmp.Diff(order, b.get(t, order.ID)); diff != "" {
		t.Errorf("the order changed without its event:\n%s", diff)
	}
	if n := column[int](t, b.pool, `SELECT count(*)::int FROM sperr_orders`)[0]; n != 1 {
		t.Errorf("%d orders, want 1", n)
	}
	if diff := cmp.Diff([]string{actionCreated}, b.actions(t, order.ID)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	if n := len(b.makod.Requests()); n != 0 {
		t.Errorf("makod was told %d times of outcomes that do not exist", n)
	}
}

func TestAClientThatHangsUpAbortsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	gate := b.makod.Hold()
	ctx, hangUp := context.WithCancel(t.Context())
	done := make(chan Result)
	go func() {
		report, err := b.service.Execute(ctx, Call{Actor: "team"}, order.ID, ExecuteReport{})
		if err != nil {
			t.Error(err)
		}
		done <- report
	}()
	if err := gate.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	hangUp()
	gate.Release()
	if report := <-done; report.IFTSTA != DispatchDone {
		t.Errorf("report = %+v, want dispatched", report)
	}
	if got := b.get(t, order.ID); got.IFTSTADispatchedAt == nil || len(b.makod.IFTSTA()) != 1 {
		t.Errorf("order = %+v, %d IFTSTA", got, len(b.makod.IFTSTA()))
	}
}
