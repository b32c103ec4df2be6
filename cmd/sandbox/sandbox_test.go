package main

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestOnce_tells_the_whole_story_and_leaves_nothing(t *testing.T) {
	t.Parallel()
	r := start(t, "--once", "--sperrd", sperrdBinary)
	if code := r.exitCode(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	for _, want := range []string{
		"422 Unprocessable", "401 Unauthorized", "403 Forbidden", "409 Conflict", "202 Accepted", "204 No Content", "201 Created",
		"Z37 Z14 A07, completed ", "Z37 Z13 A08", "Z38 Z14 A01", "22 events taken, none twice", "iftsta_outstanding 0",
		"auftrag.eingegangen, ausfuehrung.ueberfaellig, ausgefuehrt, iftsta.ausstehend\n", "iftsta_reset by disponent",
		"MCP get_sperr_stats with the key: total 5, pending 5",
		"the same answer, Idempotent-Replayed: true", "transaction_conflict: ", "sperrversuche: 1\n",
		"but a colleague sends it", "transaction_conflict: The transaction id is taken.",
		"not counted: 20", "in_window false: ", "the Lieferant 4012345000023: 1 of 1 too late, this one by 3 Werktage", "A08, first visit stays_open: ",
		"01067 | Dresden | Ahornweg 12 | sperrung | ", "makod would get gpke.sperrung.bestaetigen {\"malo_id\":", "it lacks: reason must not be blank",
		"400 Bad Request", "webhook_rejects_offen 2\n", "dismissed by disponent: ", "replayed by disponent: ", "webhook_rejects_offen 0\n",
	} {
		if !strings.Contains(r.output(), want) {
			t.Errorf("the story lacks %q", want)
		}
	}
	r.expectNothingLeft()
}

// However makod fails, the story ends well: the report is sent again.
func TestOnce_tells_of_each_way_in_which_makod_fails(t *testing.T) {
	t.Parallel()
	for kind, says := range map[string]string{
		"error": ": 500 at 0.0s, 500 at ", "busy": ": 429 at 0.0s, 429 at ", "hang": ": no answer at 0.0s, no answer at ",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := start(t, "--once", "--sperrd", sperrdBinary, "--makod-fault", kind)
			if code := r.exitCode(); code != 0 {
				t.Fatalf("exit code %d", code)
			}
			// A long line of the story is wrapped.
			if text := strings.Join(strings.Fields(r.output()), " "); !strings.Contains(text, says) {
				t.Errorf("the story lacks %q", says)
			}
		})
	}
}

func TestServing_ends_at_a_signal_and_leaves_nothing(t *testing.T) {
	t.Parallel()
	r := start(t, "--sperrd", sperrdBinary)
	r.handedOver()
	r.cancel() // what main does at Ctrl-C and SIGTERM
	if code := r.exitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	r.expectNothingLeft()
}

func TestServing_ends_when_sperrd_dies(t *testing.T) {
	t.Parallel()
	r := start(t, "--skip-story", "--sperrd", sperrdBinary)
	r.handedOver()
	process, err := strconv.Atoi(r.find(`process (\d+)`))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(process, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if code := r.exitCode(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if !strings.Contains(r.output(), "sperrd ended by itself: signal: killed") {
		t.Error("the sandbox does not say that sperrd died")
	}
	r.expectNothingLeft()
}

func TestStart_ends_at_a_signal_and_leaves_nothing(t *testing.T) {
	t.Parallel()
	r := start(t, "--sperrd", sperrdBinary)
	cluster := r.find(`host=(%2Ftmp%2F[^&']+)`)
	r.cancel()
	if code := r.exitCode(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if _, err := os.Stat(strings.ReplaceAll(cluster, "%2F", "/")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of PostgreSQL is still there (%v)", err)
	}
}

func TestStart_shows_the_last_words_of_a_sperrd_that_fails(t *testing.T) {
	t.Parallel()
	broken := filepath.Join(t.TempDir(), "sperrd")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho no such luck\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--once"}, {"--once", "--verbose"}} {
		r := start(t, append(args, "--sperrd", broken)...)
		if code := r.exitCode(); code != 1 {
			t.Errorf("%v: exit code %d, want 1", args, code)
		}
		if !strings.Contains(r.output(), "exit status 3") || strings.Count(r.output(), "no such luck") != 1 {
			t.Errorf("%v: the sandbox does not say once how sperrd failed:\n%s", args, r.output())
		}
	}
}

func TestStart_names_a_sperrd_that_is_not_there(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "sperrd")
	r := start(t, "--once", "--sperrd", missing)
	if code := r.exitCode(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if !strings.Contains(r.output(), missing) || !strings.Contains(r.output(), "leave --sperrd out") {
		t.Error("the sandbox does not say what to do about the missing sperrd")
	}
}

func TestStart_refuses_a_port_that_was_asked_for_and_is_taken(t *testing.T) {
	t.Parallel()
	for flag, address := range map[string]string{"--port": ":0", "--makod-port": "127.0.0.1:0", "--erp-port": "127.0.0.1:0", "--issuer-port": "127.0.0.1:0", "--admin-port": "127.0.0.1:0"} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer taken.Close()
			number := strconv.Itoa(portOf(taken))
			r := start(t, "--once", "--sperrd", sperrdBinary, flag, number)
			if code := r.exitCode(); code != 1 {
				t.Errorf("exit code %d, want 1", code)
			}
			if !strings.Contains(r.output(), "port "+number+" is in use; name another with "+flag) {
				t.Error("the sandbox does not say which port is taken")
			}
		})
	}
}
