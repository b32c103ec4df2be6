package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// sperrdBinary is the real sperrd, built once for all tests.
var sperrdBinary string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) (code int) {
	folder, err := os.MkdirTemp("", "sandbox-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	sperrdBinary = filepath.Join(folder, "sperrd")
	build := exec.CommandContext(context.Background(), "go", "build", "-o", sperrdBinary, "sperrd/cmd/sperrd")
	if output, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build sperrd: %v\n%s", err, output)
		return 1
	}
	code = m.Run()
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, "a sandbox left something running:", err)
		return 1
	}
	return code
}

// running is a sandbox in this process.
type running struct {
	t      *testing.T
	cancel context.CancelFunc
	ended  chan struct{}
	code   int // once ended

	mu      sync.Mutex
	text    strings.Builder // stdout and stderr as a terminal shows them
	changed chan struct{}
}

// start starts a sandbox, which ends with the test at the latest. Its sperrd gets a
// port of its own unless args name one: those of tests side by side would meet on
// the usual one.
func start(t *testing.T, args ...string) *running {
	t.Helper()
	if !slices.Contains(args, "--port") {
		free, err := listenOnFree(t.Context(), allAddresses)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, "--port", strconv.Itoa(portOf(free)))
		if err := free.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, cancel: cancel, ended: make(chan struct{}), changed: make(chan struct{})}
	go func() {
		defer close(r.ended)
		r.code = run(ctx, args, r, r)
	}()
	t.Cleanup(func() {
		cancel()
		<-r.ended
		if t.Failed() {
			t.Log(r.output())
		}
	})
	return r
}

// Write takes what the sandbox prints.
func (r *running) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.changed)
	r.changed = make(chan struct{})
	return r.text.Write(p)
}

func (r *running) output() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// exitCode waits until the sandbox has ended.
func (r *running) exitCode() int {
	r.t.Helper()
	select {
	case <-r.ended:
		return r.code
	case <-time.After(2 * time.Minute):
		r.t.Fatal("the sandbox does not end")
		return 0
	}
}

// find waits until the sandbox has printed something that matches and returns the
// first group of it.
func (r *running) find(pattern string) string {
	r.t.Helper()
	want := regexp.MustCompile(pattern)
	deadline := time.After(2 * time.Minute)
	for {
		r.mu.Lock()
		match, changed := want.FindStringSubmatch(r.text.String()), r.changed
		r.mu.Unlock()
		if match != nil {
			return match[len(match)-1]
		}
		select {
		case <-changed:
		case <-r.ended:
			if match := want.FindStringSubmatch(r.output()); match != nil {
				return match[len(match)-1]
			}
			r.t.Fatalf("the sandbox ended with %d and never printed %q", r.code, pattern)
		case <-deadline:
			r.t.Fatalf("the sandbox does not print %q", pattern)
		}
	}
}

// handedOver waits until the sandbox has told its story and serves.
func (r *running) handedOver() {
	r.t.Helper()
	r.find(`/iftsta'\n`)
}

// token is one of the disponent.
func (r *running) token() string {
	r.t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	token, err := newTokens(r.find(`OIDC provider on (\S+)`), asDisponent, client).get(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return token
}

// expectNothingLeft checks that the folders of sperrd and of PostgreSQL are gone
// and that nobody listens where sperrd did.
func (r *running) expectNothingLeft() {
	r.t.Helper()
	folders := []string{filepath.Dir(r.find(`its log in (\S+)`)), strings.ReplaceAll(r.find(`host=([^']+)`), "%2F", "/")}
	for _, folder := range folders {
		if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
			r.t.Errorf("the folder %s is still there (%v)", folder, err)
		}
	}
	answer, err := newClient(r.find(`sperrd on (\S+)`)).do(r.t.Context(), request{method: "GET", path: "/health/live"})
	if err == nil {
		r.t.Errorf("sperrd still answers: %d", answer.status)
	}
}
