package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/makod/makodtest"
	"sperrd/internal/outbox/erptest"
	"sperrd/internal/sperr"
)

func TestReplicas_give_each_outcome_to_makod_and_each_event_to_the_ERP_once(t *testing.T) {
	t.Parallel()
	n := newNeighbourhood(t, unhurried("max_per_second = 0"))
	types := []string{sperr.EventAuftragEingegangen, sperr.EventVersuchGescheitert, sperr.EventAusgefuehrt}
	seeds := n.seed(t, sperr.StatusExecuted, 200, types...)
	// No replica gets anything done before all of them are at work.
	gate, erpGate := n.Hold(), n.erp.Hold()
	defer gate.Release()
	defer erpGate.Release()
	n.replicas(t, 2)
	gate.Release()
	erpGate.Release()

	n.awaitDone(t)

	n.wantInformed(t, seeds, 1)
	n.wantAccepted(t, seeds, 0, types...)
	if got := n.text(t, `SELECT max(iftsta_attempts) FROM sperr_orders`); got != "1" {
		t.Errorf("%s attempts; want 1", got)
	}
}

// makodFaults are what goes wrong with the commands of an order, one after the other, and how
// many attempts that costs together with the one that succeeds.
var makodFaults = []struct {
	faults   []makodtest.Fault
	attempts string
}{
	{[]makodtest.Fault{makodtest.EngineError(), makodtest.Applied(makodtest.Drop()), makodtest.Unauthorized()}, "4"},
	{[]makodtest.Fault{makodtest.Hang(), makodtest.IdempotencyUnavailable("1"), makodtest.Drop()}, "3"}, // put off is not tried
	{[]makodtest.Fault{makodtest.InvalidPayload(), makodtest.BadGateway(), makodtest.Applied(makodtest.EngineError())}, "4"},
}

// endBackoffs makes due what waits after a failure, once nothing else is going on. A
// lease is seven seconds, and no backoff but the one that a neighbour wishes is that short.
func (n *neighbourhood) endBackoffs(t *testing.T) (left bool) {
	t.Helper()
	n.awaitText(t, "0", unsent+` AND (iftsta_in_flight OR iftsta_next_attempt_at <= now() + interval '8 s')`)
	n.awaitText(t, "0", undelivered+` AND next_attempt_at <= now() + interval '8 s'`)
	// A server learns late that a client has gone.
	await(t, func() (bool, string) {
		for _, r := range n.Requests() {
			if r.End.IsZero() {
				return false, "a command is under way"
			}
		}
		for _, d := range n.erp.Deliveries() {
			if d.Ended.IsZero() {
				return false, "a delivery is under way"
			}
		}
		return true, ""
	})
	if n.text(t, unsent) == "0" && n.text(t, undelivered) == "0" {
		return false
	}
	n.exec(t, endLeases)
	return true
}

func TestReplicas_get_everything_through_neighbours_that_fail_in_every_way(t *testing.T) {
	t.Parallel()
	n := newNeighbourhood(t, impatient("2s", "7s", "max_per_second = 0"))
	types := []string{sperr.EventAuftragEingegangen, sperr.EventAusgefuehrt}
	seeds := n.seed(t, sperr.StatusExecuted, 30, types...)
	for i, s := range seeds {
		for _, fault := range makodFaults[i%len(makodFaults)].faults {
			n.FailNextFor(s.malo, 1, fault)
		}
	}
	const taken = 5 // with an answer that is lost
	for _, fault := range []erptest.Fault{
		erptest.Answer(http.StatusInternalServerError), erptest.Busy(time.Second), erptest.Hang(), erptest.Drop(),
		erptest.Applied(erptest.Drop()), erptest.Answer(http.StatusNotFound),
	} {
		n.erp.FailNext(taken, fault)
	}
	n.replicas(t, 2)

	for n.endBackoffs(t) {
	}

	n.wantInformed(t, seeds, 4)
	n.wantAccepted(t, seeds, taken, types...)
	for i, s := range seeds {
		want := makodFaults[i%len(makodFaults)].attempts
		if got := n.text(t, `SELECT iftsta_attempts FROM sperr_orders WHERE id = $1`, s.id); got != want {
			t.Errorf("order %d: %s attempts; want %s", i, got, want)
		}
	}
}

// outcome is what one way to end an order leads to.
type outcome struct {
	verb, body string
	status     sperr.Status
	event      string
	code       string // of the IFTSTA; empty: none
}

var outcomes = []outcome{
	{"cancel", "", sperr.StatusCancelled, sperr.EventStorniert, ""},
	{"execute", "", sperr.StatusExecuted, sperr.EventAusgefuehrt, "Z14"},
	{
		"fail", `{"reason":"Verfuegung","pruefschritt_code":"A01","endgueltig":true}`,
		sperr.StatusFailed, sperr.EventFehlgeschlagen, "Z13",
	},
}

// race reports all outcomes of an order at the same time, each to another replica than
// the one before, and returns the one that won.
func race(t *testing.T, replicas []*instance, turn int, s seed) (won []outcome) {
	t.Helper()
	var mu sync.Mutex
	var racing sync.WaitGroup
	for k, o := range outcomes {
		racing.Go(func() {
			i := replicas[(turn+k)%len(replicas)]
			status, body, err := i.call(t.Context(), http.MethodPut, "/api/v1/sperr-orders/"+s.id+"/"+o.verb, o.body)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && status == http.StatusNoContent:
				won = append(won, o)
			case err != nil || status != http.StatusConflict || !strings.Contains(body, "order_not_pending"):
				t.Errorf("%s: %d %s %v; want 204 or a 409", o.verb, status, body, err)
			}
		})
	}
	racing.Wait()
	return won
}

func TestReplicas_let_one_of_cancel_execute_and_fail_win(t *testing.T) {
	t.Parallel()
	n := newNeighbourhood(t, unhurried(""))
	seeds := n.seed(t, sperr.StatusPending, 100)
	replicas := n.replicas(t, 2)
	winners := make([][]outcome, len(seeds))
	var racing sync.WaitGroup
	lanes := make(chan struct{}, 10)
	for turn, s := range seeds {
		lanes <- struct{}{}
		racing.Go(func() {
			winners[turn] = race(t, replicas, turn, s)
			<-lanes
		})
	}
	racing.Wait()
	n.awaitDone(t)

	wins := map[string]int{}
	for turn, s := range seeds {
		if len(winners[turn]) != 1 {
			t.Fatalf("%d winners: %v", len(winners[turn]), winners[turn])
		}
		o := winners[turn][0]
		wins[o.verb]++
		wantOutcome(t, n, s, o)
	}
	if len(wins) < len(outcomes) {
		t.Logf("not every outcome has won a race: %v", wins)
	}
}

// wantOutcome checks that row, events and IFTSTA are those of the winner and of nobody else.
func wantOutcome(t *testing.T, n *neighbourhood, s seed, o outcome) {
	t.Helper()
	var codes []string
	for _, m := range n.IFTSTAFor(s.malo) {
		codes = append(codes, m.Code)
	}
	var want []string
	if o.code != "" {
		want = []string{o.code}
	}
	if diff := cmp.Diff(want, codes); diff != "" || len(n.RequestsFor(s.key())) != len(want) {
		t.Errorf("%s: %d commands, IFTSTA (-want +got):\n%s", o.verb, len(n.RequestsFor(s.key())), diff)
	}
	if diff := cmp.Diff([]string{o.event}, n.erp.AcceptedFor(s.id)); diff != "" {
		t.Errorf("%s: events (-want +got):\n%s", o.verb, diff)
	}
	if got := n.text(t, `SELECT status FROM sperr_orders WHERE id = $1`, s.id); got != string(o.status) {
		t.Errorf("%s: the order is %s", o.verb, got)
	}
}

func TestReplica_that_stops_finishes_what_it_sends_and_gives_back_what_it_does_not(t *testing.T) {
	t.Parallel()
	n := newNeighbourhood(t, unhurried("max_per_second = 1\nparallelism = 8"))
	seeds := n.seed(t, sperr.StatusExecuted, 12, sperr.EventAusgefuehrt)
	gate, erpGate := n.Hold(), n.erp.Hold()
	defer gate.Release()
	defer erpGate.Release()
	i := n.replicas(t, 1)[0]
	// All eight are claimed, but the pace lets go one each second.
	if err := gate.Wait(patient(t), 1); err != nil {
		t.Fatal(err)
	}
	n.awaitText(t, "8", unsent+` AND iftsta_in_flight`)
	if err := erpGate.Wait(patient(t), 8); err != nil {
		t.Fatal(err)
	}

	i.stop()
	whileStopping(t, i)
	erpGate.Release()
	n.awaitText(t, "4", undelivered) // one kind of work being finished does not end the other
	gate.Release()

	if code := i.awaitExit(t); code != exitOK {
		t.Errorf("exit code %d; want 0\n%s", code, i.log.String())
	}
	sent := len(n.Requests())
	if sent == len(seeds) || sent > 7 {
		t.Fatalf("%d commands; nothing was left to give back", sent)
	}
	want := fmt.Sprintf("dispatched %d, as new %d; delivered 8, as new 4", sent, len(seeds)-sent)
	got := n.text(t, `
		SELECT format('dispatched %s, as new %s; delivered %s, as new %s',
			(SELECT count(iftsta_dispatched_at) FROM sperr_orders),
			(SELECT count(*) FROM sperr_orders WHERE iftsta_dispatched_at IS NULL AND iftsta_attempts = 0
				AND iftsta_next_attempt_at <= now() AND iftsta_resets = 0 AND NOT iftsta_in_flight AND NOT iftsta_unklar),
			(SELECT count(delivered_at) FROM event_outbox),
			(SELECT count(*) FROM event_outbox WHERE delivered_at IS NULL AND attempts = 0
				AND next_attempt_at <= now() AND first_attempt_at IS NULL))`)
	if got != want {
		t.Errorf("%s; want %s", got, want)
	}
}
