package sperr

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"sperrd/internal/makod/makodtest"
	"sperrd/internal/werktag"
)

// scanAll scans until there is nothing left to announce and returns the steps it took.
func (b *bench) scanAll(t *testing.T) (steps int) {
	t.Helper()
	scanner := NewFristScanner(b.service, time.Hour)
	for {
		steps++
		rest, err := scanner.scan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if rest > 0 {
			return steps
		}
	}
}

// overdue is n pending orders whose execution window closed the day before testNow.
func (b *bench) overdue(t *testing.T, n int) []uuid.UUID {
	t.Helper()
	var malos []string
	for i := range n {
		malos = append(malos, maloWith(i))
	}
	return column[uuid.UUID](t, b.pool, `
		INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, process_id, ausfuehrung_am, ausfuehrung_faellig_am)
		SELECT $1, malo, $2, 'sperrung', gen_random_uuid()::text, '2026-08-25', '2026-09-02' FROM unnest($3::text[]) AS malo RETURNING id`,
		b.repo.tenant, testLF, malos)
}

// ueberfaellig counts the announcements of closed windows.
func (b *bench) ueberfaellig(t *testing.T) int {
	t.Helper()
	return column[int](t, b.pool, `SELECT count(*)::int FROM event_outbox WHERE ce_type = $1`, EventAusfuehrungUeberfaellig)[0]
}

func TestAnOrderPastItsWindowIsAnnouncedOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.overdue(t, 1)[0]
	b.scanAll(t)
	b.scanAll(t)
	e := b.envelope(t, id, EventAusfuehrungUeberfaellig)
	var data struct {
		FaelligAm string `json:"faellig_am"`
		Frist     string `json:"frist"`
	}
	if err := json.Unmarshal(e.Data(), &data); err != nil || data.FaelligAm != "2026-09-02" || !strings.Contains(data.Frist, "6 WT") {
		t.Errorf("event data %s, %v", e.Data(), err)
	}
	got := b.get(t, id)
	if got.AusfuehrungEskaliertAt == nil || !got.AusfuehrungEskaliertAt.Equal(testNow) || got.Status != StatusPending {
		t.Errorf("order = %+v", got)
	}
	if diff := cmp.Diff([]string{"ausfuehrung_ueberfaellig"}, b.actions(t, id)); diff != "" {
		t.Errorf("history:\n%s", diff)
	}
}

func TestTheWindowEndsWithItsLastDayInBerlin(t *testing.T) {
	t.Parallel()
	clock := time.Date(2026, 9, 2, 21, 59, 59, 0, time.UTC) // 23:59:59 in Berlin
	b := newBench(t, func(o *Options) { o.Now = func() time.Time { return clock } })
	b.overdue(t, 1)
	if b.scanAll(t); b.ueberfaellig(t) != 0 {
		t.Error("announced on the last day of the window")
	}
	clock = clock.Add(time.Second)
	if b.scanAll(t); b.ueberfaellig(t) != 1 {
		t.Error("not announced when the last day is over")
	}
}

func TestScannersAtOnceAnnounceEachOrderOnceInAFewStatements(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ids := b.overdue(t, 1000)
	if steps := b.scanAll(t); steps > 3 {
		t.Errorf("a thousand orders took %d steps", steps)
	}
	b.exec(t, `UPDATE sperr_orders SET ausfuehrung_eskaliert_at = NULL`)
	b.exec(t, `DELETE FROM event_outbox`)
	var scanners sync.WaitGroup
	for range 4 {
		scanners.Go(func() { b.scanAll(t) })
	}
	scanners.Wait()
	b.scanAll(t)
	if n := b.ueberfaellig(t); n != len(ids) {
		t.Errorf("%d events for %d orders", n, len(ids))
	}
	lines := column[int](t, b.pool, `SELECT count(*)::int FROM sperr_order_history WHERE action = 'ausfuehrung_ueberfaellig'`)[0]
	if lines != 2*len(ids) {
		t.Errorf("%d history lines after two rounds over %d orders", lines, len(ids))
	}
}

func TestAnOrderExecutedMeanwhileIsNeverAnnounced(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ids := b.overdue(t, 60)
	var race sync.WaitGroup
	for _, id := range ids {
		race.Go(func() {
			if _, err := b.service.Execute(t.Context(), Call{Actor: "team"}, id, ExecuteReport{}); err != nil {
				t.Error(err)
			}
		})
	}
	race.Go(func() { b.scanAll(t) })
	race.Wait()
	b.scanAll(t)
	wrong := column[uuid.UUID](t, b.pool, `
		SELECT e.order_id FROM event_outbox e JOIN event_outbox o USING (order_id)
		WHERE e.ce_type = $1 AND o.ce_type = $2 AND e.seq > o.seq`, EventAusfuehrungUeberfaellig, EventAusgefuehrt)
	if len(wrong) > 0 {
		t.Errorf("%d orders were announced after they had been executed", len(wrong))
	}
	unlike := column[uuid.UUID](t, b.pool, `
		SELECT id FROM sperr_orders s WHERE (ausfuehrung_eskaliert_at IS NOT NULL)
			<> EXISTS (SELECT FROM event_outbox WHERE order_id = s.id AND ce_type = $1)`, EventAusfuehrungUeberfaellig)
	if len(unlike) > 0 {
		t.Errorf("%d orders have a stamp without its event, or the other way round", len(unlike))
	}
}

func TestAStampAndItsEventAreWrittenTogetherOrNotAtAll(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	overdue := b.overdue(t, 1)[0]
	b.exec(t, `CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$`)
	b.exec(t, `CREATE TRIGGER broken BEFORE INSERT ON event_outbox FOR EACH ROW WHEN (NEW.ce_type = '`+EventAusfuehrungUeberfaellig+`') EXECUTE FUNCTION broken()`)
	uninformed := b.backlog(t, 1)[0]
	b.exec(t, `UPDATE sperr_orders SET iftsta_faellig_am = '2026-09-01' WHERE id = $1`, uninformed)
	if _, err := NewFristScanner(b.service, time.Hour).scan(t.Context()); err == nil {
		t.Error("the scan hides that it failed")
	}
	if got := b.get(t, overdue); got.AusfuehrungEskaliertAt != nil || len(b.actions(t, overdue)) != 0 {
		t.Errorf("a stamp without its event: %+v", got)
	}
	if got := b.get(t, uninformed); got.IFTSTAEscalatedAt == nil {
		t.Error("what is overdue kept the other kind from being announced")
	}
	b.exec(t, `DROP TRIGGER broken ON event_outbox`)
	b.scanAll(t)
	if got := b.get(t, overdue); got.AusfuehrungEskaliertAt == nil {
		t.Error("not announced after the trouble was over")
	}
}

// ausstehend is the data of the newest de.sperr.iftsta.ausstehend of an order, and how
// many there are.
func (b *bench) ausstehend(t *testing.T, id uuid.UUID) (n int, attempts, maxAttempts int, lastError string) {
	t.Helper()
	all := column[[]byte](t, b.pool, `SELECT envelope -> 'data' FROM event_outbox WHERE order_id = $1 AND ce_type = $2 ORDER BY seq DESC`,
		id, EventIFTSTAAusstehend)
	if len(all) == 0 {
		return 0, 0, 0, ""
	}
	var data struct {
		Attempts    int    `json:"attempts"`
		MaxAttempts int    `json:"max_attempts"`
		LastError   string `json:"last_error"`
	}
	if err := json.Unmarshal(all[0], &data); err != nil {
		t.Fatal(err)
	}
	return len(all), data.Attempts, data.MaxAttempts, data.LastError
}

func TestSpentAttemptsAreAnnouncedOnceInEachCycle(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.backlog(t, 1)[0]
	b.makod.FailNext(makodtest.UntilCleared, makodtest.ProcessNotFound())
	for cycle := range 3 {
		for range testMaxAttempts {
			b.scanAll(t)
			if n, _, _, _ := b.ausstehend(t, id); n != cycle {
				t.Fatalf("cycle %d: %d announcements before the attempts are spent", cycle, n)
			}
			drain(t, b.worker())
			if b.get(t, id).IFTSTAAttempts < testMaxAttempts {
				b.due(t)
			}
		}
		b.scanAll(t)
		b.scanAll(t)
		n, attempts, maxAttempts, lastError := b.ausstehend(t, id)
		if n != cycle+1 || attempts != testMaxAttempts || maxAttempts != testMaxAttempts || !strings.Contains(lastError, "process_not_found") {
			t.Fatalf("cycle %d: %d announcements, %d of %d attempts, %q", cycle, n, attempts, maxAttempts, lastError)
		}
		if _, err := b.service.ResetIFTSTA(t.Context(), Call{Actor: "operator"}, id, ""); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAPassedFristIsAnnouncedAlsoWhenNoAttemptWasEverCounted(t *testing.T) {
	t.Parallel()
	for attempts := range 3 {
		t.Run(fmt.Sprintf("%d attempts", attempts), func(t *testing.T) {
			t.Parallel()
			clock := time.Date(2026, 9, 4, 21, 59, 59, 0, time.UTC) // the last second of the Frist in Berlin
			b := newBench(t, func(o *Options) { o.Now = func() time.Time { return clock } })
			id := b.backlog(t, 1)[0]
			b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = $1, iftsta_next_attempt_at = now() + interval '1 hour'`, attempts)
			b.scanAll(t)
			if n, _, _, _ := b.ausstehend(t, id); n != 0 {
				t.Fatal("announced before the Frist has passed")
			}
			clock = clock.Add(time.Second)
			b.scanAll(t)
			b.scanAll(t)
			if n, told, _, _ := b.ausstehend(t, id); n != 1 || told != attempts {
				t.Errorf("%d announcements telling %d attempts, want one telling %d", n, told, attempts)
			}
			// Late is better than never: the attempts go on.
			b.due(t)
			drain(t, b.worker())
			if got := b.get(t, id); got.IFTSTADispatchedAt == nil || got.IFTSTAEscalatedAt == nil {
				t.Errorf("order = %+v", got)
			}
		})
	}
}

func TestPastTheFristAResetIsAnnouncedForSpentAttemptsOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.backlog(t, 1)[0]
	b.exec(t, `UPDATE sperr_orders SET iftsta_faellig_am = '2026-08-01'`)
	b.scanAll(t)
	b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 0`)
	b.scanAll(t)
	if n, _, _, _ := b.ausstehend(t, id); n != 1 {
		t.Errorf("%d announcements: the new cycle was announced before its attempts", n)
	}
	b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 8`)
	b.scanAll(t)
	if n, _, _, _ := b.ausstehend(t, id); n != 2 {
		t.Errorf("%d announcements, want one for each cycle", n)
	}
}

func TestAResetBeforeTheFristDoesNotSilenceIt(t *testing.T) {
	t.Parallel()
	clock := time.Now()
	b := newBench(t, func(o *Options) { o.Now = func() time.Time { return clock } })
	id := b.backlog(t, 1)[0]
	b.exec(t, `UPDATE sperr_orders SET iftsta_faellig_am = $1`, werktag.BerlinDay(clock).AddDays(2))
	b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 0`)
	b.scanAll(t)
	if n, _, _, _ := b.ausstehend(t, id); n != 0 {
		t.Fatal("announced before the Frist has passed")
	}
	clock = clock.AddDate(0, 0, 4)
	b.scanAll(t)
	b.scanAll(t)
	if n, _, _, _ := b.ausstehend(t, id); n != 1 {
		t.Errorf("%d announcements after the Frist, want 1", n)
	}
}

func TestALateReportThatIsOnItsWayIsNoAlarm(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.backlog(t, 1)[0]
	b.exec(t, `UPDATE sperr_orders SET iftsta_faellig_am = '2026-08-01'`)
	w := b.worker()
	c := oneClaim(t, w)
	b.scanAll(t)
	if n, _, _, _ := b.ausstehend(t, id); n != 0 {
		t.Error("announced while makod is being told")
	}
	b.makod.FailNext(1, makodtest.BadGateway())
	w.record(t.Context(), []attempt{w.send(t.Context(), c)})
	b.scanAll(t)
	if n, attempts, _, _ := b.ausstehend(t, id); n != 1 || attempts != 1 {
		t.Errorf("%d announcements with %d attempts once makod could not be told", n, attempts)
	}
}

func TestTheLastAttemptIsNotAnnouncedWhileItIsOnItsWay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.backlog(t, 1)[0]
	b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 7`)
	w := b.worker()
	c := oneClaim(t, w)
	b.scanAll(t)
	if n, _, _, _ := b.ausstehend(t, id); n != 0 {
		t.Error("announced while the last attempt is on its way")
	}
	b.makod.FailNext(1, makodtest.BadGateway())
	w.record(t.Context(), []attempt{w.send(t.Context(), c)})
	b.scanAll(t)
	if n, attempts, _, _ := b.ausstehend(t, id); n != 1 || attempts != 8 {
		t.Errorf("%d announcements with %d attempts once it has failed", n, attempts)
	}
}

func TestOnlyTheOwnTenantIsAnnounced(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.overdue(t, 1)
	b.exec(t, `UPDATE sperr_orders SET iftsta_faellig_am = '2026-08-01' WHERE id = $1`, b.backlog(t, 1)[0])
	foreign := newBenchOn(t, b.pool, "9900357000011")
	foreign.scanAll(t)
	if n := column[int](t, b.pool, `SELECT count(*)::int FROM event_outbox`)[0]; n != 0 {
		t.Errorf("a service of another tenant announced %d events", n)
	}
}

func TestAnOddRowKeepsNoOtherFromBeingAnnounced(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ids := b.overdue(t, 4)
	b.exec(t, `UPDATE sperr_orders SET ausfuehrung_faellig_am = '-infinity' WHERE id = $1`, ids[0])
	b.exec(t, `UPDATE sperr_orders SET ausfuehrung_faellig_am = '0044-03-15 BC' WHERE id = $1`, ids[3])
	b.exec(t, `UPDATE sperr_orders SET created_at = 'infinity', ausfuehrung_am = '-infinity' WHERE id = $1`, ids[1])
	owed := b.backlog(t, 4)
	b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 8 WHERE status = 'executed'`)
	for i, odd := range []string{`iftsta_faellig_am = '-infinity'`, `iftsta_faellig_am = '12000-01-01'`, `ausfuehrung_faellig_am = 'infinity'`} {
		b.exec(t, `UPDATE sperr_orders SET `+odd+` WHERE id = $1`, owed[i])
	}
	b.scanAll(t)
	if n := b.ueberfaellig(t); n != 2 {
		t.Errorf("%d announcements, want those of the two orders with a day", n)
	}
	for i, id := range owed {
		if n, _, _, _ := b.ausstehend(t, id); n != 1 {
			t.Errorf("outcome %d was announced %d times", i, n)
		}
	}
}

func TestAStopEndsTheScanBetweenItsParts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.overdue(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewFristScanner(b.service, time.Hour).scan(ctx); err != nil || b.ueberfaellig(t) != 0 {
		t.Errorf("%v, %d announcements after the stop", err, b.ueberfaellig(t))
	}
}

func TestALastAttemptWhoseSenderDiedIsAnnouncedAsSpent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.backlog(t, 1)[0]
	b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 7`)
	oneClaim(t, b.worker()) // and its process dies
	b.exec(t, `UPDATE sperr_orders SET iftsta_last_code = 'timeout'`)
	if advice := text(b.get(t, id).IFTSTAEmpfehlung); strings.Contains(advice, "spent") {
		t.Errorf("while the attempt is on its way the advice is %q", advice)
	}
	b.due(t)
	b.scanAll(t)
	if n, attempts, _, _ := b.ausstehend(t, id); n != 1 || attempts != 8 {
		t.Errorf("%d announcements with %d attempts", n, attempts)
	}
	if got := b.get(t, id); got.IFTSTAInFlight || !strings.Contains(text(got.IFTSTAEmpfehlung), "spent") {
		t.Errorf("in flight %v, advice %q", got.IFTSTAInFlight, text(got.IFTSTAEmpfehlung))
	}
}

func TestAnAnnouncementIsInTheTraceOfItsOrder(t *testing.T) {
	t.Parallel()
	const arrival, report = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	b := newBench(t)
	overdue, uninformed := b.overdue(t, 2), b.backlog(t, 2)
	b.exec(t, `UPDATE sperr_orders SET traceparent = $1, abschluss_traceparent = CASE WHEN status <> 'pending' THEN $2 END, iftsta_faellig_am = '2026-09-01'`, arrival, report)
	b.exec(t, `UPDATE sperr_orders SET traceparent = E'\\x01rubbish', abschluss_traceparent = 'rubbish' WHERE id = ANY ($1)`, []uuid.UUID{overdue[1], uninformed[1]})
	b.scanAll(t)
	for id, want := range map[uuid.UUID]string{overdue[0]: arrival, overdue[1]: "", uninformed[0]: report, uninformed[1]: ""} {
		got := column[string](t, b.pool, `SELECT COALESCE(traceparent, '') || ' ' || COALESCE(envelope ->> 'traceparent', '') FROM event_outbox WHERE order_id = $1`, id)
		if len(got) != 1 || got[0] != want+" "+want {
			t.Errorf("event in the traces %q, want %q", got, want)
		}
	}
}
