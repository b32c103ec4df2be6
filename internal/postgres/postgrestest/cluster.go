package postgrestest

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed supervisor.sh
var supervisor string

// pollInterval is short against the 40 ms that a cluster takes to start.
const pollInterval = 3 * time.Millisecond

// startCluster starts local binaries as a private cluster. A shell supervises
// it, which reads a pipe that only this process holds open: when this process
// ends in whatever way, the kernel closes the pipe, and the shell stops the
// cluster and removes its folder.
func startCluster(ctx context.Context, opts Options) (*Server, error) {
	c, err := newCluster(ctx, opts)
	if err != nil {
		return nil, err
	}
	opts.Log("starting PostgreSQL from " + c.bin)
	if err := c.supervise(ctx, opts); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.dir))
	}
	socket := url.Values{"host": {c.dir}, "port": {strconv.Itoa(port(opts))}}
	admin := &url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/postgres", RawQuery: socket.Encode()}
	if err := c.awaitReady(ctx, admin.String()); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	role := *admin
	role.User = url.User(owner)
	if opts.Port != 0 {
		role.User = url.UserPassword(owner, rand.Text())
		role.Host = "127.0.0.1:" + strconv.Itoa(opts.Port)
		role.RawQuery = ""
	}
	return &Server{admin: admin, role: &role, halt: c.stop}, nil
}

// cluster is a private PostgreSQL with its supervisor.
type cluster struct {
	user  account
	bin   string // folder of the binaries
	dir   string // folder of socket and log, removed at the end
	data  string // data folder
	shell *exec.Cmd
	alive *os.File // our end of the supervisor's pipe
}

// newCluster finds the binaries and makes the folders.
func newCluster(ctx context.Context, opts Options) (*cluster, error) {
	user, err := unprivileged()
	if err != nil {
		return nil, err
	}
	bin, err := findBinaries(ctx, user)
	if err != nil {
		return nil, err
	}
	// Not os.TempDir: the path of a Unix socket may have 100 bytes, and the one
	// of macOS is already half as long.
	dir, err := os.MkdirTemp("/tmp", "sperrd-pg-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for PostgreSQL: %w", err)
	}
	data, err := user.prepare(dir, opts.DataDir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &cluster{user: user, bin: bin, dir: dir, data: data}, nil
}

// supervise starts the supervisor, in a process group of its own: Ctrl-C in the
// terminal must reach us alone, so that our connections end before the database
// does. It outlives ctx.
func (c *cluster) supervise(ctx context.Context, opts Options) error {
	log, err := os.Create(filepath.Join(c.dir, "log"))
	if err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	defer log.Close()
	theirs, ours, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	defer theirs.Close()
	args := append([]string{"-c", supervisor, "sperrd-postgres", c.dir, c.data, c.bin, superuser}, settings(opts)...)
	shell := exec.CommandContext(context.WithoutCancel(ctx), "/bin/sh", args...)
	shell.Dir = c.dir
	shell.Env = environment(c.dir)
	shell.Stdin, shell.Stdout, shell.Stderr = theirs, log, log
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: c.user.credential}
	if err := shell.Start(); err != nil {
		return errors.Join(fmt.Errorf("start PostgreSQL: %w", err), ours.Close())
	}
	c.shell, c.alive = shell, ours
	return nil
}

// environment is all that PostgreSQL gets to see of ours.
func environment(dir string) []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC", "HOME=" + dir}
}

// settings are the command line of postgres.
func settings(opts Options) []string {
	address := ""
	if opts.Port != 0 {
		address = "127.0.0.1"
	}
	values := []string{
		"max_connections=200", "shared_buffers=32MB", "timezone=" + cmp.Or(opts.Timezone, "UTC"),
		"listen_addresses=" + address, "port=" + strconv.Itoa(port(opts)),
	}
	if opts.Fast {
		values = append(values, "fsync=off", "synchronous_commit=off", "full_page_writes=off", "wal_level=minimal", "max_wal_senders=0")
	}
	var args []string
	for _, value := range values {
		args = append(args, "-c", value)
	}
	return args
}

// port is part of the name of the socket even where nothing listens on TCP.
func port(opts Options) int { return cmp.Or(opts.Port, 5432) }

// awaitReady returns when the cluster takes connections, or as soon as it has
// ended without.
func (c *cluster) awaitReady(ctx context.Context, adminURL string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		conn, err := pgx.Connect(ctx, adminURL)
		if err == nil {
			return conn.Close(ctx)
		}
		if _, ended := os.Stat(filepath.Join(c.dir, "ended")); ended == nil {
			return fmt.Errorf("PostgreSQL did not start: %s", c.lastWords())
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL did not take connections: %w: %s", err, c.lastWords())
		case <-ticker.C:
		}
	}
}

// lastWords is the end of the log.
func (c *cluster) lastWords() string {
	log, err := os.ReadFile(filepath.Join(c.dir, "log"))
	if err != nil {
		return "its log cannot be read: " + err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	return strings.Join(lines[max(0, len(lines)-8):], " | ")
}

// stop lets go of the pipe and waits until the supervisor has stopped the
// cluster and removed the folder. One that takes too long is killed with all
// its processes.
func (c *cluster) stop() error {
	err := c.alive.Close()
	done := make(chan error, 1)
	go func() { done <- c.shell.Wait() }()
	deadline := time.NewTimer(startTimeout)
	defer deadline.Stop()
	select {
	case waitErr := <-done:
		return errors.Join(err, waitErr)
	case <-deadline.C:
		err = errors.Join(err, fmt.Errorf("PostgreSQL did not stop within %s and was killed", startTimeout),
			syscall.Kill(-c.shell.Process.Pid, syscall.SIGKILL))
		return errors.Join(err, <-done, os.RemoveAll(c.dir))
	}
}
