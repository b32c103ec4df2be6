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

	"github.com/jackc/pgx/v5"

	"sperrd/internal/postgres/postgrestest"
)

func TestOnce_tells_the_whole_story_and_leaves_nothing(t *testing.T) {
	t.Parallel()
	r := start(t, "--once", "--sperrd", sperrdBinary)
	if code := r.exitCode(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	for _, want := range []string{
		"422 Unprocessable", "401 Unauthorized", "409 Conflict", "202 Accepted", "204 No Content", "201 Created",
		"Z37 Z14 A07, completed ", "Z37 Z13 A08", "NOTHING YET", "5 de.sperr.auftrag.eingegangen", "iftsta_outstanding 1",
	} {
		if !strings.Contains(r.output(), want) {
			t.Errorf("the story lacks %q", want)
		}
	}
	r.expectNothingLeft()
}

// A second run on the same data finds the orders of the first one, and makod has
// the process again whose outcome it was never told.
func TestData_keeps_the_orders_between_runs(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.Chmod(filepath.Dir(folder), 0o755); err != nil { // PostgreSQL may run as another user
		t.Fatal(err)
	}
	for run, total := range []string{"total 5", "total 10"} {
		r := start(t, "--once", "--sperrd", sperrdBinary, "--data", folder, "--makod-fault", "drop")
		if code := r.exitCode(); code != 0 {
			t.Fatalf("run %d: exit code %d", run, code)
		}
		if !strings.Contains(r.output(), total) {
			t.Errorf("run %d: the counters lack %q", run, total)
		}
		if run == 1 && !strings.Contains(r.output(), "the 1 open processes of earlier runs") {
			t.Error("makod does not have the open process again")
		}
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
	r := start(t, "--sperrd", sperrdBinary)
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

func TestDatabaseURL_uses_a_server_and_leaves_it_as_it_was(t *testing.T) {
	t.Parallel()
	server, err := postgrestest.StartServer(t.Context(), postgrestest.Options{Fast: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	if code := start(t, "--once", "--sperrd", sperrdBinary, "--database-url", server.AdminURL()).exitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	conn, err := pgx.Connect(t.Context(), server.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var databases int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_database WHERE datname NOT IN ('postgres', 'sperrd') AND NOT datistemplate").Scan(&databases); err != nil {
		t.Fatal(err)
	}
	if databases != 0 {
		t.Errorf("%d databases are left", databases)
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
	for flag, address := range map[string]string{"--port": ":0", "--makod-port": "127.0.0.1:0", "--admin-port": "127.0.0.1:0"} {
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
