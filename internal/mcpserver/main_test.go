package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sperrd/internal/makod"
	"sperrd/internal/makod/makodtest"
	"sperrd/internal/mcpserver"
	"sperrd/internal/postgres/postgrestest"
	"sperrd/internal/sperr"
	"sperrd/internal/werktag"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { os.Exit(postgrestest.Run(m)) }

const (
	tenant    = "9900357000004"
	other     = "9900012345678"
	malo      = "51238696012"
	otherMalo = "51238696781"
	lf        = "9900012345678"
)

// now is Thursday 2026-09-03, 10:00 in Berlin.
var today = werktag.NewDate(2026, time.September, 3)

var now = time.Date(2026, 9, 3, 8, 0, 0, 0, time.UTC)

func clock() time.Time { return now }

// bench is one replica behind real HTTP, with its database and a simulated makod.
type bench struct {
	pool    *pgxpool.Pool
	service *sperr.Service
	makod   *makodtest.Server
	log     *logBuffer
	options mcpserver.Options
	url     string
}

func newBench(t *testing.T, changes ...func(*mcpserver.Options)) *bench {
	t.Helper()
	return newBenchOn(t, postgrestest.New(t), tenant, changes...)
}

func newBenchOn(t *testing.T, pool *pgxpool.Pool, tenant string, changes ...func(*mcpserver.Options)) *bench {
	t.Helper()
	b := &bench{pool: pool, log: &logBuffer{}}
	logger := slog.New(slog.NewJSONHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.makod = makodtest.New(makodtest.Options{APIKey: "key", Now: clock})
	client, err := makod.NewClient(b.makod.Start(t), "key", 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	repository := sperr.NewRepository(pool, tenant, 8)
	b.service = sperr.NewService(pool, repository, client, sperr.Options{
		Calendar: werktag.BDEW(), PruefschrittCheck: sperr.PruefschrittRefuse,
		RequestTimeout: 10 * time.Second, Lease: 60 * time.Second, FirstBackoff: 30 * time.Second, MaxBackoff: 2 * time.Hour,
		Now: clock, Logger: slog.New(slog.DiscardHandler),
	})
	b.options = mcpserver.Options{Repository: repository, Now: clock, Version: "v1.2.3", Logger: logger}
	for _, change := range changes {
		change(&b.options)
	}
	b.url = b.serve(t)
	return b
}

// serve starts one more replica, which logs into the same buffer.
func (b *bench) serve(t *testing.T) string {
	t.Helper()
	ts := httptest.NewServer(mcpserver.NewHandler(b.options))
	t.Cleanup(ts.Close)
	return ts.URL
}

// connect is a session of the SDK's own client.
func connect(t *testing.T, url string) *mcp.ClientSession {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: transport}, MaxRetries: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// market queues an order of the market. Its process is spawned in makod, unless the
// Marktlokation has an open one already: makod then refuses the outcome.
func (b *bench) market(t *testing.T, pid int, malo string, data map[string]any) sperr.Order {
	t.Helper()
	members := map[string]any{"pid": pid, "malo_id": malo, "lf_mp_id": lf}
	if pid == 17115 {
		members["fruehestens_am"] = "2026-09-01"
	} else {
		members["arbeitszeit"] = "Z53"
	}
	for name, value := range data {
		if members[name] = value; value == nil {
			delete(members, name)
		}
	}
	e := event.New()
	e.SetID(uuid.NewString())
	e.SetType("de.mako.process.initiated")
	e.SetSource("urn:mako:makod:tenant:f521f352-7cef-5322-a675-743e63cef514")
	e.SetSubject(uuid.NewString())
	e.SetTime(now.Add(-time.Minute))
	e.SetExtension("makopid", pid)
	e.SetExtension("makoworkflow", "gpke-sperrung")
	if err := e.SetData(event.ApplicationJSON, members); err != nil {
		t.Fatal(err)
	}
	_, _ = b.makod.Spawn(makodtest.Process{ID: e.Subject(), MaloID: malo, PID: pid})
	receipt, err := b.service.Receive(t.Context(), "", e)
	if err != nil || receipt.Kind != sperr.ReceiptQueued {
		t.Fatalf("receipt %+v, error %v, want a queued order", receipt, err)
	}
	return b.get(t, receipt.OrderID)
}

// create queues an operator's order.
func (b *bench) create(t *testing.T, n sperr.NewOrder) sperr.Order {
	t.Helper()
	if n.MaloID == "" {
		n.MaloID = malo
	}
	n.LieferantID = lf
	created, err := b.service.Create(t.Context(), sperr.Call{Actor: "operator"}, n)
	if err != nil {
		t.Fatal(err)
	}
	return created.Order
}

func (b *bench) get(t *testing.T, id uuid.UUID) sperr.Order {
	t.Helper()
	order, err := b.options.Repository.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return order
}

func (b *bench) execute(t *testing.T, id uuid.UUID) {
	t.Helper()
	if _, err := b.service.Execute(t.Context(), sperr.Call{Actor: "team"}, id, sperr.ExecuteReport{}); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := b.pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// logBuffer is a log that a test reads.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// calls are the lines of calls, oldest first.
func (l *logBuffer) calls(t *testing.T) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for line := range strings.Lines(l.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("log line %q: %v", line, err)
		}
		if fields["msg"] == "mcp call" {
			lines = append(lines, fields)
		}
	}
	return lines
}
