package sperr

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"sperrd/internal/makod"
	"sperrd/internal/makod/makodtest"
)

func TestFailedDispatchKeepsTheReport(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		fault    makodtest.Fault
		code     string
		text     string
		unklar   bool
		attempts int
		advice   string
	}{
		{"process not found", makodtest.ProcessNotFound(), "process_not_found", "404 process_not_found", false, 1, "spawned"},
		{"ambiguous", makodtest.AmbiguousProcess(2), "ambiguous_process", "409 ambiguous_process", false, 1, "more than one"},
		{"rejected", makodtest.InvalidState(makodtest.StateRejected), "invalid_state:Rejected", "found Rejected", false, 1, "other means"},
		{"storniert", makodtest.InvalidState(makodtest.StateStorniert), "invalid_state:Storniert", "found Storniert", false, 1, "withdrew"},
		{"executed by another", makodtest.InvalidState(makodtest.StateAusgefuehrt), "invalid_state:Ausgefuehrt", "found Ausgefuehrt", false, 1, "compare"},
		{"key refused", makodtest.Unauthorized(), "Unauthorized", "401 Unauthorized", false, 1, "makod_api_key"},
		{"engine error", makodtest.EngineError(), "engine_error", "500 engine_error", true, 1, "sent again by itself"},
		{"proxy error", makodtest.BadGateway(), "http_502", "502 Bad Gateway", true, 1, "proxy"},
		{"connection cut", makodtest.Drop(), makod.CodeConnectionLost, "", true, 1, "same key"},
		{"applied, answer lost", makodtest.Applied(makodtest.Drop()), makod.CodeConnectionLost, "", true, 1, "same key"},
		{"garbled success", makodtest.AcceptGarbled("{"), makod.CodeUndecodableAnswer, "", true, 1, "same key"},
		{"rate limited", makodtest.RateLimited(), "http_429", "429", false, 0, "slow down"},
		{"put off", makodtest.IdempotencyUnavailable("7"), "idempotency_unavailable", "503", true, 0, "sent again by itself"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			order := b.receive(t, pidSperrauftrag, testMalo)
			b.makod.FailNext(1, c.fault)

			report, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{Note: "done"})
			want := map[bool]Dispatch{true: DispatchUnknown, false: DispatchNone}[c.unklar]
			if err != nil || report.IFTSTA != want {
				t.Fatalf("Execute = %+v, %v; want recorded and queued, dispatch %v", report, err, want)
			}
			got := b.get(t, order.ID)
			if got.Status != StatusExecuted || text(got.ExecutionNote) != "done" || got.IFTSTADispatchedAt != nil {
				t.Errorf("order = %+v", got)
			}
			if text(got.IFTSTALastCode) != c.code || !strings.Contains(text(got.IFTSTALastError), c.text) {
				t.Errorf("last error %q (%s), want %q (%s)", text(got.IFTSTALastError), text(got.IFTSTALastCode), c.text, c.code)
			}
			if got.IFTSTAUnklar != c.unklar || got.IFTSTAAttempts != c.attempts {
				t.Errorf("unklar %v, attempts %d; want %v, %d", got.IFTSTAUnklar, got.IFTSTAAttempts, c.unklar, c.attempts)
			}
			if !strings.Contains(text(got.IFTSTAEmpfehlung), c.advice) {
				t.Errorf("advice %q, want %q in it", text(got.IFTSTAEmpfehlung), c.advice)
			}
			stats, err := b.repo.Stats(t.Context(), day("2026-09-05"))
			if err != nil || stats.IFTSTAOutstanding != 1 || stats.IFTSTAUeberfaellig != 1 || stats.IFTSTAStuck != 0 {
				t.Errorf("stats = %+v, %v", stats, err)
			}
		})
	}
}

func TestAReportAfterMakodsOwnDeadlineIsKeptWithAdvice(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.makod.SetDeadline(true)
	e := marketEvent(t, pidSperrauftrag, testMalo, nil)
	process := makodtest.Process{ID: e.Subject(), MaloID: testMalo, PID: pidSperrauftrag, ReceivedAt: testNow.AddDate(0, 0, -7)}
	if _, err := b.makod.Spawn(process); err != nil {
		t.Fatal(err)
	}
	receipt, err := b.service.Receive(t.Context(), "", e)
	if err != nil {
		t.Fatal(err)
	}
	report, err := b.service.Execute(t.Context(), Call{Actor: "team"}, receipt.OrderID, ExecuteReport{})
	if err != nil || report.IFTSTA != DispatchNone {
		t.Fatalf("Execute = %+v, %v; want recorded, not taken", report, err)
	}
	got := b.get(t, receipt.OrderID)
	if got.Status != StatusExecuted || !strings.Contains(text(got.IFTSTALastError), "found Rejected") || !strings.Contains(text(got.IFTSTAEmpfehlung), "deadline") {
		t.Errorf("order = %s, %q, %q", got.Status, text(got.IFTSTALastError), text(got.IFTSTAEmpfehlung))
	}
}

func TestAnUnreachableMakodIsNotUnclear(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	client, err := makod.NewClient("http://127.0.0.1:1", "key", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	service := NewService(b.pool, b.repo, client, b.service.Options)
	order := b.receive(t, pidSperrauftrag, testMalo)
	if report, err := service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{}); err != nil || report.IFTSTA == DispatchDone {
		t.Fatalf("Execute = %+v, %v", report, err)
	}
	if got := b.get(t, order.ID); text(got.IFTSTALastCode) != makod.CodeUnreachable || got.IFTSTAUnklar {
		t.Errorf("code %s, unklar %v", text(got.IFTSTALastCode), got.IFTSTAUnklar)
	}
}

func TestTheNextAttemptIsDueAfterTheFirstBackoff(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	b.makod.FailNext(1, makodtest.EngineError())
	if _, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{}); err != nil {
		t.Fatal(err)
	}
	wait := column[float64](t, b.pool, `SELECT extract(epoch FROM iftsta_next_attempt_at - now())::float8 FROM sperr_orders`)[0]
	if wait <= 0 || wait > 30 {
		t.Errorf("next attempt in %.1f s, want at most 30", wait)
	}
}

func TestAnExecuteThatMakodHasAppliedAlreadyIsReconciledAfterALostAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	b.makod.FailNext(1, makodtest.Applied(makodtest.Drop()))
	if _, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{}); err != nil {
		t.Fatal(err)
	}
	unsent := b.get(t, order.ID)
	if b.service.dispatch(t.Context(), claim{order: unsent, unklar: unsent.IFTSTAUnklar, until: testNow.Add(time.Minute)}) != DispatchDone {
		t.Fatal("the second send was not taken for success")
	}
	got := b.get(t, order.ID)
	if got.IFTSTADispatchedAt == nil || text(got.IFTSTARef) != text(order.ProcessID) || got.IFTSTALastError != nil || got.IFTSTAUnklar {
		t.Errorf("order = %+v", got)
	}
	if n := len(b.makod.IFTSTA()); n != 1 {
		t.Errorf("%d IFTSTA went out, want 1", n)
	}
	sent := b.makod.RequestsFor("sperrd-iftsta-" + order.ID.String())
	if len(sent) != 2 || string(sent[0].Body) != string(sent[1].Body) {
		t.Errorf("the re-send is not the same command: %d requests", len(sent))
	}
}

func TestARejectedProcessIsNeverTakenForALostFailure(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	b.makod.FailNext(1, makodtest.Applied(makodtest.Drop()))
	if _, err := b.service.Fail(t.Context(), Call{Actor: "team"}, order.ID, FailReport{Reason: "x", PruefschrittCode: ptr("A01"), Endgueltig: true}); err != nil {
		t.Fatal(err)
	}
	unsent := b.get(t, order.ID)
	if b.service.dispatch(t.Context(), claim{order: unsent, unklar: true, until: testNow.Add(time.Minute)}) == DispatchDone {
		t.Error("a Rejected process counts as reported, although other causes lead there")
	}
	if got := b.get(t, order.ID); !got.IFTSTAUnklar {
		t.Error("the order forgot that an earlier send had no answer")
	}
}

func TestALateWriterChangesNothing(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]makodtest.Fault{"success": {}, "failure": makodtest.EngineError()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			order := b.receive(t, pidSperrauftrag, testMalo)
			if name == "failure" {
				b.makod.FailNext(1, fault)
			}
			gate := b.makod.Hold()
			done := make(chan Result)
			go func() {
				report, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{})
				if err != nil {
					t.Error(err)
				}
				done <- report
			}()
			if err := gate.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			// The lease passed on to another claim meanwhile.
			b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 2, iftsta_next_attempt_at = iftsta_next_attempt_at + interval '1 minute'`)
			other := b.get(t, order.ID)
			gate.Release()
			if report := <-done; report.IFTSTA != DispatchUnknown {
				t.Errorf("the late writer says %v, want that nobody knows", report.IFTSTA)
			}
			if diff := cmp.Diff(other, b.get(t, order.ID)); diff != "" {
				t.Errorf("the late writer changed the order:\n%s", diff)
			}
		})
	}
}

func TestNothingIsSentWhenTheLeaseEndsBeforeAnAnswerCouldCome(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	clock := testNow
	b.service.Now = func() time.Time { defer func() { clock = clock.Add(time.Minute) }(); return clock }
	report, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{}) // the clock runs on by more than the lease
	if err != nil || report.IFTSTA == DispatchDone {
		t.Errorf("Execute = %+v, %v; want recorded and queued", report, err)
	}
	if n := len(b.makod.Requests()); n != 0 {
		t.Errorf("%d commands were sent on a lease too short for the answer", n)
	}
	got := b.get(t, order.ID)
	if got.Status != StatusExecuted || got.IFTSTAAttempts != 0 || got.IFTSTAUnklar || text(got.IFTSTALastCode) != "not_sent" {
		t.Errorf("the attempt was not given back: %+v", got)
	}
}

func TestTheTerminalUpdateTakesTheLease(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	gate := b.makod.Hold()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{}); err != nil {
			t.Error(err)
		}
	}()
	if err := gate.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	got := b.get(t, order.ID)
	claimable := column[bool](t, b.pool, `SELECT iftsta_next_attempt_at <= now() FROM sperr_orders`)[0]
	if claimable || got.IFTSTAAttempts != 1 || !got.IFTSTAUnklar {
		t.Errorf("while the request sends: claimable %v, attempts %d, unklar %v", claimable, got.IFTSTAAttempts, got.IFTSTAUnklar)
	}
	gate.Release()
	<-done
}

func TestAnotherProcessInTheAnswerIsSuccessWithAWarning(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	other := uuid.NewString()
	b.makod.FailNext(1, makodtest.AcceptOther(other))
	report, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{})
	if err != nil || report.IFTSTA != DispatchDone {
		t.Fatalf("Execute = %+v, %v", report, err)
	}
	if got := b.get(t, order.ID); text(got.IFTSTARef) != other || !hasWarning(got, other) {
		t.Errorf("order = %+v", got)
	}
}

func TestDuplicateProcessWithAnIDIsSuccess(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	b.makod.FailNext(1, makodtest.DuplicateProcess(*order.ProcessID))
	if report, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{}); err != nil || report.IFTSTA != DispatchDone {
		t.Fatalf("Execute = %+v, %v", report, err)
	}
}

func TestCommandsAreGoldenAndLeaveOutWhatIsAbsent(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 9, 3, 7, 45, 59, 999, time.UTC)
	full := goldenOrder()
	full.ExecutedAt = &at
	bare := full
	bare.OrderType, bare.ExecutionNote, bare.PruefschrittCode = TypeEntsperrung, nil, ptr("A01")
	failed := full
	failed.Status, failed.PruefschrittCode = StatusFailed, ptr("A04")
	for name, o := range map[string]Order{"command.sperrung.executed": full, "command.entsperrung.executed": bare, "command.sperrung.failed": failed} {
		wantGolden(t, name, claim{order: o, first: true}.command())
	}
}

func TestAResultThatCannotBeRecordedIsNotPromised(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	b.exec(t, `CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$`)
	b.exec(t, `CREATE TRIGGER broken BEFORE UPDATE ON sperr_orders FOR EACH ROW WHEN (OLD.status = 'executed') EXECUTE FUNCTION broken()`)
	report, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{})
	if err != nil || report.IFTSTA != DispatchUnknown {
		t.Errorf("Execute = %+v, %v; want recorded, dispatch not promised", report, err)
	}
	if got := b.get(t, order.ID); got.Status != StatusExecuted || got.IFTSTADispatchedAt != nil || !got.IFTSTAUnklar {
		t.Errorf("order = %+v", got)
	}
}

func TestSettingTheAttemptsToZeroBeginsANewCycle(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	b.makod.FailNext(1, makodtest.ProcessNotFound())
	if _, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{}); err != nil {
		t.Fatal(err)
	}
	b.exec(t, `UPDATE sperr_orders SET iftsta_escalated_at = now(), iftsta_attempts = 8`)
	b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 0 WHERE id = $1`, order.ID)
	got := b.get(t, order.ID)
	due := column[bool](t, b.pool, `SELECT iftsta_next_attempt_at <= now() FROM sperr_orders`)[0]
	if got.IFTSTAResets != 1 || got.IFTSTAEscalatedAt != nil || !due {
		t.Errorf("resets %d, escalated %v, due %v", got.IFTSTAResets, got.IFTSTAEscalatedAt, due)
	}
	if actions := b.actions(t, order.ID); actions[len(actions)-1] != "iftsta_reset" {
		t.Errorf("history = %v, want iftsta_reset last", actions)
	}
	// A new cycle belongs to outcomes that are owed and not dispatched.
	pending := b.receive(t, pidSperrauftrag, otherMalo)
	operator := b.create(t, NewOrder{MaloID: maloWith(1), LieferantID: testLF, OrderType: "sperrung"})
	sent := b.receive(t, pidEntsperrauftrag, maloWith(2))
	for _, o := range []Order{operator, sent} {
		if _, err := b.service.Execute(t.Context(), Call{Actor: "team"}, o.ID, ExecuteReport{}); err != nil {
			t.Fatal(err)
		}
	}
	b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 0 WHERE id <> $1`, order.ID)
	for _, o := range []Order{pending, operator, sent} {
		if got := b.get(t, o.ID); got.IFTSTAResets != 0 {
			t.Errorf("%s order of %s was reset", got.Status, got.MaloID)
		}
	}
	// Giving an attempt back moves the next one as well, and is no reset.
	b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 0, iftsta_next_attempt_at = now() + interval '1 minute'`)
	if got := b.get(t, order.ID); got.IFTSTAResets != 1 {
		t.Errorf("giving an attempt back counts as a reset")
	}
}

func TestTheHistoryIsAppendOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.receive(t, pidSperrauftrag, testMalo)
	for _, sql := range []string{`UPDATE sperr_order_history SET actor = 'x'`, `DELETE FROM sperr_order_history`, `TRUNCATE sperr_order_history`} {
		if _, err := b.pool.Exec(t.Context(), sql); err == nil || !strings.Contains(err.Error(), "append only") {
			t.Errorf("%s = %v, want refused", sql, err)
		}
	}
}

func TestOnlyAnExecutedProcessCountsAsApplied(t *testing.T) {
	t.Parallel()
	o := Order{Status: StatusExecuted}
	if alreadyApplied(o, errors.New("x")) || alreadyApplied(o, nil) {
		t.Error("an error of another kind counts as applied")
	}
	if alreadyApplied(o, &makod.Error{Status: http.StatusConflict, Code: makod.CodeInvalidState, Found: "Rejected"}) {
		t.Error("a rejected process counts as applied")
	}
}
