package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"sperrd/internal/werktag"
)

const (
	readyTimeout = 60 * time.Second // of sperrd, migrations included
	// stopTimeout is longer than the shutdown_grace in the file, after which
	// sperrd ends anyway.
	stopTimeout = 15 * time.Second
	readyPoll   = 30 * time.Millisecond
)

// startSperrd runs the real binary and returns when it is ready.
func (n *neighbourhood) startSperrd(ctx context.Context, settings sperrdSettings) error {
	listener, err := port{"--port", n.Port, 8780}.listen(ctx, allAddresses, n.say)
	if err != nil {
		return err
	}
	defer listener.Close()
	binary, err := n.binary(ctx)
	if err != nil {
		return err
	}
	settings.port = portOf(listener)
	if n.command, err = settings.write(n.folder); err != nil {
		return fmt.Errorf("write its configuration: %w", err)
	}
	n.command.binary = binary
	process := &child{
		binary: binary, args: []string{"serve", "--config", n.command.config}, env: n.command.env,
		log: filepath.Join(n.folder, "sperrd.log"), started: make(chan int, 1),
	}
	if n.Verbose {
		process.show = n.stderr
	}
	if err := listener.Close(); err != nil { // at the last moment: sperrd opens it now
		return fmt.Errorf("give the port to it: %w", err)
	}
	n.background(ctx, "sperrd", process.run)
	n.sperrd = newClient(urlOf(settings.port))
	n.sperrd.tokens = newTokens(n.issuer, asDisponent, n.sperrd.http)
	n.later(n.sperrd.close)
	n.market.sperrd = n.sperrd.base
	if err := n.awaitReady(ctx, process); err != nil {
		return err
	}
	n.say("sperrd on %s (process %d), its log in %s", n.sperrd.base, <-process.started, process.log)
	if n.IdempotencyRequired {
		n.say("sperrd takes no changing call without %s or %s: 400", headerTransactionID, headerIdempotencyKey)
	}
	return nil
}

// binary is the sperrd to run: the one named, or one built from the source tree.
func (n *neighbourhood) binary(ctx context.Context) (string, error) {
	if n.Sperrd != "" {
		if _, err := os.Stat(n.Sperrd); err != nil {
			return "", fmt.Errorf("%w; build it there, or leave --sperrd out and it is built from the source tree", err)
		}
		return n.Sperrd, nil
	}
	n.say("building sperrd")
	binary := filepath.Join(n.folder, "sperrd")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "sperrd/cmd/sperrd")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("it cannot be built; start the sandbox in the source tree, or name a binary with --sperrd: %w\n%s", err, output)
	}
	return binary, nil
}

// awaitReady waits until sperrd is ready, which includes its migrations, or has
// ended, or takes too long.
func (n *neighbourhood) awaitReady(ctx context.Context, process *child) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, errNotReady)
	defer cancel()
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	for {
		problem := n.knock(ctx)
		if problem == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, errNotReady) {
				return cause
			}
			return fmt.Errorf("%w: %w%s", errNotReady, problem, process.lastWords())
		case <-ticker.C:
		}
	}
}

var errNotReady = fmt.Errorf("not ready within %s", readyTimeout)

// knock is nil when the sperrd of this run is ready. The health of a port says
// nothing about whose it is; only our own accepts our signature, here under an
// event that it has no use for.
func (n *neighbourhood) knock(ctx context.Context) error {
	a, err := n.sperrd.do(ctx, request{method: http.MethodGet, path: "/health/ready"})
	if err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return fmt.Errorf("GET /health/ready is answered with %d", a.status)
	}
	today := werktag.BerlinDay(time.Now())
	if a, err = n.market.deliver(ctx, newEvent(supplierStart, time.Now(), today), n.market.signer); err != nil {
		return err
	}
	if a.status != http.StatusNoContent {
		return fmt.Errorf("somebody else may be on its port: a signed event is answered with %d %s", a.status, a.body)
	}
	// It is ready without the keys of the OIDC provider, but then it answers nobody.
	if a, err = n.sperrd.do(ctx, request{method: http.MethodGet, path: ordersPath + "/stats"}); err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return fmt.Errorf("a token of the OIDC provider is answered with %d %s", a.status, a.body)
	}
	return nil
}
