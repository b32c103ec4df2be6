package api_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"sperrd/internal/api"
	"sperrd/internal/authz"
	"sperrd/internal/makod"
	"sperrd/internal/makod/makodtest"
	"sperrd/internal/mcpserver"
	"sperrd/internal/postgres"
	"sperrd/internal/postgres/postgrestest"
	"sperrd/internal/sperr"
	"sperrd/internal/telemetry"
	"sperrd/internal/webhook"
	"sperrd/internal/werktag"
	"sperrd/policies"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Run(m)) }

const (
	tenant = "9900357000004"
	malo   = "51238696012"
	lf     = "9900012345678"
	secret = "dev-inbound-secret-0001"

	orders  = "/api/v1/sperr-orders"
	rejects = "/api/v1/webhook-rejects"

	pruefschritte = "/api/v1/pruefschritte"

	retention = 90 * 24 * time.Hour
)

// now is Thursday 2026-09-03, 10:00 in Berlin.
var now = time.Date(2026, 9, 3, 8, 0, 0, 0, time.UTC)

// bench is one service behind real HTTP, with its database and a simulated makod.
type bench struct {
	pool  *pgxpool.Pool
	makod *makodtest.Server
	log   *logBuffer
	url   string
	http  *http.Client
}

// settings are what a test may change before the bench stands.
type settings struct {
	options  api.Options
	handler  func(api.Options) http.Handler
	server   func(*http.Server)
	pool     *pgxpool.Pool // nil: a database of its own
	poolSize int           // 0: that of postgrestest.New
	twinWait time.Duration
}

func newBench(t *testing.T, changes ...func(*settings)) *bench {
	t.Helper()
	b := &bench{log: &logBuffer{}}
	logger := slog.New(slog.NewJSONHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	clock := func() time.Time { return now }
	verifier, err := webhook.NewVerifier([]string{secret}, clock)
	if err != nil {
		t.Fatal(err)
	}
	authorizer, err := authz.New("sperrd.cedar", policies.Sperrd, api.Actions())
	if err != nil {
		t.Fatal(err)
	}
	set := settings{
		options: api.Options{Tenant: tenant, Verifier: verifier, Authorizer: authorizer, Now: clock, Logger: logger, IdempotencyRetention: retention},
		handler: api.NewHandler,
		server:  func(*http.Server) {}, twinWait: 3 * time.Second,
	}
	for _, change := range changes {
		change(&set)
	}
	if b.pool = set.pool; b.pool == nil {
		b.pool = openPool(t, set.poolSize)
	}
	if set.options.Ready == nil {
		set.options.Ready = b.pool.Ping
	}

	b.makod = makodtest.New(makodtest.Options{APIKey: "key", Now: clock})
	client, err := makod.NewClient(b.makod.Start(t), "key", 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	set.options.Repository = sperr.NewRepository(b.pool, set.options.Tenant, 8)
	set.options.Service = sperr.NewService(b.pool, set.options.Repository, client, sperr.Options{
		Calendar: werktag.BDEW(), PruefschrittCheck: sperr.PruefschrittRefuse, TwinWait: set.twinWait, Retention: retention,
		RequestTimeout: 30 * time.Second, Lease: 60 * time.Second, FirstBackoff: 30 * time.Second, MaxBackoff: 2 * time.Hour,
		Now: clock, Logger: logger,
	})
	set.options.Metrics, err = telemetry.NewMetrics(telemetry.MetricsOptions{
		Version: "v-test", Readings: []telemetry.Reading{openRejects(set.options.Repository)}, Now: time.Now, Logger: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	ownMCP := set.options.MCP != nil
	if !ownMCP {
		set.options.MCP = mcpserver.NewHandler(mcpserver.Options{Repository: set.options.Repository, Now: clock, Version: "test", Logger: logger})
	}
	foreign := []string{"/"} // what a test serves in place of the table
	if ownMCP {
		foreign = append(foreign, "/mcp")
	}
	b.http = newClient(t, 64, foreign...)
	b.url = serve(t, set.handler(set.options), logger, set.server)
	return b
}

// openRejects is the number of refused deliveries that nobody has settled.
func openRejects(repository *sperr.Repository) telemetry.Reading {
	stats := func(ctx context.Context) (sperr.Stats, error) { return repository.Stats(ctx, werktag.BerlinDay(now)) }
	return telemetry.NewReading(stats, telemetry.Number[sperr.Stats]{
		Name: rejectsOpen, Help: "Open.", Of: func(s sperr.Stats) float64 { return float64(s.WebhookRejectsOffen) },
	})
}

func openPool(t *testing.T, size int) *pgxpool.Pool {
	t.Helper()
	if size == 0 {
		return postgrestest.New(t)
	}
	pool, err := postgres.Open(t.Context(), postgrestest.NewURL(t), postgres.Options{PoolSize: size, ApplicationName: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// serve runs handler under the limits of the service's own server.
func serve(t *testing.T, handler http.Handler, logger *slog.Logger, change func(*http.Server)) string {
	t.Helper()
	ts := httptest.NewUnstartedServer(nil)
	ts.Config = api.NewServer(handler, time.Minute, logger)
	change(ts.Config)
	ts.Start()
	t.Cleanup(ts.Close)
	return ts.URL
}

// count is a query for one number.
func (b *bench) count(t *testing.T, sql string) int {
	t.Helper()
	var n int
	if err := b.pool.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
