package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	tenant      = "9900357000003"
	patience    = 30 * time.Second // of a test with what must happen
	tick        = 10 * time.Millisecond
	hmacSecret  = "hmac-Geheimnis"
	makodSecret = "makod-Geheimnis"
	erpSecret   = "erp-Geheimnis"
)

// setup is the configuration of one sperrd.
type setup struct {
	port     int
	database string // URL
	makod    string // URL
	erp      string // URL; empty: none
	grace    string // "20s" if empty
	more     string // sections
}

func (s setup) toml() string {
	if s.grace == "" {
		s.grace = "20s"
	}
	erp := ""
	if s.erp != "" {
		erp = fmt.Sprintf("erp_webhook_url = %q\nerp_hmac_secret = %q\n", s.erp, erpSecret)
	}
	return fmt.Sprintf(`port = %d
tenant = "%s"
makod_url = "%s"
makod_api_key = "%s"
inbound_hmac_secret = "%s"
allow_insecure_no_auth = true
shutdown_grace = "%s"
%s[database]
url = "%s"
%s`, s.port, tenant, s.makod, makodSecret, hmacSecret, s.grace, erp, s.database, s.more)
}

func writeConfig(t *testing.T, toml string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "sperrd.toml")
	if err := os.WriteFile(path, []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// with replaces the line of a key; an empty line removes it.
func with(toml, key, line string) string {
	lines := strings.Split(toml, "\n")
	for i := range lines {
		if strings.HasPrefix(lines[i], key+" =") {
			lines[i] = line
		}
	}
	return strings.Join(lines, "\n")
}

// lastPort counts up from below the ports that the systems hand out themselves,
// so that no connection of another test sits on a port given to a sperrd.
var lastPort atomic.Int32

func freePort(t *testing.T) int {
	t.Helper()
	for range 1000 {
		port := 20000 + (os.Getpid()*16+int(lastPort.Add(1)))%12000
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", fmt.Sprintf(":%d", port))
		if err == nil {
			_ = listener.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return 0
}

// command runs a command to its end.
func command(t *testing.T, toml string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return commandIn(t, nil, append(args, "--config", writeConfig(t, toml))...)
}

// commandIn runs a command to its end in an environment.
func commandIn(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, log buffer
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	code = run(ctx, process{args: args, lookupEnv: lookup(env), stdout: &out, stderr: &log, now: time.Now})
	if ctx.Err() != nil {
		t.Fatalf("sperrd %v did not end: %s", args, log.String())
	}
	return code, out.String(), log.String()
}

func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
}

// buffer is an output that may be read while it is written.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// instance is a sperrd that serves.
type instance struct {
	base   string // URL
	log    *buffer
	stop   func()          // asks for an orderly end, as SIGTERM does
	signal func(os.Signal) // of a child only
	pid    int             // of a child only
	exited chan struct{}
	code   int // once exited is closed
}

// start runs a sperrd in this process; it is stopped when the test ends.
func start(t *testing.T, s setup) *instance {
	t.Helper()
	return startTOML(t, s.port, s.toml())
}

func startTOML(t *testing.T, port int, toml string) *instance {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	i := newInstance(port, cancel)
	args := []string{"--config", writeConfig(t, toml)}
	go func() {
		defer close(i.exited)
		i.code = run(ctx, process{args: args, lookupEnv: lookup(nil), stdout: i.log, stderr: i.log, now: time.Now})
	}()
	t.Cleanup(func() {
		i.stop()
		i.awaitExit(t)
	})
	return i
}

// startChild runs a sperrd as a process of its own, whose environment is env alone.
func startChild(t *testing.T, s setup, env ...string) *instance {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "serve", "--config", writeConfig(t, s.toml()))
	i := newInstance(s.port, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	i.signal = func(signal os.Signal) { _ = cmd.Process.Signal(signal) }
	cmd.Env = append(env, childVariable+"=1")
	cmd.Stdout, cmd.Stderr = i.log, i.log
	// Held open for as long as the test lives, see endWithParent.
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	i.start(t, cmd)
	t.Cleanup(func() {
		_ = stdin.Close()
		i.awaitExit(t)
	})
	return i
}

// start starts cmd, and learns of its end.
func (i *instance) start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	i.pid = cmd.Process.Pid
	go func() {
		defer close(i.exited)
		_ = cmd.Wait()
		i.code = cmd.ProcessState.ExitCode()
	}()
}

func newInstance(port int, stop func()) *instance {
	return &instance{
		base: fmt.Sprintf("http://127.0.0.1:%d", port), log: new(buffer), stop: stop, exited: make(chan struct{}),
	}
}

// awaitExit returns the exit code.
func (i *instance) awaitExit(t *testing.T) int {
	t.Helper()
	select {
	case <-i.exited:
		return i.code
	case <-time.After(patience):
		t.Fatalf("sperrd does not end:\n%s", i.log.String())
		return 0
	}
}

func (i *instance) awaitReady(t *testing.T) {
	t.Helper()
	i.awaitStatus(t, "/health/ready", http.StatusOK)
}

// awaitStatus waits until a GET is answered with the status.
func (i *instance) awaitStatus(t *testing.T, path string, want int) {
	t.Helper()
	await(t, func() (bool, string) {
		select {
		case <-i.exited:
			t.Fatalf("sperrd has ended with %d:\n%s", i.code, i.log.String())
		default:
		}
		status, body, err := i.get(t, path)
		return err == nil && status == want, fmt.Sprintf("GET %s: %d %s %v; want %d", path, status, body, err, want)
	})
}

// await asks again and again until the answer is yes.
func await(t *testing.T, done func() (yes bool, state string)) {
	t.Helper()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	deadline := time.After(patience)
	for {
		yes, state := done()
		if yes {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("in vain: %s", state)
		}
	}
}

func (i *instance) get(t *testing.T, path string) (status int, body string, err error) {
	t.Helper()
	return i.call(t.Context(), http.MethodGet, path, "")
}

// call makes one request on a connection of its own.
func (i *instance) call(ctx context.Context, method, path, body string) (status int, answer string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, i.base+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	return response.StatusCode, string(read), err
}

// refused reports whether nobody listens.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
