package postgrestest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// helperMode makes the test binary a process that starts a cluster of its own
// and meets the end that the test has in mind for it.
const helperMode = "SPERRD_POSTGRESTEST_HELPER"

// helper prints the folder of its cluster and then waits: for ever, or for a
// Ctrl-C, after which it shows that the cluster still works.
func helper(mode string) int {
	ctx := context.Background()
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	if mode == "initdb" {
		return helperInInitdb(ctx)
	}
	server, err := StartServer(ctx, Options{Fast: true})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(server.admin.Query().Get("host"))
	if mode == "panic" {
		panic("a test that goes wrong")
	}
	<-interrupts
	conn, err := pgx.Connect(ctx, server.URL())
	if err == nil {
		err = conn.Close(ctx)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if err := server.Stop(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// helperInInitdb starts a supervisor, does not wait for the cluster and sleeps
// for ever.
func helperInInitdb(ctx context.Context) int {
	c, err := newCluster(ctx, Options{})
	if err == nil {
		err = c.supervise(ctx, Options{})
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(c.dir)
	_ = c.shell.Wait()
	return 0
}

// family is a helper process with all that descends from it.
type family struct {
	process *exec.Cmd
	folder  string   // of its cluster
	alive   *os.File // ends when the last of the family does
	stderr  bytes.Buffer
}

// startFamily starts a helper and waits for the folder it names. Helper,
// supervisor and PostgreSQL all inherit one end of a pipe.
func startFamily(t *testing.T, mode string) *family {
	t.Helper()
	ours, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ours.Close() })
	f := &family{alive: ours}
	f.process = exec.CommandContext(t.Context(), os.Args[0])
	f.process.Env = append(os.Environ(), helperMode+"="+mode, "SPERRD_TEST_POSTGRES=local")
	f.process.ExtraFiles = []*os.File{theirs, theirs} // the supervisor makes use of descriptor 3 itself
	f.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	f.process.Stderr = &f.stderr
	stdout, err := f.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.process.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the helper said nothing: %v: %s", err, f.stderr.String())
	}
	f.folder = strings.TrimSpace(line)
	if _, err := os.Stat(f.folder); err != nil {
		t.Fatalf("the helper has no folder: %s", f.folder)
	}
	return f
}

// awaitEnd returns when no process of the family is left.
func (f *family) awaitEnd(t *testing.T) {
	t.Helper()
	if err := f.alive.SetReadDeadline(time.Now().Add(startTimeout)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.alive.Read(make([]byte, 1)); err != io.EOF {
		t.Fatalf("a process outlives its parent: %v", err)
	}
	if _, err := os.Stat(f.folder); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestCluster_ends_with_a_parent_that_is_killed(t *testing.T) {
	t.Parallel()
	if !hasBinaries(t) {
		return
	}
	f := startFamily(t, "wait")
	if err := f.process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = f.process.Wait() // says "killed"
	f.awaitEnd(t)
}

func TestCluster_ends_with_a_parent_that_is_killed_during_initdb(t *testing.T) {
	t.Parallel()
	if !hasBinaries(t) {
		return
	}
	f := startFamily(t, "initdb")
	if err := f.process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = f.process.Wait() // says "killed"
	f.awaitEnd(t)
}

func TestCluster_ends_with_a_parent_that_panics(t *testing.T) {
	t.Parallel()
	if !hasBinaries(t) {
		return
	}
	f := startFamily(t, "panic")
	if err := f.process.Wait(); err == nil {
		t.Error("the helper did not panic")
	}
	f.awaitEnd(t)
}

func TestCluster_survives_a_Ctrl_C_until_its_parent_stops_it(t *testing.T) {
	t.Parallel()
	if !hasBinaries(t) {
		return
	}
	f := startFamily(t, "wait")
	if err := syscall.Kill(-f.process.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := f.process.Wait(); err != nil {
		t.Errorf("the cluster did not work any more: %v: %s", err, f.stderr.String())
	}
	f.awaitEnd(t)
}
