package sperr

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

func TestExecuteReportsTheOutcomeToMakodAndTheERP(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)

	report, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{Note: "TW-1", ExecutedAt: ptr("2026-09-03T09:45:59+02:00")})
	if err != nil || report.IFTSTA != DispatchDone {
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

func TestAWarningStandsOnAnOrderOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	for range 2 {
		if _, err := b.service.Fail(t.Context(), Call{Actor: "team"}, order.ID, FailReport{Reason: "10 €", PruefschrittCode: ptr("A08")}); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.get(t, order.ID); len(got.Warnungen) != len(order.Warnungen)+1 {
		t.Errorf("warnings = %q, want one more than %q", got.Warnungen, order.Warnungen)
	}
}

func TestFirstSperrversuchLeavesTheOrderOpen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)

	report, err := b.service.Fail(t.Context(), Call{Actor: "team"}, order.ID, FailReport{Reason: " niemand da "})
	if err != nil || report.IFTSTA == DispatchDone || report.Order.Status != StatusPending || report.Order.Sperrversuche != 1 {
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
	if _, err := b.service.Fail(t.Context(), Call{Actor: "team"}, order.ID, FailReport{Reason: "niemand da", PruefschrittCode: ptr("A08")}); err != nil {
		t.Fatal(err)
	}
	report, err := b.service.Fail(t.Context(), Call{Actor: "team"}, order.ID, FailReport{
		Reason: "wieder niemand da", PruefschrittCode: ptr("A03"), VersuchAm: ptr("2026-09-01T16:00:00Z"),
	})
	if err != nil || report.IFTSTA != DispatchDone {
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
	if _, err := b.service.Fail(t.Context(), Call{Actor: "team"}, order.ID, FailReport{Reason: "x", PruefschrittCode: ptr("A08")}); err != nil {
		t.Fatal(err)
	}
	_, err := b.service.Fail(t.Context(), Call{Actor: "team"}, order.ID, FailReport{Reason: "x"})
	wantInvalid(t, err, SubjectReport, "pruefschritt_code")
	if got := b.get(t, order.ID); got.Status != StatusPending || got.Sperrversuche != 1 {
		t.Errorf("a refused report changed the order: %+v", got)
	}
}

func TestEndgueltigClosesAtTheFirstVisit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	report, err := b.service.Fail(t.Context(), Call{Actor: "team"}, order.ID, FailReport{Reason: "Verfügung", PruefschrittCode: ptr("A01"), Endgueltig: true})
	if err != nil || report.IFTSTA != DispatchDone || report.Order.Status != StatusFailed || report.Order.Sperrversuche != 1 {
		t.Fatalf("Fail = %+v, %v", report, err)
	}
}

func TestActiveRefusalOfAccessClosesAtTheFirstVisit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	report, err := b.service.Fail(t.Context(), Call{Actor: "team"}, order.ID, FailReport{Reason: "Zutritt verweigert", PruefschrittCode: ptr("A02")})
	if err != nil || report.Order.Status != StatusFailed {
		t.Fatalf("Fail = %+v, %v; want closed", report, err)
	}
}

func TestAnObstacleForTheLieferantAdvisesEndgueltig(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, code := range []string{"A01", "A04"} {
		order := b.receive(t, pidSperrauftrag, map[string]string{"A01": testMalo, "A04": otherMalo}[code])
		report, err := b.service.Fail(t.Context(), Call{Actor: "team"}, order.ID, FailReport{Reason: "Attest", PruefschrittCode: &code})
		if err != nil || report.Order.Status != StatusPending || !strings.Contains(report.Advice, "endgueltig: true") {
			t.Errorf("%s: Fail = %+v, %v", code, report, err)
		}
	}
}

func TestAFailedEntsperrungTakesTheTwoVisitsAndFillsInItsOnlyCode(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidEntsperrauftrag, testMalo)
	if report, err := b.service.Fail(t.Context(), Call{Actor: "team"}, order.ID, FailReport{Reason: "Zähler fehlt", PruefschrittCode: ptr("A02")}); err != nil || report.Order.Status != StatusPending {
		t.Fatalf("first Fail = %+v, %v; want pending", report, err)
	}
	report, err := b.service.Fail(t.Context(), Call{Actor: "team"}, order.ID, FailReport{Reason: "Zähler fehlt"})
	if err != nil || text(report.Order.PruefschrittCode) != "A02" || report.IFTSTA != DispatchDone {
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
		_, err := b.service.Execute(t.Context(), Call{Actor: "team"}, sperrung.ID, ExecuteReport{PruefschrittCode: &code})
		wantInvalid(t, err, SubjectReport, "pruefschritt_code")
		if !strings.Contains(err.Error(), "fit A07") {
			t.Errorf("the error for %q does not name the code that fits: %v", code, err)
		}
	}
	_, err := b.service.Execute(t.Context(), Call{Actor: "team"}, entsperrung.ID, ExecuteReport{PruefschrittCode: ptr("A07")})
	wantInvalid(t, err, SubjectReport, "pruefschritt_code")
	_, err = b.service.Fail(t.Context(), Call{Actor: "team"}, sperrung.ID, FailReport{Reason: "x", PruefschrittCode: ptr("A07")})
	wantInvalid(t, err, SubjectReport, "pruefschritt_code")
	_, err = b.service.Fail(t.Context(), Call{Actor: "team"}, sperrung.ID, FailReport{Reason: " \t", PruefschrittCode: ptr("A05")})
	wantInvalid(t, err, SubjectReport, "reason")
	if report, err := b.service.Execute(t.Context(), Call{Actor: "team"}, entsperrung.ID, ExecuteReport{PruefschrittCode: ptr("A01")}); err != nil || report.IFTSTA != DispatchDone {
		t.Errorf("Entsperrung with A01: %+v, %v", report, err)
	}
}

func TestAnUnknownCodeIsRecordedWithAWarningWhereTheOperatorAllowsIt(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) { o.PruefschrittCheck = PruefschrittWarn })
	order := b.receive(t, pidSperrauftrag, testMalo)
	_, err := b.service.Fail(t.Context(), Call{Actor: "team"}, order.ID, FailReport{Reason: "x", PruefschrittCode: ptr("toolong"), Endgueltig: true})
	wantInvalid(t, err, SubjectReport, "pruefschritt_code")
	_, err = b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{PruefschrittCode: ptr("A01")}) // says the opposite
	wantInvalid(t, err, SubjectReport, "pruefschritt_code")
	report, err := b.service.Fail(t.Context(), Call{Actor: "team"}, order.ID, FailReport{Reason: "x", PruefschrittCode: ptr("A11"), Endgueltig: true})
	if err != nil || text(report.Order.PruefschrittCode) != "A11" || !hasWarning(report.Order, "A11 is not in the code list") {
		t.Fatalf("Fail = %+v, %v", report, err)
	}
}

func TestCancelOnlyWhilePending(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.receive(t, pidSperrauftrag, testMalo)
	if _, err := b.service.Cancel(t.Context(), Call{Actor: "dispatcher"}, order.ID, "LF hat angerufen"); err != nil {
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
	if _, err := b.service.Cancel(t.Context(), Call{Actor: "dispatcher"}, order.ID, ""); !errors.As(err, &closed) || closed.Order.Status != StatusCancelled {
		t.Errorf("second Cancel = %v, want *NotPendingError", err)
	}
	if _, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{}); !errors.As(err, &closed) {
		t.Errorf("Execute after Cancel = %v, want *NotPendingError", err)
	}
	if _, err := b.service.Cancel(t.Context(), Call{Actor: "dispatcher"}, uuid.New(), ""); !errors.Is(err, ErrNotFound) {
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
	report, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{})
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
