package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
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
	b := &bench{log: &logBuffer{}, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	t.Cleanup(b.http.CloseIdleConnections)
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
	set.options.Metrics = telemetry.NewMetrics(telemetry.MetricsOptions{
		Version: "v-test", OpenRejects: set.options.Repository.OpenRejects, Logger: logger,
	})
	if set.options.MCP == nil {
		set.options.MCP = mcpserver.NewHandler(mcpserver.Options{Repository: set.options.Repository, Now: clock, Version: "test", Logger: logger})
	}
	b.url = serve(t, set.handler(set.options), logger, set.server)
	return b
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

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// call sends one request; header lines are name and value in turn, and a body is
// application/json unless they say otherwise.
func (b *bench) call(t *testing.T, method, path, body string, header ...string) answer {
	t.Helper()
	h := http.Header{}
	if body != "" {
		h.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		h[http.CanonicalHeaderKey(header[i])] = []string{header[i+1]}
	}
	return b.send(t, method, path, strings.NewReader(body), h)
}

func (b *bench) send(t *testing.T, method, path string, body io.Reader, header http.Header) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, b.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	response, err := b.http.Do(r)
	if err != nil {
		t.Error(err)
		return answer{}
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return answer{response.StatusCode, response.Header, raw}
}

func (b *bench) get(t *testing.T, path string) answer {
	t.Helper()
	return b.call(t, http.MethodGet, path, "")
}

// decode reads the body of an answer that must have the status.
func decode[T any](t *testing.T, a answer, status int) T {
	t.Helper()
	var v T
	wantStatus(t, a, status)
	if err := json.Unmarshal(a.body, &v); err != nil {
		t.Errorf("body %s: %v", a.body, err)
	}
	return v
}

func wantStatus(t *testing.T, a answer, status int) {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d; body %s", a.status, status, a.body)
	}
}

// problem is a problem document with the members all have in common.
type problem struct {
	Type, Title, Detail, Code string
	Status                    int
	Errors                    []struct{ Field, Reason string }
}

// wantProblem fails unless a is the problem, at fault with exactly the fields.
func wantProblem(t *testing.T, a answer, status int, code string, fields ...string) problem {
	t.Helper()
	p := decode[problem](t, a, status)
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("content type %q, want application/problem+json", got)
	}
	if p.Code != code || p.Status != status || p.Type != "urn:sperrd:problem:"+code || p.Title == "" || p.Detail == "" {
		t.Errorf("problem %s, want code %s and status %d with title and detail", a.body, code, status)
	}
	var named []string
	for _, e := range p.Errors {
		named = append(named, e.Field)
		if e.Reason == "" {
			t.Errorf("field %s has no reason", e.Field)
		}
	}
	if strings.Join(named, " ") != strings.Join(fields, " ") {
		t.Errorf("fields at fault %q, want %q; body %s", named, fields, a.body)
	}
	return p
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

// logBuffer is a log that a test reads.
type logBuffer struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	changed chan struct{} // closed by the next line; nil while nobody waits
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// await waits for text to stand in the log.
func (l *logBuffer) await(t *testing.T, text string) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		l.mu.Lock()
		found := strings.Contains(l.buf.String(), text)
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		changed := l.changed
		l.mu.Unlock()
		if found {
			return
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("the log does not say %s:\n%s", text, l)
		}
	}
}

// requests are the lines of requests, oldest first.
func (l *logBuffer) requests(t *testing.T) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for line := range strings.Lines(l.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("log line %q: %v", line, err)
		}
		if fields["msg"] == "request" {
			lines = append(lines, fields)
		}
	}
	return lines
}
