package main

import (
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5"

	"sperrd/internal/makod/makodtest"
	"sperrd/internal/sperr"
)

// The rows of the crash table: a keyed report, the process killed at some point of it, and
// what the same report gets from another process.

// closings are the outcomes that a Lieferant is told.
var closings = outcomes[1:]

func TestCrash_before_the_commit_leaves_nothing_and_the_retry_is_the_first(t *testing.T) {
	t.Parallel()
	for _, o := range closings {
		t.Run(o.verb, func(t *testing.T) {
			t.Parallel()
			n := newNeighbourhood(t, unhurried(""))
			s := n.seed(t, sperr.StatusPending, 1)[0]
			killed := n.child(t)
			release := n.lock(t, `SELECT FROM sperr_orders WHERE id = $1 FOR UPDATE`, s.id)
			a, call := report(s.id, o.verb, o.body), first()
			answer := killed.begin(t, a, call)
			n.awaitText(t, "1", waitingForALock)
			crash(t, killed)
			if r := <-answer; r.err == nil {
				t.Fatalf("%d from a process that was killed", r.status)
			}
			release()
			n.awaitText(t, "0", `SELECT count(*) FROM pg_stat_activity
				WHERE datname = current_database() AND application_name = 'sperrd'`)
			n.wantNothing(t)

			next := n.child(t)
			done := next.want(t, a, call.retry(), http.StatusNoContent, false)
			late := next.want(t, a, call, http.StatusNoContent, true)
			n.awaitDone(t)

			wantSame(t, done, late)
			n.wantOnce(t, s, call.id, o, 1)
		})
	}
}

// waitingForALock are the sessions that the lock of a test holds up.
const waitingForALock = `SELECT count(*) FROM pg_stat_activity
	WHERE datname = current_database() AND wait_event_type = 'Lock'`

// lock keeps whoever wants to change what a query locks waiting.
func (n *neighbourhood) lock(t *testing.T, sql, id string) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), n.setup.database)
	if err != nil {
		t.Fatal(err)
	}
	release = func() { _ = conn.Close(t.Context()) }
	t.Cleanup(release)
	if _, err := conn.Exec(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), sql, id); err != nil {
		t.Fatal(err)
	}
	return release
}

func TestCrash_after_the_answer_was_kept_and_before_the_client_has_it_loses_nothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refused  int // how often makod has refused the command by then
		status   int
		commands int // in the end
	}{
		"makod has it":     {0, http.StatusNoContent, 1},
		"makod has it not": {1, http.StatusAccepted, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNeighbourhood(t, unhurried(""))
			s, o := n.seed(t, sperr.StatusPending, 1)[0], closings[0]
			n.FailNextFor(s.malo, c.refused, makodtest.Unauthorized())
			killed := n.child(t)
			line, through := httpWire(t, killed.base)
			client := &instance{base: through}
			gate := n.Hold()
			defer gate.Release()
			a, call := report(s.id, o.verb, o.body), first()
			answer := client.begin(t, a, call)
			if err := gate.Wait(patient(t), 1); err != nil {
				t.Fatal(err)
			}
			line.silence()
			gate.Release()
			n.awaitDecided(t, call.id, "final")
			crash(t, killed)
			line.cut()
			if r := <-answer; r.err == nil {
				t.Fatalf("%d through a line that is cut", r.status)
			}

			next := n.child(t)
			second := next.want(t, a, call.retry(), c.status, true)
			n.exec(t, endLeases)
			n.awaitDone(t)
			third := next.want(t, a, call.retry(), c.status, true)

			wantSame(t, second, third)
			n.wantOnce(t, s, call.id, o, c.commands)
		})
	}
}

// A makod without keys applies a command, and its answer is lost on the way.
func TestReport_that_makod_applied_without_an_answer_is_reconciled_with_one_command_for_each_attempt(t *testing.T) {
	t.Parallel()
	n := newNeighbourhood(t, unhurried(""))
	seeds := n.seed(t, sperr.StatusPending, 2)
	earlier, s := seeds[0], seeds[1]
	i := n.child(t)
	// It leaves a connection to makod, on which a client may send again by itself.
	i.want(t, report(earlier.id, "execute", ""), first(), http.StatusNoContent, false)
	n.FailNextFor(s.malo, 1, makodtest.Applied(makodtest.Drop()))
	a, call := report(s.id, "execute", ""), first()

	done := i.want(t, a, call, http.StatusAccepted, false)
	n.witness(t)
	if got := len(n.RequestsFor(s.key())); got != 1 {
		t.Fatalf("%d commands in one attempt; want 1", got)
	}
	if from, again := n.RequestsFor(earlier.key())[0].RemoteAddr, n.RequestsFor(s.key())[0].RemoteAddr; from != again {
		t.Fatalf("the command came from %s; want the connection kept alive, %s", again, from)
	}
	n.exec(t, endLeases)
	n.awaitDone(t)
	late := i.want(t, a, call.retry(), http.StatusAccepted, true)

	wantSame(t, done, late)
	n.wantOnce(t, s, call.id, closings[0], 2)
	if second := n.RequestsFor(s.key())[1]; second.Status != http.StatusConflict {
		t.Errorf("the second command got %d; want the 409 of a process that is executed", second.Status)
	}
	if got := n.text(t, `SELECT count(*) FROM event_outbox WHERE ce_type = $1`, sperr.EventIFTSTAAusstehend); got != "0" {
		t.Errorf("%s alarms; want none", got)
	}
	if got := n.text(t, `SELECT detail ->> 'reconciled' FROM sperr_order_history
		WHERE action = 'iftsta_dispatched' AND order_id = $1`, s.id); got != "true" {
		t.Errorf("reconciled: %s; want true", got)
	}
}

func TestServe_SIGTERM_while_a_keyed_report_waits_for_makod_answers_it_and_its_retry_after_the_restart(t *testing.T) {
	t.Parallel()
	n := newNeighbourhood(t, unhurried(""))
	s := n.seed(t, sperr.StatusPending, 1)[0]
	stopped := n.child(t)
	gate := n.Hold()
	defer gate.Release()
	a, call := report(s.id, "execute", ""), first()
	answer := stopped.begin(t, a, call)
	if err := gate.Wait(patient(t), 1); err != nil {
		t.Fatal(err)
	}
	twin := stopped.begin(t, a, call.retry())
	n.awaitText(t, "2", `SELECT count(*) FROM api_transaction_attempts WHERE received_at IS NOT NULL`)

	stopped.stop()
	whileStopping(t, stopped)
	gate.Release()

	if code := stopped.awaitExit(t); code != exitOK {
		t.Errorf("exit code %d; want 0\n%s", code, stopped.log.String())
	}
	done := <-answer
	if done.err != nil {
		t.Fatalf("no answer: %v", done.err)
	}
	wantEcho(t, done, call)
	wantSame(t, done, <-twin)
	wantSame(t, done, n.child(t).want(t, a, call.retry(), done.status, true))
	n.awaitDone(t)
	n.wantOnce(t, s, call.id, closings[0], 1)
}
