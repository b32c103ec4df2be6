package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"sperrd/internal/api"
	"sperrd/internal/authn"
	"sperrd/internal/authz"
	"sperrd/internal/config"
	"sperrd/internal/makod"
	"sperrd/internal/outbox"
	"sperrd/internal/postgres"
	"sperrd/internal/sperr"
	"sperrd/internal/telemetry"
	"sperrd/internal/webhook"
	"sperrd/migrations"
)

// databaseMargin is what an answer may take beside the wait for a key and the command
// to makod: the wait for a twin and the statements before and after the command, each of
// which has its own bound.
const databaseMargin = 40 * time.Second

// twinWait is how long a call waits for the answer of one of the same transaction that is
// under way; then it gets what is known, or is asked to come again.
const twinWait = 3 * time.Second

// serveCommand is the service.
type serveCommand struct {
	Probe bool `name:"check" help:"Do what the command health does."`
}

// Run serves until ctx ends. Mistakes in the configuration are usageErrors;
// whatever fails later is in the log.
func (c *serveCommand) Run(ctx context.Context, p *process) error {
	if c.Probe {
		return new(healthCommand).Run(ctx, p)
	}
	cfg, logger, err := p.load()
	if err != nil {
		return err
	}
	s, err := newService(cfg, logger, p.now)
	if err == nil {
		s.tracing, err = newTracing(ctx, cfg, p.lookupEnv, logger)
	}
	if err != nil {
		return err
	}
	defer s.endTracing()
	defer s.close()
	logger.Info("starting", "version", versionText(), "tenant", cfg.Tenant, "config", p.configPath())
	for _, warning := range warnings(cfg) {
		logger.Warn("configuration", "warning", warning)
	}
	err = s.run(ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		logger.Info("stopped before it was ready")
		return nil
	default:
		logger.Error("sperrd has failed", "error", err)
		return errReported
	}
}

// service is one running sperrd.
type service struct {
	config   *config.Config
	logger   *slog.Logger
	now      func() time.Time
	makod    *makod.Client
	erp      *outbox.Client    // nil: events pile up
	verifier *webhook.Verifier // nil: every webhook is believed

	authenticator *authn.Authenticator // nil: no token is checked
	authorizer    *authz.Authorizer

	tracing  *telemetry.Tracing // nil: no collector
	pool     *pgxpool.Pool
	stopping atomic.Bool
}

// newService returns a service that has begun nothing. close ends it.
func newService(cfg *config.Config, logger *slog.Logger, now func() time.Time) (s *service, err error) {
	s = &service{config: cfg, logger: logger, now: now, authenticator: newAuthenticator(cfg, now, logger)}
	if s.makod, err = newMakodClient(cfg); err != nil {
		return nil, err
	}
	if s.erp, err = newERPClient(cfg, now); err != nil {
		return nil, err
	}
	if s.verifier, err = newVerifier(cfg, now); err != nil {
		return nil, err
	}
	if s.authorizer, err = newAuthorizer(); err != nil {
		return nil, err
	}
	return s, nil
}

// close ends the connections to the neighbours.
func (s *service) close() {
	s.makod.Close()
	if s.erp != nil {
		s.erp.Close()
	}
}

// run brings the database up to date, serves on it until ctx ends, and stops.
func (s *service) run(ctx context.Context) (err error) {
	s.pool, err = openDatabase(ctx, s.config, s.tracing, s.logger)
	if err != nil {
		return err
	}
	server, background, err := s.parts()
	if err != nil {
		s.pool.Close()
		return err
	}
	s.tellBacklog(ctx)
	s.fetchKeys(ctx)
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("", strconv.Itoa(s.config.Port)))
	if err != nil {
		s.pool.Close()
		return fmt.Errorf("port: %w", err)
	}
	err = s.serve(ctx, server, background, listener)
	if !errors.Is(err, errCut) {
		s.pool.Close()
	}
	// After a cut, requests and loops may still hold connections, and Close would wait
	// for them; the end of the process closes them.
	return err
}

// openDatabase migrates the database, then opens the pool.
func openDatabase(ctx context.Context, cfg *config.Config, tracing *telemetry.Tracing, logger *slog.Logger) (*pgxpool.Pool, error) {
	url := cfg.Database.URL.Reveal()
	if err := postgres.NewMigrator(url, migrations.FS, logger).Up(ctx); err != nil {
		return nil, databaseError(err)
	}
	pool, err := postgres.Open(ctx, url, postgres.Options{PoolSize: cfg.Database.PoolSize, Traces: tracing.Provider()})
	if err != nil {
		return nil, databaseError(err)
	}
	return pool, nil
}

// databaseError tells the operator which of the two to look at: the database, or
// what it was asked to do.
func databaseError(err error) error {
	if postgres.IsUnavailable(err) {
		return fmt.Errorf("the database (database.url) cannot be used now: %w", err)
	}
	return fmt.Errorf("the database (database.url): %w", err)
}

// parts puts the service together, from the pool up.
func (s *service) parts() (*http.Server, loops, error) {
	repository := sperr.NewRepository(s.pool, s.config.Tenant, s.config.IFTSTA.MaxAttempts)
	metrics, err := s.newMetrics(repository)
	if err != nil {
		return nil, loops{}, err
	}
	drainer := s.newDrainer(metrics)
	options := sperr.Options{
		Calendar:          calendarOf(s.config),
		PruefschrittCheck: sperr.PruefschrittCheck(s.config.PruefschrittCheck),
		RequestTimeout:    s.config.IFTSTA.RequestTimeout,
		Lease:             s.config.IFTSTA.Lease,
		FirstBackoff:      s.config.IFTSTA.FirstBackoff,
		MaxBackoff:        s.config.IFTSTA.MaxBackoff,
		MaxPerSecond:      s.config.IFTSTA.MaxPerSecond,
		TwinWait:          twinWait,
		Retention:         s.config.Idempotency.Retention,
		Metrics:           metrics,
		Tracing:           s.tracing,
		Now:               s.now,
		Logger:            s.logger,
	}
	if drainer != nil {
		options.EventsWritten = drainer.Wake
	}
	orders := sperr.NewService(s.pool, repository, s.makod, options)
	handler := api.NewHandler(api.Options{
		Version: versionText(), Tenant: s.config.Tenant, Service: orders, Repository: repository, Verifier: s.verifier,
		Authenticator: s.authenticator, Authorizer: s.authorizer,
		MCP: s.newMCP(repository), MCPKey: s.config.MCP.APIKey.Reveal(), MCPParallel: mcpParallel(s.config.Database.PoolSize),
		IdempotencyRetention: s.config.Idempotency.Retention, IdempotencyRequired: s.config.Idempotency.Required,
		Metrics: metrics, Tracing: s.tracing, Warnings: s.config.InsecureWarnings(), Ready: s.ready, Now: s.now, Logger: s.logger,
	})
	server := api.NewServer(handler, s.config.IFTSTA.RequestTimeout+authn.LongestWait+databaseMargin, s.logger)
	return server, newLoops(s.config, orders, drainer), nil
}
