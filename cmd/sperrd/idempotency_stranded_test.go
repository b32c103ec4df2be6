package main

import (
	"fmt"
	"net/http"
	"testing"

	"sperrd/internal/makod/makodtest"
	"sperrd/internal/sperr"
)

// stranded are reports that are committed and whose callers have no answer: whoever did
// them has died, and the answers that were written before makod was asked are all there is.
type stranded struct {
	*neighbourhood
	reports []strandedReport
	// sent are how many commands were sent for each of them by then, and expected those in
	// the end.
	sent, expected int
	// reconciled is what the history says of the last command.
	reconciled bool
}

type strandedReport struct {
	seed
	outcome
	call  names
	retry <-chan reply
}

func (r strandedReport) act() act { return report(r.id, r.verb, r.body) }

func newStranded(t *testing.T, all ...outcome) *stranded {
	t.Helper()
	s := &stranded{neighbourhood: newNeighbourhood(t, unhurried(""))}
	for k, order := range s.seed(t, sperr.StatusPending, len(all)) {
		s.reports = append(s.reports, strandedReport{seed: order, outcome: all[k], call: first()})
	}
	return s
}

// begin makes every report, and returns when all of them are committed.
func (s *stranded) begin(t *testing.T, i *instance) (answers []<-chan reply) {
	t.Helper()
	for _, r := range s.reports {
		answers = append(answers, i.begin(t, r.act(), r.call))
	}
	for _, r := range s.reports {
		s.awaitDecided(t, r.call.id, "provisional")
	}
	return answers
}

func wantNoAnswer(t *testing.T, answers []<-chan reply) {
	t.Helper()
	for _, answer := range answers {
		if r := <-answer; r.err == nil {
			t.Errorf("%d %s from a process that has died", r.status, r.body)
		}
	}
}

// killedBeforeMakodHears: the commands are on their way and get lost.
func killedBeforeMakodHears(t *testing.T) *stranded {
	t.Helper()
	s := newStranded(t, closings...)
	s.sent, s.expected = 0, 1
	var way *wire
	way, s.setup.makod = httpWire(t, s.url)
	way.silence()
	killed := s.child(t)
	answers := s.begin(t, killed)
	crash(t, killed)
	wantNoAnswer(t, answers)
	way.mend(t)
	return s
}

// killedBeforeItHears: makod has applied the commands.
func killedBeforeItHears(mode makodtest.Idempotency, all ...outcome) func(*testing.T) *stranded {
	return func(t *testing.T) *stranded {
		t.Helper()
		s := newStranded(t, all...)
		s.sent, s.expected, s.reconciled = 1, 2, mode == makodtest.IdempotencyNone
		s.SetIdempotency(mode)
		killed := s.child(t)
		gate := s.Hold()
		defer gate.Release()
		answers := s.begin(t, killed)
		if err := gate.Wait(patient(t), len(all)); err != nil {
			t.Fatal(err)
		}
		crash(t, killed)
		wantNoAnswer(t, answers)
		if err := s.WaitEnded(patient(t), len(all)); err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// killedBeforeTheAnswerIsKept: that makod has the outcome is on record already.
func killedBeforeTheAnswerIsKept(t *testing.T) *stranded {
	t.Helper()
	s := newStranded(t, closings[0])
	s.sent, s.expected = 1, 1
	killed := s.child(t)
	gate := s.Hold()
	defer gate.Release()
	answers := s.begin(t, killed)
	release := s.lock(t, `SELECT FROM api_transactions WHERE logical_id = $1 FOR UPDATE`, s.reports[0].call.id)
	gate.Release()
	s.awaitText(t, "0", unsent)
	s.awaitText(t, "1", waitingForALock)
	crash(t, killed)
	wantNoAnswer(t, answers)
	// The database has not noticed yet, and would still write the answer.
	s.exec(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock'`)
	s.awaitText(t, "0", waitingForALock)
	release()
	return s
}

// cutByTheEndOfTheGrace: the process was asked to stop, and did not get to an end in time.
func cutByTheEndOfTheGrace(t *testing.T) *stranded {
	t.Helper()
	s := newStranded(t, closings[0])
	s.sent, s.expected, s.reconciled = 1, 2, true
	s.setup.grace = "100ms"
	cut := s.child(t)
	gate := s.Hold()
	defer gate.Release()
	answers := s.begin(t, cut)
	if err := gate.Wait(patient(t), 1); err != nil {
		t.Fatal(err)
	}
	cut.stop()
	if code := cut.awaitExit(t); code != exitFailure {
		t.Errorf("exit code %d; want 1", code)
	}
	wantNoAnswer(t, answers)
	if err := s.WaitEnded(patient(t), 1); err != nil {
		t.Fatal(err)
	}
	return s
}

// unawareOfTheCommit: the process lives, and does not know that it has committed.
func unawareOfTheCommit(t *testing.T) *stranded {
	t.Helper()
	s := newStranded(t, closings...)
	s.sent, s.expected = 0, 1
	unaware, way := s.childOnCommitWire(t)
	for _, r := range s.reports {
		lost := way.loseCommit(r.call.id, true)
		wantUnknown(t, unaware.do(t.Context(), r.act(), r.call), r.call)
		<-lost
		s.awaitDecided(t, r.call.id, "provisional")
	}
	return s
}

func TestReport_that_is_committed_without_an_answer_is_202_for_good_and_sent_to_makod_by_the_worker(t *testing.T) {
	t.Parallel()
	var all []*stranded
	var next []*instance
	for _, strand := range []func(*testing.T) *stranded{
		killedBeforeMakodHears,
		// An older makod does not tell a failure that it has applied from a process that
		// was rejected for another cause; that is left to a human.
		killedBeforeItHears(makodtest.IdempotencyNone, closings[0]),
		killedBeforeItHears(makodtest.IdempotencyCompare24h, closings...),
		killedBeforeTheAnswerIsKept,
		cutByTheEndOfTheGrace,
		unawareOfTheCommit,
	} {
		s := strand(t)
		i := s.child(t)
		for k, r := range s.reports { // each waits for whoever might still settle it
			s.reports[k].retry = i.begin(t, r.act(), r.call.retry())
		}
		all, next = append(all, s), append(next, i)
	}
	for k, s := range all {
		s.wantReplayedForGood(t, next[k])
	}
}

// wantReplayedForGood checks what becomes of stranded reports at another process.
func (s *stranded) wantReplayedForGood(t *testing.T, i *instance) {
	t.Helper()
	var second []reply
	for _, r := range s.reports {
		got := <-r.retry
		if got.err != nil || got.status != http.StatusAccepted || !got.replayed() {
			t.Fatalf("%d %s %v, replayed: %t; want a 202 that is replayed", got.status, got.body, got.err, got.replayed())
		}
		second = append(second, got)
	}
	s.witness(t)
	for _, r := range s.reports {
		if got := len(s.RequestsFor(r.key())); got != s.sent {
			t.Fatalf("%d commands while the lease of the first process holds; want %d", got, s.sent)
		}
	}
	s.exec(t, endLeases)
	s.awaitDone(t)
	for k, r := range s.reports {
		wantSame(t, second[k], i.want(t, r.act(), r.call.retry(), http.StatusAccepted, true))
		wantSame(t, second[k], i.want(t, r.act(), r.call, http.StatusAccepted, true))
		s.wantInformedLater(t, r)
	}
}

// attempts are those that the order counts: the first one, and each that the worker made.
func (s *stranded) attempts() int { return 1 + s.expected - s.sent }

// wantInformedLater checks the commands of a report.
func (s *stranded) wantInformedLater(t *testing.T, r strandedReport) {
	t.Helper()
	s.wantOnce(t, r.seed, r.call.id, r.outcome, s.expected)
	commands := s.commands(t, r.seed, r.call.id)
	if last := commands[len(commands)-1]; s.sent < s.expected && last.InitialTransactionID() == "" {
		t.Errorf("the last command says that it is the first one, %s; nobody knows", last.TransactionID())
	}
	want := fmt.Sprintf(`{"attempts": %d, "iftsta_ref": %q, "reconciled": %t}`, s.attempts(), r.process, s.reconciled)
	if got := s.text(t, `SELECT detail FROM sperr_order_history WHERE action = 'iftsta_dispatched' AND order_id = $1`, r.id); got != want {
		t.Errorf("history %s; want %s", got, want)
	}
}
