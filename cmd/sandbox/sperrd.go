package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sperrd/internal/werktag"
)

const (
	readyTimeout = 60 * time.Second // of sperrd, migrations included
	// stopTimeout is longer than the shutdown_grace in the file, after which
	// sperrd ends anyway.
	stopTimeout = 15 * time.Second
	readyPoll   = 30 * time.Millisecond
	// maxAttempts are so few that the story can wait until they are spent, at most 9 s
	// after the first, and so many that it has 4 s at least between the second and the
	// last, in which it mends makod.
	maxAttempts = 6
)

// sperrdSettings are what the configuration of sperrd says about its neighbours.
type sperrdSettings struct {
	port                                           int
	makodURL, makodKey, inboundSecret, databaseURL string
	erpURL, erpSecret, issuer, mcpKey              string
}

// file is sperrd.toml. No secret stands in it. What would take hours or days is short
// enough here to be watched.
func (c sperrdSettings) file() string {
	return fmt.Sprintf(`# Written by the sandbox, which removes it at its end.
port   = %d
tenant = %q
makod_url           = %q
makod_api_key       = "env:SPERRD_MAKOD_API_KEY"
inbound_hmac_secret = "env:SPERRD_INBOUND_HMAC_SECRET"
erp_webhook_url     = %q
erp_hmac_secret     = "env:SPERRD_ERP_HMAC_SECRET"
shutdown_grace      = "10s"
[database]
url = "env:SPERRD_DATABASE_URL"
[oidc]
issuer   = %q
audience = %q
[mcp]
api_key = "env:SPERRD_MCP_API_KEY"
[log]
format = "text"
[iftsta]
request_timeout = "3s" # nobody waits long for a makod that hangs
max_attempts    = %d
first_backoff   = "1s"
max_backoff     = "2s"
poll_interval   = "200ms"
[frist]
scan_interval = "1s"
[outbox]
request_timeout = "5s" # less than shutdown_grace, also with an ERP that hangs
poll_interval   = "200ms"
`, c.port, tenant, c.makodURL, c.erpURL, c.issuer, audience, maxAttempts)
}

// environment is ours, without what may be meant for another sperrd.
func (c sperrdSettings) environment() []string {
	var env []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "SPERRD_") {
			env = append(env, pair)
		}
	}
	return append(env, "SPERRD_MAKOD_API_KEY="+c.makodKey, "SPERRD_INBOUND_HMAC_SECRET="+c.inboundSecret,
		"SPERRD_ERP_HMAC_SECRET="+c.erpSecret, "SPERRD_DATABASE_URL="+c.databaseURL, "SPERRD_MCP_API_KEY="+c.mcpKey)
}

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
	config := filepath.Join(n.folder, "sperrd.toml")
	if err := os.WriteFile(config, []byte(settings.file()), 0o600); err != nil {
		return fmt.Errorf("write its configuration: %w", err)
	}
	n.command = commandLine{binary: binary, config: config, env: settings.environment()}
	process := &child{
		binary: binary, args: []string{"serve", "--config", config}, env: n.command.env,
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
