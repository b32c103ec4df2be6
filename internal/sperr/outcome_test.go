package sperr

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

func TestExecuteReportsTheOutcomeToMakodAndTheERP(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)

	report, err := b.service.Execute(t.Context(), "team", order.ID, ExecuteReport{Note: "TW-1", ExecutedAt: ptr("2026-09-03T09:45:59+02:00")})
	if err != nil || !report.IFTSTADispatched {
		t.Fatalf("Execute = %+v, %v; want dispatched", report, err)
	}
	got := b.get(t, order.ID)
	if got.Status != StatusExecuted || text(got.PruefschrittCode) != "A07" || got.IFTSTADispatchedAt == nil ||
		text(got.IFTSTARef) != text(order.ProcessID) || got.IFTSTAAttempts != 1 || got.IFTSTAUnklar {
		t.Errorf("order = %+v", got)
	}
	if got.IFTSTAFaelligAm == nil || got.IFTSTAFaelligAm.String() != "2026-09-04" {
		t.Errorf("iftsta_faellig_am = %v, want 2026-09-04", got.IFTSTAFaelligAm)
	}
	want := []string{EventAuftragEingegangen, EventAusgefuehrt}
	if diff := cmp.Diff(want, b.events(t, order.ID)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{actionCreated, actionExecuted, actionIFTSTADispatched}, b.actions(t, order.ID)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	reports := b.makod.IFTSTAFor(testMalo)
	if len(reports) != 1 {
		t.Fatalf("%d IFTSTA, want 1", len(reports))
	}
	if r := reports[0]; r.Qualifier != "Z37" || r.Code != "Z14" || r.Pruefschritt != "A07" || r.Text != "TW-1" ||
		!r.Fertigstellung.Equal(time.Date(2026, 9, 3, 7, 45, 0, 0, time.UTC)) {
		t.Errorf("IFTSTA = %+v", r)
	}
}

func TestFirstSperrversuchLeavesTheOrderOpen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)

	report, err := b.service.Fail(t.Context(), "team", order.ID, FailReport{Reason: " niemand da "})
	if err != nil || report.IFTSTADispatched || report.Order.Status != StatusPending || report.Order.Sperrversuche != 1 {
		t.Fatalf("Fail = %+v, %v", report, err)
	}
	got := b.get(t, order.ID)
	if text(got.LetzterVersuchGrund) != "niemand da" || got.LetzterVersuchAm == nil || got.FailReason != nil || got.IFTSTAFaelligAm != nil {
		t.Errorf("order = %+v", got)
	}
	if n := len(b.makod.Requests()); n != 0 {
		t.Errorf("makod was asked %d times, want never", n)
	}
	if diff := cmp.Diff([]string{EventAuftragEingegangen, EventVersuchGescheitert}, b.events(t, order.ID)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestSecondSperrversuchClosesTheOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	if _, err := b.service.Fail(t.Context(), "team", order.ID, FailReport{Reason: "niemand da", PruefschrittCode: ptr("A08")}); err != nil {
		t.Fatal(err)
	}
	report, err := b.service.Fail(t.Context(), "team", order.ID, FailReport{
		Reason: "wieder niemand da", PruefschrittCode: ptr("A03"), VersuchAm: ptr("2026-09-01T16:00:00Z"),
	})
	if err != nil || !report.IFTSTADispatched {
		t.Fatalf("Fail = %+v, %v; want dispatched", report, err)
	}
	got := b.get(t, order.ID)
	if got.Status != StatusFailed || got.Sperrversuche != 2 || text(got.FailReason) != "wieder niemand da" ||
		text(got.LetzterVersuchGrund) != "wieder niemand da" || text(got.PruefschrittCode) != "A03" {
		t.Errorf("order = %+v", got)
	}
	if got.IFTSTAFaelligAm.String() != "2026-09-02" {
		t.Errorf("iftsta_faellig_am = %s, want the Werktag after the visit, 2026-09-02", got.IFTSTAFaelligAm)
	}
	if r := b.makod.IFTSTAFor(testMalo); len(r) != 1 || r[0].Code != "Z13" || r[0].Text != "wieder niemand da" {
		t.Errorf("IFTSTA = %+v", r)
	}
}

func TestTheFirstVisitsCodeDoesNotServeTheClosingOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	if _, err := b.service.Fail(t.Context(), "team", order.ID, FailReport{Reason: "x", PruefschrittCode: ptr("A08")}); err != nil {
		t.Fatal(err)
	}
	_, err := b.service.Fail(t.Context(), "team", order.ID, FailReport{Reason: "x"})
	wantInvalid(t, err, SubjectReport, "pruefschritt_code")
	if got := b.get(t, order.ID); got.Status != StatusPending || got.Sperrversuche != 1 {
		t.Errorf("a refused report changed the order: %+v", got)
	}
}

func TestEndgueltigClosesAtTheFirstVisit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	report, err := b.service.Fail(t.Context(), "team", order.ID, FailReport{Reason: "Verfügung", PruefschrittCode: ptr("A01"), Endgueltig: true})
	if err != nil || !report.IFTSTADispatched || report.Order.Status != StatusFailed || report.Order.Sperrversuche != 1 {
		t.Fatalf("Fail = %+v, %v", report, err)
	}
}

func TestActiveRefusalOfAccessClosesAtTheFirstVisit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	report, err := b.service.Fail(t.Context(), "team", order.ID, FailReport{Reason: "Zutritt verweigert", PruefschrittCode: ptr("A02")})
	if err != nil || report.Order.Status != StatusFailed {
		t.Fatalf("Fail = %+v, %v; want closed", report, err)
	}
}

func TestAnObstacleForTheLieferantAdvisesEndgueltig(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, code := range []string{"A01", "A04"} {
		order := b.receive(t, pidSperrauftrag, map[string]string{"A01": testMalo, "A04": otherMalo}[code])
		report, err := b.service.Fail(t.Context(), "team", order.ID, FailReport{Reason: "Attest", PruefschrittCode: &code})
		if err != nil || report.Order.Status != StatusPending || !strings.Contains(report.Advice, "endgueltig: true") {
			t.Errorf("%s: Fail = %+v, %v", code, report, err)
		}
	}
}

func TestAFailedEntsperrungTakesTheTwoVisitsAndFillsInItsOnlyCode(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidEntsperrauftrag, testMalo)
	if report, err := b.service.Fail(t.Context(), "team", order.ID, FailReport{Reason: "Zähler fehlt", PruefschrittCode: ptr("A02")}); err != nil || report.Order.Status != StatusPending {
		t.Fatalf("first Fail = %+v, %v; want pending", report, err)
	}
	report, err := b.service.Fail(t.Context(), "team", order.ID, FailReport{Reason: "Zähler fehlt"})
	if err != nil || text(report.Order.PruefschrittCode) != "A02" || !report.IFTSTADispatched {
		t.Fatalf("second Fail = %+v, %v", report, err)
	}
	if r := b.makod.IFTSTAFor(testMalo); len(r) != 1 || r[0].Qualifier != "Z38" || r[0].Code != "Z13" {
		t.Errorf("IFTSTA = %+v", r)
	}
}

func TestPruefschrittCodeMustFitTypeAndOutcome(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sperrung := b.receive(t, pidSperrauftrag, testMalo)
	entsperrung := b.receive(t, pidEntsperrauftrag, otherMalo)
	for _, code := range []string{"A01", "A99", "a07", "A07 ", ""} {
		_, err := b.service.Execute(t.Context(), "team", sperrung.ID, ExecuteReport{PruefschrittCode: &code})
		wantInvalid(t, err, SubjectReport, "pruefschritt_code")
		if !strings.Contains(err.Error(), "fit A07") {
			t.Errorf("the error for %q does not name the code that fits: %v", code, err)
		}
	}
	_, err := b.service.Execute(t.Context(), "team", entsperrung.ID, ExecuteReport{PruefschrittCode: ptr("A07")})
	wantInvalid(t, err, SubjectReport, "pruefschritt_code")
	_, err = b.service.Fail(t.Context(), "team", sperrung.ID, FailReport{Reason: "x", PruefschrittCode: ptr("A07")})
	wantInvalid(t, err, SubjectReport, "pruefschritt_code")
	_, err = b.service.Fail(t.Context(), "team", sperrung.ID, FailReport{Reason: " \t", PruefschrittCode: ptr("A05")})
	wantInvalid(t, err, SubjectReport, "reason")
	if report, err := b.service.Execute(t.Context(), "team", entsperrung.ID, ExecuteReport{PruefschrittCode: ptr("A01")}); err != nil || !report.IFTSTADispatched {
		t.Errorf("Entsperrung with A01: %+v, %v", report, err)
	}
}

func TestAnUnknownCodeIsRecordedWithAWarningWhereTheOperatorAllowsIt(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) { o.PruefschrittCheck = PruefschrittWarn })
	order := b.receive(t, pidSperrauftrag, testMalo)
	_, err := b.service.Fail(t.Context(), "team", order.ID, FailReport{Reason: "x", PruefschrittCode: ptr("toolong"), Endgueltig: true})
	wantInvalid(t, err, SubjectReport, "pruefschritt_code")
	report, err := b.service.Fail(t.Context(), "team", order.ID, FailReport{Reason: "x", PruefschrittCode: ptr("A11"), Endgueltig: true})
	if err != nil || text(report.Order.PruefschrittCode) != "A11" || !hasWarning(report.Order, "A11 is not in the code list") {
		t.Fatalf("Fail = %+v, %v", report, err)
	}
}

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
			func() error { _, err := b.service.Execute(t.Context(), "a", id, ExecuteReport{}); return err },
			func() error {
				_, err := b.service.Fail(t.Context(), "b", id, FailReport{Reason: "x", PruefschrittCode: ptr("A01"), Endgueltig: true})
				return err
			},
			func() error { return b.service.Cancel(t.Context(), "c", id, "") },
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

func TestConcurrentFirstVisitsCountOneByOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = b.service.Fail(t.Context(), fmt.Sprint(i), order.ID, FailReport{Reason: "x", PruefschrittCode: ptr("A08")})
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

func TestCancelOnlyWhilePending(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	if err := b.service.Cancel(t.Context(), "dispatcher", order.ID, "LF hat angerufen"); err != nil {
		t.Fatal(err)
	}
	if got := b.get(t, order.ID); got.Status != StatusCancelled || got.IFTSTAAttempts != 0 || got.IFTSTAFaelligAm != nil {
		t.Errorf("order = %+v", got)
	}
	history, err := b.repo.History(t.Context(), order.ID)
	if err != nil || string(history[1].Detail) != `{"reason": "LF hat angerufen"}` || history[1].Actor != "dispatcher" {
		t.Errorf("history = %+v, %v", history, err)
	}
	var closed *NotPendingError
	if err := b.service.Cancel(t.Context(), "dispatcher", order.ID, ""); !errors.As(err, &closed) || closed.Order.Status != StatusCancelled {
		t.Errorf("second Cancel = %v, want *NotPendingError", err)
	}
	if _, err := b.service.Execute(t.Context(), "team", order.ID, ExecuteReport{}); !errors.As(err, &closed) {
		t.Errorf("Execute after Cancel = %v, want *NotPendingError", err)
	}
	if err := b.service.Cancel(t.Context(), "dispatcher", uuid.New(), ""); !errors.Is(err, ErrNotFound) {
		t.Errorf("Cancel of an unknown order = %v, want ErrNotFound", err)
	}
	if n := len(b.makod.Requests()); n != 0 {
		t.Errorf("makod was asked %d times about a cancelled order", n)
	}
}

func TestOperatorOrderOwesNoIFTSTA(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.create(t, NewOrder{MaloID: testMalo, LieferantID: testLF, OrderType: "sperrung"})
	report, err := b.service.Execute(t.Context(), "team", order.ID, ExecuteReport{})
	if err != nil || report.Order.Status != StatusExecuted {
		t.Fatalf("Execute = %+v, %v", report, err)
	}
	got := b.get(t, order.ID)
	if got.OwesIFTSTA() || got.IFTSTAFaelligAm != nil || got.IFTSTAAttempts != 0 || got.IFTSTAUnklar || len(b.makod.Requests()) != 0 {
		t.Errorf("order = %+v, %d commands", got, len(b.makod.Requests()))
	}
	stats, err := b.repo.Stats(t.Context(), day("2027-01-01"))
	if err != nil || stats.IFTSTAOutstanding != 0 || stats.IFTSTAUeberfaellig != 0 {
		t.Errorf("stats = %+v, %v; want nothing outstanding", stats, err)
	}
}

func TestStateHistoryAndEventAreOneTransaction(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	b.exec(t, `CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'outbox is broken'; END $$`)
	b.exec(t, `CREATE TRIGGER broken BEFORE INSERT ON event_outbox FOR EACH ROW EXECUTE FUNCTION broken()`)
	acts := map[string]func() error{
		"execute": func() error { _, err := b.service.Execute(t.Context(), "a", order.ID, ExecuteReport{}); return err },
		"visit": func() error {
			_, err := b.service.Fail(t.Context(), "a", order.ID, FailReport{Reason: "x"})
			return err
		},
		"cancel": func() error { return b.service.Cancel(t.Context(), "a", order.ID, "") },
		"receive": func() error {
			_, err := b.service.Receive(t.Context(), marketEvent(t, pidSperrauftrag, otherMalo, nil))
			return err
		},
		"create": func() error {
			_, err := b.service.Create(t.Context(), "a", NewOrder{MaloID: otherMalo, LieferantID: testLF, OrderType: "sperrung"})
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

func TestFieldTimesAreJudgedAsInstants(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for value, reason := range map[string]string{
		"2026-09-03T08:01:00Z":         "future",
		"2026-09-03T10:01:00+02:00":    "future",
		"2026-09-02T21:01:00-11:00":    "future",
		"2026-09-03":                   "offset",
		"2026-09-03T07:00:00":          "offset",
		"2026-09-03T24:00:00Z":         "offset",
		"2026-02-30T07:00:00Z":         "offset",
		"1970-01-01T00:00:00Z":         "clock of the device",
		"":                             "offset",
		"2026-09-03T07:00:60Z":         "offset",
		"2026-09-03T07:00:00Z\x00":     "offset",
		"9999-12-31T23:59:59.9999999Z": "future",
	} {
		order := b.create(t, NewOrder{MaloID: testMalo, LieferantID: testLF, OrderType: "sperrung"})
		_, err := b.service.Execute(t.Context(), "team", order.ID, ExecuteReport{ExecutedAt: &value})
		wantInvalid(t, err, SubjectReport, "executed_at")
		if !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v, want %q in it", value, err, reason)
		}
		_, err = b.service.Fail(t.Context(), "team", order.ID, FailReport{Reason: "x", VersuchAm: &value})
		wantInvalid(t, err, SubjectReport, "versuch_am")
	}
	for value, want := range map[string]time.Time{
		"2026-09-03T08:00:20Z":           testNow, // a device that runs a little ahead
		"2026-09-03T10:00:00.5+02:00":    testNow,
		"2026-09-02T23:59:00+02:00":      time.Date(2026, 9, 2, 21, 59, 0, 0, time.UTC),
		"2026-09-03T07:00:00.123456789Z": time.Date(2026, 9, 3, 7, 0, 0, 123456000, time.UTC),
	} {
		order := b.create(t, NewOrder{MaloID: testMalo, LieferantID: testLF, OrderType: "sperrung"})
		report, err := b.service.Execute(t.Context(), "team", order.ID, ExecuteReport{ExecutedAt: &value})
		if err != nil || !report.Order.ExecutedAt.Equal(want) {
			t.Errorf("%q: %v, %v; want %v", value, report.Order.ExecutedAt, err, want)
		}
	}
}

func TestTheIFTSTAFristRunsFromTheBerlinDayOfTheVisit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for executedAt, want := range map[string]string{
		"2026-08-30T22:30:00Z": "2026-09-01", // Monday 00:30 in Berlin
		"2026-08-30T21:30:00Z": "2026-08-31", // Sunday 23:30 in Berlin
	} {
		order := b.receive(t, pidSperrauftrag, map[string]string{"2026-09-01": testMalo, "2026-08-31": otherMalo}[want])
		report, err := b.service.Execute(t.Context(), "team", order.ID, ExecuteReport{ExecutedAt: &executedAt})
		if err != nil || report.Order.IFTSTAFaelligAm.String() != want {
			t.Errorf("%s: due %v, %v; want %s", executedAt, report.Order.IFTSTAFaelligAm, err, want)
		}
		if !hasWarning(report.Order, "before the arrival") {
			t.Errorf("%s: no warning about a visit before the order's arrival: %v", executedAt, report.Order.Warnungen)
		}
	}
	old := b.create(t, NewOrder{MaloID: testMalo, LieferantID: testLF, OrderType: "sperrung"})
	report, err := b.service.Execute(t.Context(), "team", old.ID, ExecuteReport{ExecutedAt: ptr("2026-08-01T08:00:00Z")})
	if err != nil || !hasWarning(report.Order, "more than 30 days") {
		t.Errorf("old report: %v, %v", report.Order.Warnungen, err)
	}
}

func TestAnOutcomePastTheCalendarIsRecordedWithoutAFrist(t *testing.T) {
	t.Parallel()
	now := time.Date(2036, 1, 2, 8, 0, 0, 0, time.UTC)
	b := newBench(t, func(o *Options) { o.Now = func() time.Time { return now } })
	order := b.receive(t, pidEntsperrauftrag, testMalo)
	report, err := b.service.Execute(t.Context(), "team", order.ID, ExecuteReport{})
	if err != nil || !report.IFTSTADispatched || report.Order.IFTSTAFaelligAm != nil || !hasWarning(report.Order, "iftsta_faellig_am could not be counted") {
		t.Errorf("Execute = %+v, %v", report, err)
	}
}

func TestAClientThatHangsUpAbortsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	gate := b.makod.Hold()
	ctx, hangUp := context.WithCancel(t.Context())
	done := make(chan Report)
	go func() {
		report, err := b.service.Execute(ctx, "team", order.ID, ExecuteReport{})
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
	if report := <-done; !report.IFTSTADispatched {
		t.Errorf("report = %+v, want dispatched", report)
	}
	if got := b.get(t, order.ID); got.IFTSTADispatchedAt == nil || len(b.makod.IFTSTA()) != 1 {
		t.Errorf("order = %+v, %d IFTSTA", got, len(b.makod.IFTSTA()))
	}
}

func TestTextsAreMeasuredInCharactersAndRefusedWithNUL(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.create(t, NewOrder{MaloID: testMalo, LieferantID: testLF, OrderType: "sperrung"})
	for field, err := range map[string]error{
		"note":     second(b.service.Execute(t.Context(), "team", order.ID, ExecuteReport{Note: "a\x00b"})),
		"note ":    second(b.service.Execute(t.Context(), "team", order.ID, ExecuteReport{Note: strings.Repeat("ü", maxFreeText+1)})),
		"reason":   second(b.service.Fail(t.Context(), "team", order.ID, FailReport{Reason: "a\x00b"})),
		"reason  ": b.service.Cancel(t.Context(), "team", order.ID, "a\x00b"),
	} {
		wantInvalid(t, err, SubjectReport, strings.TrimSpace(field))
	}
	report, err := b.service.Execute(t.Context(), "team", order.ID, ExecuteReport{Note: strings.Repeat("ü", maxFreeText-1) + "€"})
	if err != nil || !hasWarning(report.Order, `outside ISO 8859-1, which EDIFACT does not carry: "€" (U+20AC)`) {
		t.Errorf("Execute = %v, %v", report.Order.Warnungen, err)
	}
}

// second drops the first result of a call.
func second[T any](_ T, err error) error { return err }

// maloWith is a valid MaLo-ID of its own for each i.
func maloWith(i int) string {
	number := fmt.Sprintf("5%09d", i)
	return number + string(weightedCheckDigit(number, 2))
}

func (b *bench) create(t *testing.T, n NewOrder) Order {
	t.Helper()
	order, err := b.service.Create(t.Context(), "operator", n)
	if err != nil {
		t.Fatal(err)
	}
	return order
}

// wantInvalid fails unless err refuses field of subject.
func wantInvalid(t *testing.T, err error, subject Subject, field string) {
	t.Helper()
	var invalid *ValidationError
	if !errors.As(err, &invalid) || invalid.Subject != subject {
		t.Fatalf("error = %v, want a *ValidationError of the %s", err, subject)
	}
	for _, f := range invalid.Fields {
		if f.Field == field {
			return
		}
	}
	t.Errorf("error = %v, want field %s in it", err, field)
}

func hasWarning(o Order, part string) bool {
	for _, w := range o.Warnungen {
		if strings.Contains(w, part) {
			return true
		}
	}
	return false
}
