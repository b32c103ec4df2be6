package sperr

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

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
			release := b.hold(t, `SELECT FROM sperr_orders WHERE id = $1 `+lock, locked)
			defer release()
			var came []string
			for range 2 {
				newer := b.arrived(t, pidSperrauftrag, testMalo).ID
				came = append(came, newer.String())
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
			release()
			came = append(came, b.arrived(t, pidSperrauftrag, testMalo).ID.String())
			for _, newer := range came {
				if got := b.about(t, locked); !slices.ContainsFunc(got, func(w string) bool { return strings.Contains(w, newer) }) {
					t.Errorf("warnings %q when it is free again, want order %s named", got, newer)
				}
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

// The transaction goes on after a turn that did not come, and waits for locks as any other.
func TestAWaitForATurnLeavesTheTransactionAsItWas(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, comes := range []bool{true, false} {
		release := b.holdTurn(t, testMalo)
		err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
			wait := 30 * time.Millisecond
			if comes {
				wait = writeTimeout
				go func() {
					b.awaitAdvisoryLock(t)
					release()
				}()
			}
			taken, err := b.repo.takeTurn(t.Context(), tx, testMalo, wait)
			if err != nil {
				return err
			}
			var timeout string
			if err := tx.QueryRow(t.Context(), `SHOW lock_timeout`).Scan(&timeout); err != nil {
				return err
			}
			if taken != comes || timeout != "5s" {
				t.Errorf("turn taken: %v, want %v; lock_timeout %s, want that of the connection", taken, comes, timeout)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		release()
	}
}

// awaitAdvisoryLock returns when a session waits for an advisory lock.
func (b *bench) awaitAdvisoryLock(t *testing.T) {
	t.Helper()
	for waiting := false; !waiting; {
		err := b.pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = 'advisory')`).Scan(&waiting)
		if err != nil {
			t.Error(err)
			return
		}
	}
}
