package outbox

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"sperrd/internal/outbox/erptest"
)

// safeBuffer takes the log of several goroutines.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (b *bench) logTo() *safeBuffer {
	log := new(safeBuffer)
	b.Logger = slog.New(slog.NewTextHandler(log, nil))
	return log
}

// lines counts the lines of the log that hold all the parts.
func (s *safeBuffer) lines(parts ...string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
lines:
	for _, line := range strings.Split(s.buf.String(), "\n") {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue lines
			}
		}
		n++
	}
	return n
}

func TestAPermanentRefusalIsADeadLetterAtOnceAndLetsTheNextEventGo(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 410, 413, 415, 422} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			log := b.logTo()
			order := b.pairs(t, 1)[0]
			b.erp.FailNext(1, erptest.Answer(status))
			b.round(t)
			if got := b.row(t, "first-0"); got.DeadLetterAt == nil || got.LastError == nil || got.Attempts != 1 {
				t.Errorf("not a dead letter: %+v", got)
			}
			if log.lines("level=ERROR", "event_id=first-0", "order_id="+order.String(), "dead letter") != 1 {
				t.Errorf("the log does not say so:\n%s", log.buf.String())
			}
			b.round(t)
			if got := b.erp.AcceptedFor(order.String()); len(got) != 1 || got[0] != "second" {
				t.Errorf("accepted: %v, want the second", got)
			}
		})
	}
}

func TestEveryOtherFailureIsTriedAgainLater(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]erptest.Fault{
		"401": erptest.Answer(401), "403": erptest.Answer(403), "404": erptest.Answer(404), "408": erptest.Answer(408),
		"409": erptest.Answer(409), "429": erptest.Answer(429), "500": erptest.Answer(500), "304": erptest.Answer(304),
		"redirect": erptest.Redirect("http://127.0.0.1:1/"), "drop": erptest.Drop(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			log := b.logTo()
			b.one(t, "a")
			b.erp.Fail(fault)
			for attempt, longest := range []time.Duration{30 * time.Second, 2 * time.Minute, 8 * time.Minute} {
				b.round(t)
				got := b.row(t, "a")
				if got.Attempts != attempt+1 || got.LastError == nil || got.Wait > longest || got.Wait < longest/2-5*time.Second {
					t.Fatalf("after attempt %d: %+v", attempt+1, got)
				}
				b.makeDue(t)
			}
			if got := log.lines("level=WARN", "event not delivered", "event_id=a", "attempt=2", "next_in="); got != 1 {
				t.Errorf("%d lines about the second attempt:\n%s", got, log.buf.String())
			}
			b.erp.Recover()
			b.round(t)
			if got := b.row(t, "a"); got.DeliveredAt == nil || got.LastError != nil {
				t.Errorf("not delivered in the end: %+v", got)
			}
			if log.lines("level=INFO", "event delivered", "event_id=a", "attempt=4", "duration=") != 1 {
				t.Errorf("no line about the delivery:\n%s", log.buf.String())
			}
		})
	}
}

func TestTheWaitThatTheERPAsksForIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.one(t, "a")
	b.erp.FailNext(1, erptest.Busy(time.Hour))
	b.round(t)
	if got := b.row(t, "a").Wait; got < 59*time.Minute || got > 70*time.Minute {
		t.Errorf("next attempt in %v, want in an hour", got)
	}
}

func TestAnEventThatFailsPastItsTimeIsADeadLetter(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.pairs(t, 2)
	b.erp.FailNext(2, erptest.Answer(503))
	b.exec(t, `UPDATE event_outbox SET attempts = 90, first_attempt_at = now() - interval '168 h 1 s' WHERE event_id = 'first-0'`)
	b.exec(t, `UPDATE event_outbox SET attempts = 90, first_attempt_at = now() - interval '167 h 59 min' WHERE event_id = 'first-1'`)
	b.round(t)
	if got := b.row(t, "first-0"); got.DeadLetterAt == nil {
		t.Errorf("past its time: %+v", got)
	}
	if got := b.row(t, "first-1"); got.DeadLetterAt != nil {
		t.Errorf("within its time: %+v", got)
	}
}

func TestALateWriterChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.one(t, "a")
	late := b.claimed(t, 1)[0]
	b.makeDue(t)
	current := b.claimed(t, 1)[0]
	everything := []result{
		{claim: late, kind: kindFailed, failure: failure{permanent: true, text: "late"}},
		{claim: late, kind: kindFailed, failure: failure{text: "late"}, wait: time.Hour},
		{claim: late, kind: kindUnsent},
		{claim: late, kind: kindDelivered},
	}
	for _, r := range everything {
		b.record(t.Context(), []result{r})
	}
	if got := b.row(t, "a"); !got.NextAttemptAt.Equal(current.lease) || got.Attempts != 2 ||
		got.DeliveredAt != nil || got.DeadLetterAt != nil || got.LastError != nil {
		t.Fatalf("the late writer changed the row: %+v", got)
	}
	b.record(t.Context(), []result{{claim: current, kind: kindDelivered}})
	for _, r := range everything {
		r.claim = current // not even under the right lease, once it is delivered
		b.record(t.Context(), []result{r})
	}
	if got := b.row(t, "a"); got.DeliveredAt == nil || got.DeadLetterAt != nil || got.LastError != nil || got.Attempts != 2 {
		t.Errorf("a delivered event was changed: %+v", got)
	}
}

// breakDelivered makes the record of deliveries fail under a condition on the row.
func (b *bench) breakDelivered(t *testing.T, condition, sqlstate string) {
	t.Helper()
	b.exec(t, `CREATE SEQUENCE tries`)
	b.exec(t, `CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF NEW.delivered_at IS NOT NULL AND `+condition+` THEN
			RAISE EXCEPTION 'broken' USING ERRCODE = '`+sqlstate+`';
		END IF;
		RETURN NEW; END $$`)
	b.exec(t, `CREATE TRIGGER broken BEFORE UPDATE ON event_outbox FOR EACH ROW EXECUTE FUNCTION broken()`)
}

func TestADeliveryThatCannotBeRecordedIsRepeatedAfterItsLeaseAndSettles(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	log := b.logTo()
	b.pairs(t, 1)
	b.breakDelivered(t, "true", "P0001")
	for range 3 {
		b.round(t) // only the first one sends: the lease stands
	}
	if got := b.row(t, "first-0"); len(b.erp.Deliveries()) != 1 || got.Wait < 50*time.Second {
		t.Fatalf("%d deliveries, row %+v; want one under lease", len(b.erp.Deliveries()), got)
	}
	if log.lines("level=ERROR", "first-0", "broken") != 1 || log.lines("level=ERROR") != 1 {
		t.Errorf("the log does not say it once:\n%s", log.buf.String())
	}
	b.exec(t, `DROP TRIGGER broken ON event_outbox`)
	b.makeDue(t)
	b.round(t)
	b.round(t)
	if got := b.count(t, `delivered_at IS NOT NULL`); got != 2 || b.erp.Duplicates() != 1 {
		t.Errorf("%d events delivered with %d repetitions, want 2 with one", got, b.erp.Duplicates())
	}
}

func TestARowThatCannotBeRecordedDoesNotFailItsNeighbours(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	log := b.logTo()
	for _, id := range []string{"a", "poisoned", "c"} {
		b.one(t, id)
	}
	b.breakDelivered(t, "NEW.event_id = 'poisoned'", "P0001")
	var results []result
	for _, c := range b.claimed(t, 3) {
		results = append(results, result{claim: c, kind: kindDelivered})
	}
	b.record(t.Context(), results)
	if got := b.count(t, `delivered_at IS NOT NULL AND event_id IN ('a', 'c')`); got != 2 {
		t.Errorf("%d neighbours recorded, want 2", got)
	}
	if log.lines("level=ERROR", "events=1", "[poisoned]") != 1 || log.lines("event delivered") != 2 {
		t.Errorf("log:\n%s", log.buf.String())
	}
}

func TestARecordIsTriedAgainWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.one(t, "a")
	b.breakDelivered(t, "nextval('tries') <= 1", "57P03")
	b.round(t)
	if got := b.row(t, "a"); got.DeliveredAt == nil || len(b.erp.Deliveries()) != 1 {
		t.Errorf("%d deliveries, row %+v", len(b.erp.Deliveries()), got)
	}
}

func TestARecordThatFailsDuringAStopIsLeftToTheLease(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	log := b.logTo()
	b.one(t, "a")
	b.one(t, "b")
	b.breakDelivered(t, "nextval('tries') > 0", "57P03")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var results []result
	for _, c := range b.claimed(t, 2) {
		results = append(results, result{claim: c, kind: kindDelivered})
	}
	b.record(ctx, results)
	var tries int
	if err := b.pool.QueryRow(t.Context(), `SELECT last_value FROM tries`).Scan(&tries); err != nil || tries < 2 || tries > 100 {
		t.Errorf("%d tries, %v; want some, with pauses", tries, err)
	}
	if log.lines("level=ERROR") != 1 || log.lines("events=2") != 1 {
		t.Errorf("log:\n%s", log.buf.String())
	}
	if got := b.row(t, "a"); !got.NextAttemptAt.Equal(results[0].claim.lease) && !got.NextAttemptAt.Equal(results[1].claim.lease) {
		t.Errorf("the lease does not stand: %+v", got)
	}
}
