package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestIFTSTA_filters_choose_what_is_listed_and_reset_and_a_dry_run_changes_nothing(t *testing.T) {
	t.Parallel()
	url := newIFTSTAQueue(t)
	toml := queueTOML(url)
	for _, c := range []struct {
		filter string
		orders []int
	}{
		{"--stuck", []int{1}},
		{"--code process_not_found", []int{1}},
		{"--code unreachable", nil},
		{"--malo 51238696012", []int{1, 2, 3}},
		{"--lf 9900012345678 --order-type sperrung", []int{1, 2, 3}},
		{"--order-type entsperrung", nil},
		{"--faellig-bis 2026-09-04", []int{1, 2}},
		{"--faellig-bis 2026-09-04 --stuck", []int{1}},
	} {
		code, listed, stderr := command(t, toml, append([]string{"iftsta", "list"}, strings.Fields(c.filter)...)...)
		if code != exitOK || strings.Count(listed, "\n") != len(c.orders)+1 {
			t.Errorf("list %s: exit code %d, %s\n%s", c.filter, code, stderr, listed)
		}
		var want []string
		for _, n := range c.orders {
			want = append(want, queueID(n)+" would be reset")
		}
		if want == nil {
			want = []string{"there is no such outcome"}
		}
		code, stdout, stderr := command(t, toml, append([]string{"iftsta", "reset", "--dry-run"}, strings.Fields(c.filter)...)...)
		if code != exitOK {
			t.Errorf("reset --dry-run %s: exit code %d, %s", c.filter, code, stderr)
		}
		wantLines(t, stdout, want...)
	}
	_, stdout, _ := command(t, toml, "iftsta", "reset", "--dry-run", queueID(1), queueID(4), queueID(9))
	wantLines(t, stdout, queueID(1)+" would be reset", queueID(4)+" not reset: it is pending and has no outcome yet", queueID(9)+" not reset: there is no such order")
	wantResets(t, url, "-")
	code, stdout, _ := command(t, toml, "iftsta", "reset", "--faellig-bis", "2026-09-04", "--reason", "makod lebt")
	if code != exitOK {
		t.Errorf("exit code %d", code)
	}
	wantLines(t, stdout, queueID(1)+" reset", queueID(2)+" reset")
	wantResets(t, url, "makod lebt", 1, 2)
	for _, args := range []string{"reset", "reset --dry-run", "reset --stuck " + queueID(1), "list --malo 1", "list --lf x", "list --order-type x", "reset --faellig-bis 2026-02-30"} {
		if code, _, stderr := command(t, toml, append([]string{"iftsta"}, strings.Fields(args)...)...); code != exitUsage {
			t.Errorf("iftsta %s: exit code %d, %s", args, code, stderr)
		}
	}
}

func TestIFTSTAList_says_in_words_why_an_outcome_is_not_with_makod(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := command(t, queueTOML(newIFTSTAQueue(t)), "iftsta", "list", "--stuck", "--why")
	if code != exitOK {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	for _, want := range []string{
		queueID(1), "Stuck: 8 of 8 attempts of this cycle are spent", "makod's last answer: no gpke-sperrung \uFFFD[31mprocess.",
		"To do: makod has no gpke-sperrung process for this MaLo", "not brought by an event of makod",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
}

func TestOutbox_filters_choose_and_a_dry_run_changes_nothing(t *testing.T) {
	t.Parallel()
	url := newOutbox(t)
	toml := erpTOML + queueTOML(url)
	for _, c := range []struct {
		args string
		want []string
	}{
		{"requeue --all --dry-run", []string{"dead-1 would be requeued: de.sperr.storniert of order " + queueID(1), "dead-2 would be requeued: de.sperr.storniert of order " + queueID(1)}},
		{"requeue dead-2 --dry-run", []string{"dead-2 would be requeued: de.sperr.storniert of order " + queueID(1)}},
		{"requeue --type de.sperr.storniert --dry-run", []string{"dead-1 would be requeued: de.sperr.storniert of order " + queueID(1), "dead-2 would be requeued: de.sperr.storniert of order " + queueID(1)}},
		{"requeue --before 2026-09-03T08:00:01Z --dry-run", []string{"dead-1 would be requeued: de.sperr.storniert of order " + queueID(1), "dead-2 would be requeued: de.sperr.storniert of order " + queueID(1)}},
		{"requeue --waiting --before 2026-09-03T08:00:00Z --dry-run", []string{"no event waits for longer than a lease"}},
		{"requeue --before 2026-09-03T08:00:00Z", []string{"there is no such dead letter"}},
		{"requeue --all --type de.sperr.ausgefuehrt --dry-run", []string{"there is no such dead letter"}},
		{"requeue --all --order " + queueID(2) + " --dry-run", []string{"there is no such dead letter"}},
		{"requeue --order " + queueID(2), []string{"there is no such dead letter"}},
	} {
		code, stdout, stderr := command(t, toml, append([]string{"outbox"}, strings.Fields(c.args)...)...)
		if code != exitOK {
			t.Errorf("outbox %s: exit code %d, %s", c.args, code, stderr)
		}
		wantLines(t, stdout, c.want...)
	}
	if dead := query(t, url, `SELECT event_id FROM event_outbox WHERE dead_lettered_at IS NOT NULL AND tenant = '`+tenant+`' ORDER BY 1`); len(dead) != 2 {
		t.Errorf("dead letters %v", dead)
	}
	for args, lines := range map[string]int{"list --dead --type de.sperr.storniert": 4, "list --dead --type x": 2, "list --before 2026-09-03T08:00:00Z": 2, "list --before 2026-09-03T08:00:01Z": 4, "list --order " + queueID(1): 4, "list --order " + queueID(2): 2} {
		if _, stdout, _ := command(t, toml, append([]string{"outbox"}, strings.Fields(args)...)...); strings.Count(stdout, "\n") != lines {
			t.Errorf("outbox %s: want %d lines\n%s", args, lines, stdout)
		}
	}
	for _, args := range []string{"list --order x", "list --before gestern", "requeue", "requeue --dry-run", "requeue --all --waiting"} {
		if code, _, stderr := command(t, toml, append([]string{"outbox"}, strings.Fields(args)...)...); code != exitUsage {
			t.Errorf("outbox %s: exit code %d, %s", args, code, stderr)
		}
	}
}

func TestHistory_shows_who_did_what_to_an_order(t *testing.T) {
	t.Parallel()
	url := newIFTSTAQueue(t)
	toml := queueTOML(url)
	if code, _, stderr := command(t, toml, "iftsta", "reset", queueID(1), "--reason", "makod lebt"); code != exitOK {
		t.Fatal(stderr)
	}
	code, stdout, _ := command(t, toml, "history", queueID(1))
	if code != exitOK || strings.Count(stdout, "\n") != 3 || !strings.HasPrefix(stdout, "AT ") ||
		!strings.Contains(stdout, "changed_by_sql") || !strings.Contains(stdout, commandActor()) || !strings.Contains(stdout, `"reason": "makod lebt"`) {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
	_, stdout, _ = command(t, toml, "history", "--json", queueID(1))
	var lines []struct{ Action string }
	if err := json.Unmarshal([]byte(stdout), &lines); err != nil || len(lines) != 2 || lines[1].Action != "iftsta_reset" {
		t.Errorf("%v\n%s", err, stdout)
	}
	for id, want := range map[string]int{queueID(8): exitFailure, queueID(99): exitFailure, "x": exitUsage} {
		if code, _, stderr := command(t, toml, "history", id); code != want {
			t.Errorf("history %s: exit code %d, want %d: %s", id, code, want, stderr)
		}
	}
}
