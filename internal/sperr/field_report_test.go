package sperr

import (
	"strings"
	"testing"
	"time"
)

func TestFieldTimesAreJudgedAsInstants(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for value, reason := range map[string]string{
		"2026-09-03T08:01:00Z":         "ahead of the clock",
		"2026-09-03T10:01:00+02:00":    "ahead of the clock",
		"2026-09-02T21:01:00-11:00":    "ahead of the clock",
		"2026-09-03":                   "offset",
		"2026-09-03T07:00:00":          "offset",
		"2026-09-03T24:00:00Z":         "offset",
		"2026-02-30T07:00:00Z":         "offset",
		"0000-01-01T00:00:00+14:00":    "offset",
		"":                             "offset",
		"2026-09-03T07:00:60Z":         "offset",
		"2026-09-03T7:00:00Z":          "offset",
		"2026-09-03T07:00:00,5Z":       "offset",
		"2026-09-03T07:00:00+24:00":    "offset",
		"2026-09-03T07:00:00Z\x00":     "offset",
		"9999-12-31T23:59:59.9999999Z": "ahead of the clock",
	} {
		order := b.create(t, NewOrder{MaloID: testMalo, LieferantID: testLF, OrderType: "sperrung"})
		_, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{ExecutedAt: &value})
		wantInvalid(t, err, SubjectReport, "executed_at")
		if !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v, want %q in it", value, err, reason)
		}
		_, err = b.service.Fail(t.Context(), Call{Actor: "team"}, order.ID, FailReport{Reason: "x", VersuchAm: &value})
		wantInvalid(t, err, SubjectReport, "versuch_am")
	}
	for value, want := range map[string]time.Time{
		"2026-09-03T08:00:20Z":           testNow, // a device that runs a little ahead
		"2026-09-03T10:00:00.5+02:00":    testNow,
		"2026-09-02T23:59:00+02:00":      time.Date(2026, 9, 2, 21, 59, 0, 0, time.UTC),
		"2026-09-03T07:00:00.123456789Z": time.Date(2026, 9, 3, 7, 0, 0, 123456000, time.UTC),
	} {
		order := b.create(t, NewOrder{MaloID: testMalo, LieferantID: testLF, OrderType: "sperrung"})
		report, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{ExecutedAt: &value})
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
		report, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{ExecutedAt: &executedAt})
		if err != nil || report.Order.IFTSTAFaelligAm.String() != want {
			t.Errorf("%s: due %v, %v; want %s", executedAt, report.Order.IFTSTAFaelligAm, err, want)
		}
		if !hasWarning(report.Order, "before the arrival") {
			t.Errorf("%s: no warning about a visit before the order's arrival: %v", executedAt, report.Order.Warnungen)
		}
	}
	ancient := b.create(t, NewOrder{MaloID: testMalo, LieferantID: testLF, OrderType: "sperrung"})
	if report, err := b.service.Execute(t.Context(), Call{Actor: "team"}, ancient.ID, ExecuteReport{ExecutedAt: ptr("0001-01-01T00:00:00Z")}); err != nil || !hasWarning(report.Order, "more than 30 days") {
		t.Errorf("a report of year 1: %v, %v", report.Order.Warnungen, err)
	}
	old := b.create(t, NewOrder{MaloID: testMalo, LieferantID: testLF, OrderType: "sperrung"})
	report, err := b.service.Execute(t.Context(), Call{Actor: "team"}, old.ID, ExecuteReport{ExecutedAt: ptr("2026-08-01T08:00:00Z")})
	if err != nil || !hasWarning(report.Order, "more than 30 days") {
		t.Errorf("old report: %v, %v", report.Order.Warnungen, err)
	}
}

func TestAnOutcomePastTheCalendarIsRecordedWithoutAFrist(t *testing.T) {
	t.Parallel()
	now := time.Date(2036, 1, 2, 8, 0, 0, 0, time.UTC)
	b := newBench(t, func(o *Options) { o.Now = func() time.Time { return now } })
	order := b.receive(t, pidEntsperrauftrag, testMalo)
	report, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{})
	if err != nil || report.IFTSTA != DispatchDone || report.Order.IFTSTAFaelligAm != nil || !hasWarning(report.Order, "iftsta_faellig_am could not be counted") {
		t.Errorf("Execute = %+v, %v", report, err)
	}
}

func TestTextsAreMeasuredInCharactersAndRefusedWithNUL(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := b.create(t, NewOrder{MaloID: testMalo, LieferantID: testLF, OrderType: "sperrung"})
	for field, err := range map[string]error{
		"note":     second(b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{Note: "a\x00b"})),
		"note ":    second(b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{Note: strings.Repeat("ü", maxFreeText+1)})),
		"reason":   second(b.service.Fail(t.Context(), Call{Actor: "team"}, order.ID, FailReport{Reason: "a\x00b"})),
		"reason  ": second(b.service.Cancel(t.Context(), Call{Actor: "team"}, order.ID, "a\x00b")),
	} {
		wantInvalid(t, err, SubjectReport, strings.TrimSpace(field))
	}
	report, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{Note: strings.Repeat("ü", maxFreeText-1) + "€"})
	if err != nil || !hasWarning(report.Order, `outside ISO 8859-1, which EDIFACT does not carry: "€" (U+20AC)`) {
		t.Errorf("Execute = %v, %v", report.Order.Warnungen, err)
	}
}

// A minute past midnight in Berlin it is still yesterday in UTC, and a report of the last
// minute of yesterday is neither of the future nor of today.
func TestAReportOfYesterdayThatComesAfterMidnightKeepsItsDay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		now       time.Time
		visit     string
		iftstaDue string
	}{
		{time.Date(2026, 9, 2, 22, 1, 0, 0, time.UTC), "2026-09-02T23:59:00+02:00", "2026-09-03"},
		{time.Date(2026, 9, 2, 22, 1, 0, 0, time.UTC), "2026-09-03T00:00:00+02:00", "2026-09-04"},
		{time.Date(2026, 10, 24, 22, 1, 0, 0, time.UTC), "2026-10-24T23:59:00+02:00", "2026-10-26"}, // Saturday, before the day of 25 hours
	} {
		b := newBench(t, func(o *Options) { o.Now = func() time.Time { return c.now } })
		order := b.receive(t, pidSperrauftrag, testMalo)
		report, err := b.service.Execute(t.Context(), Call{Actor: "team"}, order.ID, ExecuteReport{ExecutedAt: &c.visit})
		if err != nil || report.Order.IFTSTAFaelligAm.String() != c.iftstaDue || report.Order.ExecutedAt.Format(time.RFC3339) == c.now.Format(time.RFC3339) {
			t.Errorf("%s at %s: done at %v, IFTSTA due %v, %v; want %s", c.visit, c.now, report.Order.ExecutedAt, report.Order.IFTSTAFaelligAm, err, c.iftstaDue)
		}
	}
}
