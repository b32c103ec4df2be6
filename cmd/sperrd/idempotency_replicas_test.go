package main

import (
	"net/http"
	"testing"

	"sperrd/internal/sperr"
)

// children starts replicas that end at once with the test.
func (n *neighbourhood) children(t *testing.T, count int) (all []*instance) {
	t.Helper()
	for range count {
		all = append(all, n.child(t))
	}
	return all
}

func TestReplicas_do_an_operation_once_whichever_of_them_its_attempts_come_to(t *testing.T) {
	t.Parallel()
	n := newNeighbourhood(t, unhurried(""))
	s := n.seed(t, sperr.StatusPending, 1)[0]
	replicas := n.children(t, 2)
	gate := n.Hold()
	defer gate.Release()
	a, call := report(s.id, "execute", ""), first()
	const attempts = 20
	var answers []<-chan reply
	calls := []names{call}
	for len(calls) < attempts {
		calls = append(calls, call.retry())
	}
	for k, c := range calls {
		answers = append(answers, replicas[k%len(replicas)].begin(t, a, c))
	}
	if err := gate.Wait(patient(t), 1); err != nil {
		t.Fatal(err)
	}
	n.awaitText(t, "20", `SELECT count(*) FROM api_transaction_attempts WHERE received_at IS NOT NULL`)
	gate.Release()

	one, done := reply{}, 0
	for k, answer := range answers {
		r := <-answer
		if r.err != nil {
			t.Fatal(r.err)
		}
		if one.status == 0 {
			one = r
		}
		wantSame(t, one, r)
		wantEcho(t, r, calls[k])
		if !r.replayed() {
			done++
		}
	}
	// 202 where a busy machine keeps the gate closed for longer than a twin waits.
	if done != 1 || (one.status != http.StatusNoContent && one.status != http.StatusAccepted) {
		t.Errorf("%d answers of a first call, with %d; want one with 204", done, one.status)
	}
	n.awaitDone(t)
	n.wantOnce(t, s, call.id, closings[0], 1)
}

// A chain in which each call knows the one before it, and the first one never arrives.
func TestReplicas_follow_a_chain_whose_links_come_to_them_at_the_same_time(t *testing.T) {
	t.Parallel()
	n := newNeighbourhood(t, unhurried(""))
	replicas := n.children(t, 2)
	const rounds = 25
	for k := range rounds {
		a, second := creation(maloID(k)), first().retry()
		third := second.after()
		answers := []<-chan reply{replicas[k%2].begin(t, a, second), replicas[(k+1)%2].begin(t, a, third)}
		one, other := <-answers[0], <-answers[1]
		if one.err != nil || other.err != nil || one.status != http.StatusCreated || one.replayed() == other.replayed() {
			t.Fatalf("%d %s %v, replayed: %t, and %d %s %v, replayed: %t; want two 201, one of them replayed", one.status, one.body,
				one.err, one.replayed(), other.status, other.body, other.err, other.replayed())
		}
		wantSame(t, one, other)
		for _, late := range []names{{id: second.initial}, third.after(), second.retry()} {
			r := replicas[k%2].do(t.Context(), a, late)
			wantSame(t, one, r)
			if !r.replayed() {
				t.Errorf("%s is done once more", late.id)
			}
		}
		if id := orderOf(t, one.body); id != orderOf(t, other.body) {
			t.Errorf("order %s and order %s", id, orderOf(t, other.body))
		}
	}
	if got := n.text(t, `SELECT format('%s orders, %s events, %s transactions', (SELECT count(*) FROM sperr_orders),
		(SELECT count(*) FROM event_outbox), (SELECT count(*) FROM api_transactions))`); got != "25 orders, 25 events, 25 transactions" {
		t.Errorf("%s; want 25 of each", got)
	}
}
