package main

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/makod/makodtest"
	"sperrd/internal/outbox/erptest"
	"sperrd/internal/sperr"
)

// witness proves that the replicas have looked for work since the call: it waits for
// their work on another order.
func (n *neighbourhood) witness(t *testing.T) seed {
	t.Helper()
	w := n.seed(t, sperr.StatusExecuted, 1, sperr.EventAusgefuehrt)[0]
	n.awaitText(t, "true", `SELECT bool_and(iftsta_dispatched_at IS NOT NULL) FROM sperr_orders WHERE id = $1`, w.id)
	n.awaitText(t, "true", `SELECT bool_and(delivered_at IS NOT NULL) FROM event_outbox WHERE order_id = $1`, w.id)
	return w
}

// state is all that the database knows of an order.
func (n *neighbourhood) state(t *testing.T, s seed) string {
	t.Helper()
	return n.text(t, `
		SELECT jsonb_pretty(jsonb_build_object(
			'order', (SELECT to_jsonb(o) FROM sperr_orders o WHERE id = $1),
			'events', (SELECT jsonb_agg(to_jsonb(e) ORDER BY seq) FROM event_outbox e WHERE order_id = $1),
			'history', (SELECT jsonb_agg(to_jsonb(h) ORDER BY id) FROM sperr_order_history h WHERE order_id = $1)))`, s.id)
}

// crash kills a replica; there is nothing that it can do about it.
func crash(t *testing.T, i *instance) {
	t.Helper()
	i.signal(os.Kill)
	i.awaitExit(t)
}

func TestReplica_killed_before_it_hears_makods_answer_is_followed_by_another_under_the_same_key(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		makod      makodtest.Idempotency
		reconciled string
	}{
		"makod that knows no keys": {makodtest.IdempotencyNone, "true"},
		"makod that knows the key": {makodtest.IdempotencyCompare24h, "false"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNeighbourhood(t, unhurried(""))
			n.SetIdempotency(c.makod)
			// One is reported over HTTP, the other one is in the queue.
			reported := n.seed(t, sperr.StatusPending, 1)[0]
			killed := n.child(t)
			gate := n.Hold()
			defer gate.Release()
			execute(t, killed, []string{reported.id})
			queued := n.seed(t, sperr.StatusExecuted, 1)[0]
			if err := gate.Wait(patient(t), 2); err != nil {
				t.Fatal(err)
			}
			crash(t, killed)
			if err := n.WaitEnded(patient(t), 2); err != nil {
				t.Fatal(err)
			}
			gate.Release()
			n.replicas(t, 1)
			w := n.witness(t)
			if got := len(n.Requests()); got != 3 {
				t.Fatalf("%d commands while the leases hold; want 3, the last one of the witness", got)
			}

			n.exec(t, endLeases)
			n.awaitDone(t)

			for _, s := range []seed{reported, queued} {
				sent := n.RequestsFor(s.key())
				if len(sent) != 2 || len(n.IFTSTAFor(s.malo)) != 1 {
					t.Fatalf("%d commands, %d IFTSTA; want 2 and 1", len(sent), len(n.IFTSTAFor(s.malo)))
				}
				if diff := cmp.Diff(string(sent[0].Body), string(sent[1].Body)); diff != "" {
					t.Errorf("the second command is another one (-first +second):\n%s", diff)
				}
				want := fmt.Sprintf(`{"attempts": 2, "iftsta_ref": %q, "reconciled": %s}`, s.process, c.reconciled)
				if got := n.text(t, `SELECT detail FROM sperr_order_history
					WHERE action = 'iftsta_dispatched' AND order_id = $1`, s.id); got != want {
					t.Errorf("history %s; want %s", got, want)
				}
			}
			if len(n.RequestsFor(w.key())) != 1 || len(n.Overlaps()) != 0 {
				t.Errorf("two commands at a time under %v", n.Overlaps())
			}
		})
	}
}

func TestReplica_killed_before_it_hears_the_ERPs_answer_is_followed_by_another_in_order(t *testing.T) {
	t.Parallel()
	n := newNeighbourhood(t, unhurried(""))
	s := n.seed(t, sperr.StatusExecuted, 1, sperr.EventAuftragEingegangen, sperr.EventAusgefuehrt)[0]
	gate := n.erp.Hold() // has taken what it holds
	defer gate.Release()
	killed := n.child(t)
	if err := gate.Wait(patient(t), 1); err != nil {
		t.Fatal(err)
	}
	crash(t, killed)
	if err := n.erp.WaitEnded(patient(t), 1); err != nil {
		t.Fatal(err)
	}
	gate.Release()
	n.replicas(t, 1)
	n.awaitText(t, "0", unsent+` AND NOT iftsta_in_flight`)
	n.witness(t)
	if got := len(n.erp.DeliveriesFor(s.id)); got != 1 {
		t.Fatalf("%d deliveries while the lease holds; want 1", got)
	}

	n.exec(t, endLeases)
	n.awaitDone(t)

	var ids []string
	for _, d := range n.erp.DeliveriesFor(s.id) {
		ids = append(ids, d.EventID)
	}
	first, second := s.id+"/"+sperr.EventAuftragEingegangen, s.id+"/"+sperr.EventAusgefuehrt
	if diff := cmp.Diff([]string{first, first, second}, ids); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	if d, o := n.erp.Duplicates(), n.erp.Overlaps(); d != 1 || o != 0 {
		t.Errorf("%d events came again, %d overlapped; want 1 and 0", d, o)
	}
}

func TestReplica_frozen_while_it_sends_changes_and_sends_nothing_once_another_has_finished(t *testing.T) {
	t.Parallel()
	n := newNeighbourhood(t, impatient("3s", "9s", ""))
	s := n.seed(t, sperr.StatusExecuted, 1, sperr.EventAuftragEingegangen, sperr.EventAusgefuehrt)[0]
	// Both have what was sent, and the sender never hears of it.
	n.FailNextFor(s.malo, 1, makodtest.Applied(makodtest.Hang()))
	n.erp.FailNext(1, erptest.Applied(erptest.Hang()))
	gate := n.Hold()
	defer gate.Release()
	frozen := n.child(t)
	if err := gate.Wait(patient(t), 1); err != nil {
		t.Fatal(err)
	}
	if err := n.erp.WaitBegun(patient(t), 1); err != nil {
		t.Fatal(err)
	}
	frozen.signal(syscall.SIGSTOP)
	gate.Release()

	n.exec(t, endLeases)
	other := n.replicas(t, 1)[0]
	n.awaitDone(t)
	other.stop()
	other.awaitExit(t)
	finished := n.state(t, s)
	frozen.signal(syscall.SIGCONT)
	awaitLines(t, 1, "result of an IFTSTA attempt not recorded: the claim is not held", frozen)
	awaitLines(t, 1, "result of a delivery not recorded: the claim is not held", frozen)
	n.witness(t)

	if diff := cmp.Diff(finished, n.state(t, s)); diff != "" {
		t.Errorf("the frozen replica has changed (-before +after):\n%s", diff)
	}
	if sent, informed := len(n.RequestsFor(s.key())), len(n.IFTSTAFor(s.malo)); sent != 2 || informed != 1 {
		t.Errorf("%d commands, %d IFTSTA; want 2 and 1", sent, informed)
	}
	if got := len(n.erp.DeliveriesFor(s.id)); got != 3 {
		t.Errorf("%d deliveries; want 3: one of the frozen replica, two of the other", got)
	}
	want := []string{sperr.EventAuftragEingegangen, sperr.EventAusgefuehrt}
	if got := n.erp.AcceptedFor(s.id); !slices.Equal(got, want) {
		t.Errorf("events %v; want %v", got, want)
	}
}

// Where a lease has ended although its holder lives, two send at a time; the one whose
// claim is the last decides.
func TestReplica_whose_success_comes_after_its_lease_leaves_the_record_to_the_next_claim(t *testing.T) {
	t.Parallel()
	n := newNeighbourhood(t, unhurried(""))
	s := n.seed(t, sperr.StatusExecuted, 1, sperr.EventAuftragEingegangen, sperr.EventAusgefuehrt)[0]
	gate, erpGate := n.Hold(), n.erp.Hold()
	defer gate.Release()
	defer erpGate.Release()
	replicas := n.replicas(t, 2)
	for claims := 1; claims <= 2; claims++ {
		if err := gate.Wait(patient(t), claims); err != nil {
			t.Fatal(err)
		}
		if err := erpGate.Wait(patient(t), claims); err != nil {
			t.Fatal(err)
		}
		if claims == 1 {
			n.exec(t, endLeases)
		}
	}
	gate.Release()
	erpGate.Release()
	n.awaitDone(t)

	awaitLines(t, 1, "result of an IFTSTA attempt not recorded: the claim is not held", replicas...)
	awaitLines(t, 1, "result of a delivery not recorded: the claim is not held", replicas...)
	const want = `[{"attempts": 2, "reconciled": true}]`
	got := n.text(t, `SELECT jsonb_agg(detail - 'iftsta_ref') FROM sperr_order_history WHERE order_id = $1 AND action <> 'changed_by_sql'`, s.id)
	if got != want {
		t.Errorf("history %s; want %s, of the second claim alone", got, want)
	}
	if sent, informed := len(n.RequestsFor(s.key())), len(n.IFTSTAFor(s.malo)); sent != 2 || informed != 1 {
		t.Errorf("%d commands, %d IFTSTA; want 2 and 1", sent, informed)
	}
	types := []string{sperr.EventAuftragEingegangen, sperr.EventAusgefuehrt}
	if got := n.erp.AcceptedFor(s.id); !slices.Equal(got, types) || n.erp.Duplicates() != 1 {
		t.Errorf("events %v and %d again; want %v and 1", got, n.erp.Duplicates(), types)
	}
}
