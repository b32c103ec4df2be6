package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/postgres/postgrestest"
)

const erpTOML = "erp_webhook_url = \"http://127.0.0.1:1/events?token=erp-Geheimnis\"\nerp_hmac_secret = \"erp-Geheimnis\"\n"

// queuedEvent is a row of event_outbox about order 1, with these further columns.
func queuedEvent(id, owner, names, values string) string {
	return fmt.Sprintf(`INSERT INTO event_outbox (tenant, order_id, event_id, ce_type, envelope, created_at, %s)
		VALUES ('%s', '%s', '%s', 'de.sperr.storniert', '{}', '2026-09-03T08:00:00Z', %s)`, names, owner, queueID(1), id, values)
}

// newOutbox has waiting-1 and waiting-2, dead-1 and dead-2, and what is none of ours.
func newOutbox(t *testing.T) (url string) {
	t.Helper()
	url = postgrestest.NewURL(t)
	execSQL(t, url, queuedOrder(1, nil),
		queuedEvent("waiting-1", tenant, "attempts, next_attempt_at, last_error", `2, '2026-09-04T12:00:00Z', E'503\n\x1b[31mbusy'`),
		queuedEvent("dead-1", tenant, "attempts, dead_lettered_at, last_error", `9, '2026-09-10T08:00:00Z', '422'`),
		queuedEvent("delivered", tenant, "delivered_at", `now()`),
		queuedEvent("dead-2", tenant, "attempts, dead_lettered_at", `1, '2026-09-11T08:00:00Z'`),
		queuedEvent("waiting-2", tenant, "next_attempt_at", `'2026-09-04T13:00:00Z'`),
		queuedEvent("foreign", "9900000000001", "attempts", `0`),
		queuedEvent("foreign-dead", "9900000000001", "dead_lettered_at", `now()`),
	)
	return url
}

func TestOutboxList_says_how_much_there_is_and_shows_what_waits_or_is_dead(t *testing.T) {
	t.Parallel()
	toml := erpTOML + queueTOML(newOutbox(t))
	const (
		depth  = "waiting: 2 since 2026-09-03T08:00:00Z; dead letters: 2"
		header = "EVENT TYPE ORDER CREATED ATTEMPTS NEXT ATTEMPT LAST ERROR"
		dead   = "EVENT TYPE ORDER CREATED ATTEMPTS GIVEN UP LAST ERROR"
		more   = "and more: a higher --limit shows them"
	)
	row := func(event, rest string) string {
		return event + " de.sperr.storniert " + queueID(1) + " 2026-09-03T08:00:00Z " + rest
	}
	first, second := row("waiting-1", "2 2026-09-04T12:00:00Z 503 \uFFFD[31mbusy"), row("waiting-2", "0 2026-09-04T13:00:00Z -")
	given, up := row("dead-1", "9 2026-09-10T08:00:00Z 422"), row("dead-2", "1 2026-09-11T08:00:00Z -")
	for _, c := range []struct {
		args string
		want []string
	}{
		{"", []string{depth, header, first, second}},
		{"--limit 1", []string{depth, header, first, more}},
		{"--dead", []string{depth, dead, given, up}},
		{"--dead --limit 1", []string{depth, dead, given, more}},
	} {
		code, stdout, stderr := command(t, toml, append([]string{"outbox", "list"}, strings.Fields(c.args)...)...)
		if code != exitOK || stderr != "" || strings.Contains(stdout, "Geheimnis") {
			t.Errorf("list %s: exit code %d, %q; want 0 and no secret", c.args, code, stderr)
		}
		wantLines(t, stdout, c.want...)
	}
}

func TestOutboxList_of_an_empty_outbox_and_without_an_ERP(t *testing.T) {
	t.Parallel()
	_, stdout, _ := command(t, queueTOML(postgrestest.NewURL(t)), "outbox", "list")
	wantLines(t, stdout, "waiting: 0; dead letters: 0; erp_webhook_url is missing, so nothing is delivered",
		"EVENT TYPE ORDER CREATED ATTEMPTS NEXT ATTEMPT LAST ERROR")
}

// wantDead fails unless exactly these events are dead letters.
func wantDead(t *testing.T, url string, want ...string) {
	t.Helper()
	got := query(t, url, `SELECT event_id FROM event_outbox WHERE dead_lettered_at IS NOT NULL ORDER BY 1`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dead letters (-want +got):\n%s", diff)
	}
}

func TestOutboxRequeue_prints_a_line_an_event_and_requeues_all_it_can(t *testing.T) {
	t.Parallel()
	url := newOutbox(t)
	code, stdout, stderr := command(t, queueTOML(url), "outbox", "requeue", "dead-1", "waiting-1", "foreign-dead", "no\x1bne", "dead-1", "waiting-1")
	if code != exitFailure || strings.Contains(stderr, "sperrd: ") {
		t.Errorf("exit code %d, %q; want 1 and nothing more", code, stderr)
	}
	wantLines(t, stdout,
		"dead-1 requeued: de.sperr.storniert of order "+queueID(1),
		"waiting-1 not requeued: there is no such dead letter",
		"foreign-dead not requeued: there is no such dead letter",
		"no\uFFFDne not requeued: there is no such dead letter",
	)
	wantDead(t, url, "dead-2", "foreign-dead")
}

func TestOutboxRequeue_all_requeues_every_dead_letter_of_the_tenant(t *testing.T) {
	t.Parallel()
	url := newOutbox(t)
	of := " requeued: de.sperr.storniert of order " + queueID(1)
	for _, want := range [][]string{{"dead-1" + of, "dead-2" + of}, {"there is no dead letter"}} {
		code, stdout, stderr := command(t, queueTOML(url), "outbox", "requeue", "--all", "--reason", "ERP lebt")
		if code != exitOK {
			t.Errorf("exit code %d, %q; want 0", code, stderr)
		}
		wantLines(t, stdout, want...)
	}
	wantDead(t, url, "foreign-dead")
}

func TestOutboxRequeue_waiting_ends_the_wait_of_what_the_ERP_did_not_take(t *testing.T) {
	t.Parallel()
	url := newOutbox(t)
	execSQL(t, url, `UPDATE event_outbox SET next_attempt_at = now() + interval '2 h' WHERE event_id LIKE 'waiting-%'`)
	code, stdout, _ := command(t, erpTOML+queueTOML(url), "outbox", "requeue", "--waiting", "--reason", "the ERP is back")
	wantLines(t, stdout, "waiting-1 due now: de.sperr.storniert of order "+queueID(1), "waiting-2 due now: de.sperr.storniert of order "+queueID(1))
	due := query(t, url, `SELECT event_id FROM event_outbox WHERE event_id LIKE 'waiting-%' AND next_attempt_at <= now() ORDER BY 1`)
	if diff := cmp.Diff([]string{"waiting-1", "waiting-2"}, due); diff != "" || code != exitOK {
		t.Errorf("exit code %d, due (-want +got):\n%s", code, diff)
	}
	lines := query(t, url, `SELECT action || ' ' || (detail ->> 'reason') FROM sperr_order_history WHERE action <> 'changed_by_sql' ORDER BY id`)
	if diff := cmp.Diff([]string{"event_hurried the ERP is back", "event_hurried the ERP is back"}, lines); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	wantDead(t, url, "dead-1", "dead-2", "foreign-dead")
	_, stdout, _ = command(t, erpTOML+queueTOML(url), "outbox", "requeue", "--waiting")
	wantLines(t, stdout, "no event waits for longer than a lease")
	if code, _, stderr := command(t, erpTOML+queueTOML(url), "outbox", "requeue", "--waiting", "--all"); code != exitUsage || !strings.Contains(stderr, "--waiting") {
		t.Errorf("exit code %d, %q; want a usage mistake", code, stderr)
	}
}
