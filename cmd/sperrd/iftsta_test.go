package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/postgres/postgrestest"
)

// queueID is the id of the nth order that a test puts in.
func queueID(n int) string { return fmt.Sprintf("0b7c1e2a-1111-4000-8000-%012d", n) }

// queuedOrder is a row of sperr_orders; closed and outstanding unless columns say
// otherwise.
func queuedOrder(n int, columns map[string]string) string {
	row := map[string]string{
		"id": "'" + queueID(n) + "'", "tenant": "'" + tenant + "'", "malo_id": "'51238696012'", "lf_mp_id": "'9900012345678'",
		"order_type": "'sperrung'", "process_id": fmt.Sprintf("'process-%d'", n), "status": "'executed'", "executed_at": "now()",
	}
	for column, value := range columns {
		row[column] = value
	}
	var names, values []string
	for name, value := range row {
		names, values = append(names, name), append(values, value)
	}
	return "INSERT INTO sperr_orders (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"
}

type columns = map[string]string

// advice is what a line says to do, for the code of the last error.
var advice = regexp.MustCompile(` => (makod has no gpke-sperrung process for this MaLo|no answer of makod was recorded).*`)

const iftstaHeader = "ORDER MALO PROCESS STATUS ATTEMPTS NEXT ATTEMPT FAELLIG AM ESCALATED LAST ERROR"

// newIFTSTAQueue has order 1 stuck, order 2 overdue, order 3 just begun; the others
// wait for nothing.
func newIFTSTAQueue(t *testing.T) (url string) {
	t.Helper()
	url = postgrestest.NewURL(t)
	execSQL(t, url,
		queuedOrder(1, columns{
			"iftsta_attempts": "8", "iftsta_faellig_am": "'2026-09-04'", "iftsta_escalated_at": "'2026-09-05T00:30:00+02'",
			"iftsta_last_error": "E'no gpke-sperrung\\n\\x1b[31mprocess'", "iftsta_last_code": "'process_not_found'",
		}),
		queuedOrder(2, columns{
			"iftsta_attempts": "3", "iftsta_faellig_am": "'2026-09-03'", "iftsta_next_attempt_at": "'2026-09-04T12:00:00Z'",
			"status": "'failed'", "fail_reason": "'zu'", "process_id": "E'pro\\tzess'",
		}),
		queuedOrder(3, columns{"iftsta_faellig_am": "'2026-09-07'", "iftsta_next_attempt_at": "'2026-09-04T13:00:00Z'"}),
		queuedOrder(4, columns{"status": "'pending'"}),
		queuedOrder(5, columns{"status": "'cancelled'"}),
		queuedOrder(6, columns{"process_id": "NULL"}),
		queuedOrder(7, columns{"iftsta_dispatched_at": "'2026-09-03T08:00:00Z'"}),
		queuedOrder(8, columns{"tenant": "'9900000000001'", "iftsta_attempts": "8"}),
	)
	return url
}

func TestIFTSTAList_shows_what_no_Lieferant_knows_most_overdue_first(t *testing.T) {
	t.Parallel()
	toml := queueTOML(newIFTSTAQueue(t))
	stuck := queueID(1) + " 51238696012 process-1 executed 8/8 - 2026-09-04 2026-09-04T22:30:00Z no gpke-sperrung \uFFFD[31mprocess => ADVICE"
	overdue := queueID(2) + " 51238696012 pro zess failed 3/8 2026-09-04T12:00:00Z 2026-09-03 - - => ADVICE"
	begun := queueID(3) + " 51238696012 process-3 executed 0/8 2026-09-04T13:00:00Z 2026-09-07 - -"
	const more = "and more: a higher --limit shows them"
	for _, c := range []struct {
		args string
		want []string
	}{
		{"", []string{iftstaHeader, overdue, stuck, begun}},
		{"--limit 3", []string{iftstaHeader, overdue, stuck, begun}},
		{"--limit 2", []string{iftstaHeader, overdue, stuck, more}},
		{"--stuck", []string{iftstaHeader, stuck}},
		{"--stuck --limit 1", []string{iftstaHeader, stuck}},
	} {
		code, stdout, stderr := command(t, toml, append([]string{"iftsta", "list"}, strings.Fields(c.args)...)...)
		if code != exitOK || stderr != "" {
			t.Fatalf("list %s: exit code %d, %q; want 0", c.args, code, stderr)
		}
		wantLines(t, advice.ReplaceAllString(stdout, " => ADVICE"), c.want...)
	}
}

func TestIFTSTAList_aligns_its_columns_and_knows_max_attempts(t *testing.T) {
	t.Parallel()
	toml := queueTOML(newIFTSTAQueue(t)) + "[iftsta]\nmax_attempts = 3\n"
	_, stdout, _ := command(t, toml, "iftsta", "list", "--stuck")
	lines := strings.Split(stdout, "\n")
	if len(lines) < 3 || strings.Index(lines[1], " 3/3 ") != strings.Index(lines[2], " 8/3 ") ||
		strings.Index(lines[0], "ATTEMPTS") != strings.Index(lines[2], "8/3") {
		t.Errorf("want two orders under their header:\n%s", stdout)
	}
}

func TestIFTSTAReset_prints_a_line_an_order_and_resets_all_it_can(t *testing.T) {
	t.Parallel()
	url := newIFTSTAQueue(t)
	args := []string{"iftsta", "reset", "--reason", "Prozess angelegt"}
	for _, n := range []int{4, 1, 5, 6, 7, 8, 9, 1, 3} {
		args = append(args, queueID(n))
	}
	code, stdout, stderr := command(t, queueTOML(url), args...)
	if code != exitFailure || strings.Contains(stderr, "sperrd: ") {
		t.Errorf("exit code %d, %q; want 1 and nothing more", code, stderr)
	}
	wantLines(t, stdout,
		queueID(4)+" not reset: it is pending and has no outcome yet",
		queueID(1)+" reset",
		queueID(5)+" not reset: it is cancelled, and no IFTSTA follows",
		queueID(6)+" not reset: it has no market process, and nobody is owed an IFTSTA",
		queueID(7)+" not reset: its IFTSTA is dispatched since 2026-09-03T08:00:00Z",
		queueID(8)+" not reset: there is no such order",
		queueID(9)+" not reset: there is no such order",
		queueID(3)+" reset",
	)
	wantResets(t, url, "Prozess angelegt", 1, 3)
}

func TestIFTSTAReset_of_orders_that_all_can_be_reset_ends_with_0(t *testing.T) {
	t.Parallel()
	url := newIFTSTAQueue(t)
	code, stdout, stderr := command(t, queueTOML(url), "iftsta", "reset", strings.ToUpper(queueID(2)))
	if code != exitOK {
		t.Errorf("exit code %d, %q; want 0", code, stderr)
	}
	wantLines(t, stdout, queueID(2)+" reset")
	wantResets(t, url, "-", 2)
}

func TestIFTSTAReset_stuck_resets_exactly_what_has_its_attempts_spent(t *testing.T) {
	t.Parallel()
	url := newIFTSTAQueue(t)
	for _, want := range []string{queueID(1) + " reset", "there is no outcome whose attempts are spent"} {
		code, stdout, stderr := command(t, queueTOML(url), "iftsta", "reset", "--stuck", "--reason", "makod lebt")
		if code != exitOK {
			t.Errorf("exit code %d, %q; want 0", code, stderr)
		}
		wantLines(t, stdout, want)
	}
	wantResets(t, url, "makod lebt", 1)
}

// wantResets fails unless exactly these orders were reset, once, by this user, for the
// reason ("-": none).
func wantResets(t *testing.T, url, reason string, orders ...int) {
	t.Helper()
	want := []string{}
	for _, n := range orders {
		want = append(want, fmt.Sprintf("%s 0 1 %s %s", queueID(n), commandActor(), reason))
	}
	got := query(t, url, `SELECT concat_ws(' ', o.id, o.iftsta_attempts, o.iftsta_resets, h.actor, COALESCE(h.detail->>'reason', '-'))
		FROM sperr_orders o JOIN sperr_order_history h ON h.order_id = o.id WHERE h.action = 'iftsta_reset' ORDER BY 1`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resets (-want +got):\n%s", diff)
	}
}

// An odd value keeps no other order from being listed, and the line says what to mend.
func TestIFTSTAList_shows_orders_with_dates_only_SQL_can_make(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	odd := []string{
		"ausfuehrung_am", "ausfuehrung_zeitpunkt", "ausfuehrung_faellig_am", "ausfuehrung_eskaliert_at", "vorlauffrist_spaetester_ut", "uebertragungstag",
		"letzter_versuch_am", "executed_at", "iftsta_faellig_am", "iftsta_escalated_at", "iftsta_next_attempt_at", "created_at", "updated_at",
	}
	n := 0
	for _, column := range odd {
		for _, value := range []string{"'infinity'", "'-infinity'", "'0044-03-15 BC'", "'12000-01-01'"} {
			n++
			execSQL(t, url, queuedOrder(n, columns{column: value}))
		}
	}
	code, stdout, stderr := command(t, queueTOML(url), "iftsta", "list")
	if lines := strings.Count(stdout, "\n"); code != exitOK || stderr != "" || lines != 1+n {
		t.Fatalf("exit code %d, %q, %d lines; want 0 and %d", code, stderr, lines, 1+n)
	}
	if unreportable := strings.Count(stdout, "executed_at is no moment that can be reported"); unreportable != 4 {
		t.Errorf("%d lines tell of executed_at, want 4", unreportable)
	}
	code, stdout, _ = command(t, queueTOML(url), "iftsta", "list", "--stuck")
	if never := strings.Count(stdout, "set it to now() by SQL"); code != exitOK || never != 2 || strings.Count(stdout, "\n") != 1+never {
		t.Errorf("exit code %d, stuck:\n%s", code, stdout)
	}
}
