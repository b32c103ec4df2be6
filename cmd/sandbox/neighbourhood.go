package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"

	"sperrd/internal/makod/makodtest"
	"sperrd/internal/postgres"
	"sperrd/internal/postgres/postgrestest"
	"sperrd/internal/webhook"
)

// neighbourhood is everything that runs: what sperrd needs, what it talks to, and
// sperrd itself. It is put up by start and taken down by stop, once.
type neighbourhood struct {
	options
	stdout, stderr io.Writer
	fail           context.CancelCauseFunc // ends the sandbox, for a neighbour that died
	undo           []func() error          // what stop does, last first

	folder   string // temporary, gone after stop
	database *pgxpool.Pool
	market   market
	erp      erp
	sperrd   *client
	issuer   string // whose tokens sperrd accepts
	mcpKey   string
	command  commandLine
	adminURL string
}

// start puts everything up, one after the other. What it started before an error
// is left to stop.
func (n *neighbourhood) start(ctx context.Context) error {
	fmt.Fprint(n.stdout, "The neighbourhood comes up\n\n")
	folder, err := os.MkdirTemp("", "sperrd-sandbox-")
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	n.folder = folder
	n.later(func() error { return os.RemoveAll(folder) })
	settings, err := n.startOthers(ctx)
	if err != nil {
		return err
	}
	if n.market.signer, err = webhook.NewSigner(settings.inboundSecret); err != nil {
		return err
	}
	if err := n.startSperrd(ctx, settings); err != nil {
		return fmt.Errorf("sperrd: %w", err)
	}
	if err := n.openDatabase(ctx, settings.databaseURL); err != nil {
		return fmt.Errorf("PostgreSQL: %w", err)
	}
	if err := n.startAdmin(ctx); err != nil {
		return fmt.Errorf("admin endpoints: %w", err)
	}
	return nil
}

// startOthers puts up what sperrd needs and returns where it finds it. The secrets are
// of this run: nobody else can sign for it.
func (n *neighbourhood) startOthers(ctx context.Context) (settings sperrdSettings, err error) {
	n.mcpKey = rand.Text()
	settings = sperrdSettings{
		makodKey: rand.Text(), inboundSecret: rand.Text(), erpSecret: drawERPSecret(), mcpKey: n.mcpKey,
		idempotencyRequired: n.IdempotencyRequired,
	}
	if settings.databaseURL, err = n.startPostgres(ctx); err != nil {
		return settings, fmt.Errorf("PostgreSQL: %w", err)
	}
	if settings.makodURL, err = n.startMakod(ctx, settings.makodKey); err != nil {
		return settings, fmt.Errorf("makod: %w", err)
	}
	if settings.erpURL, err = n.startERP(ctx, settings.erpSecret); err != nil {
		return settings, fmt.Errorf("ERP: %w", err)
	}
	if n.issuer, err = n.startIssuer(ctx); err != nil {
		return settings, fmt.Errorf("OIDC provider: %w", err)
	}
	settings.issuer = n.issuer
	return settings, nil
}

// stop ends everything that start began, in reverse. It waits for all of it.
func (n *neighbourhood) stop() error {
	var err error
	for _, step := range slices.Backward(n.undo) {
		err = errors.Join(err, step())
	}
	return err
}

// later adds a step to stop.
func (n *neighbourhood) later(step func() error) { n.undo = append(n.undo, step) }

// endedError is the end of a neighbour that nobody asked for.
type endedError struct {
	name string
	err  error
}

func (e *endedError) Error() string {
	if e.err == nil {
		return e.name + " ended by itself"
	}
	return e.name + " ended by itself: " + e.err.Error()
}

func (e *endedError) Unwrap() error { return e.err }

// background runs serve until stop. An end before that ends the sandbox.
func (n *neighbourhood) background(ctx context.Context, name string, serve func(context.Context) error) {
	// A signal must not end all neighbours at once: stop does it in order.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() {
		err := serve(ctx)
		if ctx.Err() == nil {
			n.fail(&endedError{name, err})
			err = nil // told once, as the reason
		}
		done <- err
	}()
	n.later(func() error {
		cancel()
		return <-done
	})
}

// startPostgres returns the URL of the database of this run.
func (n *neighbourhood) startPostgres(ctx context.Context) (string, error) {
	server, err := postgrestest.StartServer(ctx, postgrestest.Options{
		URL: n.DatabaseURL, DataDir: n.Data, Log: func(line string) { n.say("%s", line) },
		Fast: n.Data == "", // what is thrown away need not survive a crash
	})
	if err != nil {
		return "", fmt.Errorf("%w\nFor the sandbox the first way is the switch --database-url", err)
	}
	n.later(server.Stop)
	address, err := url.Parse(server.URL())
	if err != nil {
		return "", errors.New("its URL cannot be read") // it may hold a password: not quoted
	}
	// A password is printed nowhere. A private server has none: nobody else gets in.
	_, secret := address.User.Password()
	switch {
	case !secret:
		n.say("PostgreSQL: psql '%s'", server.URL())
	case n.Data != "":
		return "", errors.New("--data needs PostgreSQL's own binaries on this machine: a container keeps nothing")
	}
	return server.URL(), nil
}

// startMakod serves the simulated makod and returns its URL.
func (n *neighbourhood) startMakod(ctx context.Context, key string) (string, error) {
	listener, err := port{"--makod-port", n.MakodPort, 8781}.listen(ctx, loopback, n.say)
	if err != nil {
		return "", err
	}
	server := makodtest.New(makodtest.Options{APIKey: key, Idempotency: makodtest.IdempotencyCompare24h})
	n.market.makod = server
	n.background(ctx, "makod", func(ctx context.Context) error { return server.Serve(ctx, listener) })
	n.say("simulated makod on %s", urlOf(portOf(listener)))
	return urlOf(portOf(listener)), nil
}

// openDatabase opens the sandbox's own look into sperrd's tables, which exist once
// sperrd is ready.
func (n *neighbourhood) openDatabase(ctx context.Context, databaseURL string) error {
	pool, err := postgres.Open(ctx, databaseURL, postgres.Options{PoolSize: 2, ApplicationName: "sperrd sandbox"})
	if err != nil {
		return err
	}
	n.database = pool
	n.later(func() error {
		pool.Close()
		return nil
	})
	return n.rememberProcesses(ctx)
}

// say tells a person what is being put up.
func (n *neighbourhood) say(format string, args ...any) {
	fmt.Fprintf(n.stdout, "  "+format+"\n", args...)
}
