package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/makod/makodtest"
)

// market queues the order of a process that makod knows, by its signed event.
func (b *bench) market(t *testing.T, pid int, maloID string) order {
	t.Helper()
	process, err := b.makod.Spawn(makodtest.Process{MaloID: maloID, PID: pid})
	if err != nil {
		t.Fatal(err)
	}
	body := fmt.Appendf(nil, `{"specversion":"1.0","id":"e-%s","source":"urn:x","type":"de.mako.process.initiated","subject":"%s",
		"makopid":%d,"data":{"malo_id":"%s","lf_mp_id":"%s"}}`, process.ID, process.ID, pid, maloID, lf)
	id := decode[map[string]string](t, b.deliver(t, body), http.StatusCreated)["id"]
	return b.order(t, id)
}

func (b *bench) report(t *testing.T, id, verb, body string) answer {
	t.Helper()
	return b.call(t, http.MethodPut, orders+"/"+id+"/"+verb, body)
}

// wantRecorded fails unless a is a 202 with exactly the members, note aside, which
// it returns.
func wantRecorded(t *testing.T, a answer, want map[string]any) string {
	t.Helper()
	got := decode[map[string]any](t, a, http.StatusAccepted)
	note, _ := got["note"].(string)
	delete(got, "note")
	if note == "" {
		t.Errorf("no note in %s", a.body)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	return note
}

func TestExecute_is_204_once_makod_has_the_outcome(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.market(t, 17115, malo).ID
	a := b.report(t, id, "execute", `{"note":"TW-1","executed_at":"2026-09-03T09:45:00+02:00"}`)
	if a.status != http.StatusNoContent || len(a.body) != 0 {
		t.Fatalf("%d %s, want 204", a.status, a.body)
	}
	o := b.order(t, id)
	if o.Status != "executed" || *o.ExecutedAt != "2026-09-03T07:45:00Z" || o.IFTSTADispatchedAt == nil || *o.PruefschrittCode != "A07" {
		t.Errorf("order %+v", o)
	}
	if sent := b.makod.IFTSTA(); len(sent) != 1 {
		t.Errorf("%d IFTSTA at makod, want 1", len(sent))
	}
}

func TestExecute_is_202_while_the_outcome_is_queued(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for n, c := range []struct {
		fault makodtest.Fault
		note  string
	}{
		{makodtest.ProcessNotFound(), "makod has not taken the IFTSTA yet"},
		{makodtest.Drop(), "Whether makod has taken the IFTSTA is not known"},
	} {
		id := b.market(t, 17115, maloOf(n)).ID
		b.makod.FailNext(1, c.fault)
		a := b.report(t, id, "execute", "")
		note := wantRecorded(t, a, map[string]any{"recorded": true, "status": "executed", "iftsta_dispatched": false})
		if !strings.Contains(note, c.note) || !strings.Contains(note, "sent again by itself until its attempts are spent") {
			t.Errorf("%s: note %q, want %q in it", c.fault, note, c.note)
		}
		if o := b.order(t, id); o.Status != "executed" || o.IFTSTADispatchedAt != nil {
			t.Errorf("%s: order %+v", c.fault, o)
		}
	}
}

func TestExecute_is_204_where_nobody_is_owed_an_IFTSTA(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create(t, minimal("sperrung")).ID
	wantStatus(t, b.report(t, id, "execute", ""), http.StatusNoContent)
	if o := b.order(t, id); o.Status != "executed" || *o.ExecutedAt != now.Format(time.RFC3339) {
		t.Errorf("order %+v", o)
	}
	if sent := b.makod.Requests(); len(sent) != 0 {
		t.Errorf("%d commands for an operator's order", len(sent))
	}
}

func TestFail_is_202_for_the_first_visit_and_closes_with_the_second(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.market(t, 17115, malo).ID
	first := b.report(t, id, "fail", `{"reason":"niemand da","versuch_am":"2026-09-02T10:00:00+02:00"}`)
	note := wantRecorded(t, first, map[string]any{"recorded": true, "status": "pending", "sperrversuche": 1.0, "iftsta_dispatched": false})
	if !strings.Contains(note, "second") || strings.Contains(note, "endgueltig") {
		t.Errorf("note %q", note)
	}
	if o := b.order(t, id); o.Status != "pending" || o.Sperrversuche != 1 {
		t.Errorf("order %+v", o)
	}
	wantStatus(t, b.report(t, id, "fail", `{"reason":"niemand da","pruefschritt_code":"A05"}`), http.StatusNoContent)
	if o := b.order(t, id); o.Status != "failed" || o.Sperrversuche != 2 || o.IFTSTADispatchedAt == nil {
		t.Errorf("order %+v", o)
	}
}

func TestFail_advises_to_close_where_the_code_leaves_no_second_visit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.market(t, 17115, malo).ID
	a := b.report(t, id, "fail", `{"reason":"Verfuegung","pruefschritt_code":"A01"}`)
	note := wantRecorded(t, a, map[string]any{"recorded": true, "status": "pending", "sperrversuche": 1.0, "iftsta_dispatched": false})
	if !strings.Contains(note, "endgueltig: true") {
		t.Errorf("note %q does not advise", note)
	}
}

func TestFail_that_is_final_closes_and_is_202_while_queued(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.market(t, 17115, malo).ID
	b.makod.FailNext(1, makodtest.Drop())
	a := b.report(t, id, "fail", `{"reason":"Verfuegung","pruefschritt_code":"A01","endgueltig":true}`)
	wantRecorded(t, a, map[string]any{"recorded": true, "status": "failed", "iftsta_dispatched": false})

	operator := b.create(t, minimal("entsperrung")).ID
	wantStatus(t, b.report(t, operator, "fail", `{"reason":"zu","endgueltig":true}`), http.StatusNoContent)
}

func TestReport_on_a_closed_order_shows_the_state_that_stands(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	executed := b.market(t, 17115, malo).ID
	wantStatus(t, b.report(t, executed, "execute", ""), http.StatusNoContent)
	cancelled := b.create(t, minimal("sperrung")).ID
	wantStatus(t, b.report(t, cancelled, "cancel", `{"reason":null}`), http.StatusNoContent)

	for id, status := range map[string]string{executed: "executed", cancelled: "cancelled"} {
		for verb, body := range map[string]string{"execute": "", "fail": `{"reason":"zu"}`, "cancel": ""} {
			a := b.report(t, id, verb, body)
			wantProblem(t, a, http.StatusConflict, "order_not_pending")
			var extra map[string]any
			if err := json.Unmarshal(a.body, &extra); err != nil {
				t.Fatal(err)
			}
			_, dispatched := extra["iftsta_dispatched_at"]
			if extra["order_status"] != status || dispatched != (status == "executed") {
				t.Errorf("%s on a closed order: %s", verb, a.body)
			}
			if status == "executed" && extra["executed_at"] != "2026-09-03T08:00:00Z" {
				t.Errorf("executed_at %v", extra["executed_at"])
			}
		}
	}
	if sent := b.makod.Requests(); len(sent) != 1 {
		t.Errorf("%d commands at makod, want the one of the first report", len(sent))
	}
}

// now is 10:00 in Berlin: the same instant in every spelling is judged the same.
func TestExecute_judges_the_instant_and_not_its_spelling(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, text := range []string{
		"2026-09-03T10:00:00+02:00", "2026-09-02T21:00:00-11:00", "2026-09-03T08:00:00Z", "2026-09-03T08:00:00.123456789Z",
		"2026-09-03T08:00:02Z", "2026-09-02T23:59:00+02:00",
	} {
		id := b.create(t, minimal("sperrung")).ID
		wantStatus(t, b.report(t, id, "execute", `{"executed_at":"`+text+`"}`), http.StatusNoContent)
		at, err := time.Parse(time.RFC3339, *b.order(t, id).ExecutedAt)
		if err != nil || at.After(now) {
			t.Errorf("%s is stored as %v, after the report came (%v)", text, at, err)
		}
	}
	id := b.create(t, minimal("sperrung")).ID
	for _, text := range []string{
		"2026-09-03T08:01:00Z", "2026-09-03T10:01:00+02:00", "2026-09-03", "2026-09-03T10:00:00", "2026-09-03T24:00:00Z",
		"2026-09-02T08:00:60Z", "2026-02-30T08:00:00Z", "", "gestern", "1756886400",
	} {
		for verb, body := range map[string]string{
			"execute": `{"executed_at":"` + text + `"}`, "fail": `{"reason":"zu","versuch_am":"` + text + `"}`,
		} {
			field := map[string]string{"execute": "executed_at", "fail": "versuch_am"}[verb]
			a := b.report(t, id, verb, body)
			if a.status != http.StatusUnprocessableEntity {
				t.Errorf("%s %q: %d %s, want 422", verb, text, a.status, a.body)
				continue
			}
			wantProblem(t, a, http.StatusUnprocessableEntity, "invalid_report", field)
		}
	}
}

func TestReport_code_must_fit_type_and_outcome(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sperrung, entsperrung := b.market(t, 17115, malo).ID, b.market(t, 17117, "51238696781").ID
	for _, c := range []struct{ id, verb, body, field string }{
		{sperrung, "execute", `{"pruefschritt_code":"A01"}`, "pruefschritt_code"},
		{sperrung, "execute", `{"pruefschritt_code":"A99"}`, "pruefschritt_code"},
		{sperrung, "execute", `{"pruefschritt_code":"a07"}`, "pruefschritt_code"},
		{sperrung, "execute", `{"pruefschritt_code":""}`, "pruefschritt_code"},
		{sperrung, "execute", `{"note":"a\u0000b"}`, "note"},
		{sperrung, "fail", `{"reason":"zu","endgueltig":true}`, "pruefschritt_code"},
		{sperrung, "fail", `{"reason":"zu","endgueltig":true,"pruefschritt_code":"A07"}`, "pruefschritt_code"},
		{sperrung, "fail", `{"reason":" \t","pruefschritt_code":"A05"}`, "reason"},
		{sperrung, "fail", `{"reason":"a\u0000","pruefschritt_code":"A05"}`, "reason"},
		{sperrung, "fail", `{"pruefschritt_code":"A05"}`, "reason"},
		{sperrung, "fail", `{"reason":null}`, "reason"},
		{sperrung, "cancel", `{"reason":"\u0000"}`, "reason"},
		{sperrung, "cancel", `{"reason":"` + strings.Repeat("x", 2561) + `"}`, "reason"},
		{entsperrung, "execute", `{"pruefschritt_code":"A07"}`, "pruefschritt_code"},
		{entsperrung, "fail", `{"reason":"zu","pruefschritt_code":"A01"}`, "pruefschritt_code"},
	} {
		a := b.report(t, c.id, c.verb, c.body)
		if a.status != http.StatusUnprocessableEntity {
			t.Errorf("%s %.60s: %d %s, want 422", c.verb, c.body, a.status, a.body)
			continue
		}
		wantProblem(t, a, http.StatusUnprocessableEntity, "invalid_report", c.field)
	}
	wantStatus(t, b.report(t, sperrung, "execute", `{"pruefschritt_code":"A07"}`), http.StatusNoContent)
	wantStatus(t, b.report(t, entsperrung, "execute", `{"pruefschritt_code":"A01"}`), http.StatusNoContent)
}
