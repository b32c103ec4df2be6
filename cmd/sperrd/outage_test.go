package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"sperrd/internal/postgres/postgrestest"
	"sperrd/internal/sperr"
)

// loopNames are those that work on the database all the time.
var loopNames = []string{"iftsta retry", "frist scanner", "outbox"}

// linesOf returns the lines in which a loop of the replica tells this.
func linesOf(i *instance, loop, message string) (lines []string) {
	for line := range strings.Lines(i.log.String()) {
		if strings.Contains(line, `"msg":"`+message) && strings.Contains(line, `"loop":"`+loop+`"`) {
			lines = append(lines, line)
		}
	}
	return lines
}

const (
	fails = "loop fails"
	works = "loop works again"
)

// awaitLoopFails waits until every loop of every replica has found the database away.
func awaitLoopFails(t *testing.T, replicas []*instance) {
	t.Helper()
	await(t, func() (bool, string) {
		for _, i := range replicas {
			for _, loop := range loopNames {
				if len(linesOf(i, loop, fails)) == 0 {
					return false, loop + " does not fail"
				}
			}
		}
		return true, ""
	})
}

func TestReplicas_record_and_send_what_they_have_once_the_database_is_back(t *testing.T) {
	t.Parallel()
	n := newNeighbourhood(t, unhurried(""))
	elsewhere, name := postgrestest.NewEmptyURL(t), databaseName(t, n.setup.database)
	types := []string{sperr.EventAuftragEingegangen, sperr.EventAusgefuehrt}
	const busy = 4 // and not all hands, or the loops would wait for one and not see the database go
	seeds := n.seed(t, sperr.StatusExecuted, busy, types...)
	gate, erpGate := n.Hold(), n.erp.Hold()
	defer gate.Release()
	defer erpGate.Release()
	replicas := n.replicas(t, 2)
	if err := gate.Wait(patient(t), busy); err != nil {
		t.Fatal(err)
	}
	if err := erpGate.Wait(patient(t), busy); err != nil {
		t.Fatal(err)
	}

	execSQL(t, elsewhere, "ALTER DATABASE "+name+" ALLOW_CONNECTIONS false", endSessions(name))
	awaitLoopFails(t, replicas)
	gate.Release() // the answers come while nobody can write them down
	erpGate.Release()
	if err := n.WaitEnded(patient(t), busy); err != nil {
		t.Fatal(err)
	}
	if err := n.erp.WaitEnded(patient(t), busy); err != nil {
		t.Fatal(err)
	}
	for _, i := range replicas {
		i.awaitStatus(t, "/health/ready", http.StatusServiceUnavailable)
		i.awaitStatus(t, "/health/live", http.StatusOK)
	}
	execSQL(t, elsewhere, "ALTER DATABASE "+name+" ALLOW_CONNECTIONS true")
	seeds = append(seeds, n.seed(t, sperr.StatusExecuted, 20, types...)...)
	n.awaitDone(t)

	n.wantInformed(t, seeds, 1)
	n.wantAccepted(t, seeds, 0, types...)
	for _, i := range replicas {
		i.awaitReady(t)
		for _, loop := range loopNames {
			wantCalm(t, i, loop)
		}
	}
}

// wantCalm checks that a loop has neither filled the log nor kept on asking a database
// that was away.
func wantCalm(t *testing.T, i *instance, loop string) {
	t.Helper()
	await(t, func() (bool, string) { return len(linesOf(i, loop, works)) > 0, loop + " does not work again" })
	if lines := linesOf(i, loop, fails); len(lines) > 4 {
		t.Errorf("%d lines about %s; want a few:\n%s", len(lines), loop, strings.Join(lines, ""))
	}
	var line struct{ Failures int }
	if err := json.Unmarshal([]byte(linesOf(i, loop, works)[0]), &line); err != nil {
		t.Fatal(err)
	}
	if line.Failures < 1 || line.Failures > 8 {
		t.Errorf("%s has failed %d times; want a few", loop, line.Failures)
	}
}

// broken makes the database refuse to record that makod or the ERP has something.
const broken = `
	CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$;
	CREATE TRIGGER refuse BEFORE UPDATE ON sperr_orders FOR EACH ROW
		WHEN (NEW.iftsta_dispatched_at IS NOT NULL) EXECUTE FUNCTION refuse();
	CREATE TRIGGER refuse BEFORE UPDATE ON event_outbox FOR EACH ROW
		WHEN (NEW.delivered_at IS NOT NULL) EXECUTE FUNCTION refuse()`

func TestReplicas_that_cannot_record_send_once_for_each_lease_and_settle_when_they_can(t *testing.T) {
	t.Parallel()
	n := newNeighbourhood(t, unhurried("max_per_second = 0"))
	n.exec(t, broken)
	types := []string{sperr.EventAuftragEingegangen, sperr.EventAusgefuehrt}
	replicas := n.replicas(t, 2)
	seeds := n.seed(t, sperr.StatusExecuted, 5, types...)
	// Each round of new orders proves that the loops have gone on meanwhile.
	for round := 1; round <= 3; round++ {
		if round > 1 {
			seeds = append(seeds, n.seed(t, sperr.StatusExecuted, 5, types...)...)
		}
		awaitLines(t, 5*round, "result of an IFTSTA attempt not recorded: the lease ends", replicas...)
		if err := n.erp.WaitEnded(patient(t), 5*round); err != nil {
			t.Fatal(err)
		}
		n.wantInformed(t, seeds, 1)
		n.wantAccepted(t, seeds, 0, types[0])
	}

	n.exec(t, endLeases)
	awaitLines(t, 2*len(seeds), "result of an IFTSTA attempt not recorded: the lease ends", replicas...)
	if err := n.erp.WaitEnded(patient(t), 2*len(seeds)); err != nil {
		t.Fatal(err)
	}
	// One transaction: what is still about to be recorded must not succeed in between.
	n.exec(t, `DROP TRIGGER refuse ON sperr_orders; DROP TRIGGER refuse ON event_outbox;`+endLeases)
	n.awaitDone(t)

	n.wantInformed(t, seeds, 3)
	n.wantAccepted(t, seeds, 2*len(seeds), types...)
}
