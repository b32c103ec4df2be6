// Package postgrestest gives each test a PostgreSQL database of its own: a
// fresh one, cloned from a migrated template, on a server that starts with the
// first test that asks and ends with the test binary. Where no server can be
// had the test fails; it never skips. The sandbox starts its server here too.
//
// SPERRD_TEST_DATABASE_URL names a server to use, for a role that may create
// databases; without it local binaries are used, else a container.
// SPERRD_TEST_POSTGRES=local or =docker asks for just that.
//
// The clusters it starts itself live in a time zone that nobody else does, so
// that a day taken from the database's clock shows up.
package postgrestest

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"sperrd/internal/postgres"
	"sperrd/migrations"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	poolSize = 8 // of New; many tests in parallel share the 200 connections of the server
	// oddTimezone is far from Berlin, on the other side of UTC's midnight.
	oddTimezone = "Pacific/Auckland"
	// cleanupTimeout bounds the wait for connections that a test never gave back.
	cleanupTimeout = 10 * time.Second
)

// shared is the one server of the test binary, and its template.
var shared struct {
	mu       sync.Mutex
	server   *Server
	err      error
	template string
}

// Run runs the tests and then stops the server; TestMain hands its result to
// os.Exit. A test binary without it works too: its cluster ends with it.
func Run(m *testing.M) int {
	code := m.Run()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server != nil {
		if err := shared.server.Stop(); err != nil {
			os.Stderr.WriteString("stop the test server: " + err.Error() + "\n")
			code = max(code, 1)
		}
	}
	return code
}

// New returns a pool on a migrated database that belongs to this test alone.
// Both are gone when the test is; a connection still in use by then fails it.
func New(t testing.TB) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.Open(t.Context(), NewURL(t), postgres.Options{PoolSize: poolSize, ApplicationName: "sperrd test"})
	if err != nil {
		t.Fatalf("open the test database: %v", err)
	}
	t.Cleanup(func() {
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			pool.Close() // waits for connections in use
		}()
		select {
		case <-closed:
		case <-time.After(cleanupTimeout):
			t.Errorf("the test did not give back %d connections", pool.Stat().AcquiredConns())
		}
	})
	return pool
}

// NewURL returns the URL of a migrated database that belongs to this test
// alone; it is dropped at its end, whoever is still connected.
func NewURL(t testing.TB) string {
	t.Helper()
	server, template := migrated(t)
	return newDatabase(t, server, template)
}

// NewEmptyURL is NewURL for a database without any schema.
func NewEmptyURL(t testing.TB) string {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	return newDatabase(t, start(t), "template0")
}

func newDatabase(t testing.TB, server *Server, template string) string {
	t.Helper()
	// Not the context of the test: its end would close the server's one session.
	name, err := server.createNew(context.Background(), template)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.drop(context.Background(), name); err != nil {
			t.Error(err)
		}
	})
	return withDatabase(server.role, name)
}

// start returns the shared server and starts it for the first test that asks.
// It does so under a context of its own: the server belongs to all tests. A
// start that failed is not tried again for each further test.
func start(t testing.TB) *Server {
	t.Helper()
	if shared.server == nil && shared.err == nil {
		opts := Options{Timezone: oddTimezone, Fast: true}
		if os.Getenv("SPERRD_TEST_POSTGRES") == "" {
			opts.URL = os.Getenv("SPERRD_TEST_DATABASE_URL")
		}
		shared.server, shared.err = StartServer(context.Background(), opts)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

// migrated returns the shared server and its template, which is made once.
func migrated(t testing.TB) (*Server, string) {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	server := start(t)
	if shared.template == "" {
		name, err := server.migratedTemplate(context.Background())
		if err != nil {
			shared.err = errors.Join(errors.New("make the template database"), err)
			t.Fatal(shared.err)
		}
		shared.template = name
	}
	return server, shared.template
}

func (s *Server) migratedTemplate(ctx context.Context) (string, error) {
	name, err := s.createNew(ctx, "template0")
	if err != nil {
		return "", err
	}
	if err := postgres.NewMigrator(withDatabase(s.role, name), migrations.FS, nil).Up(ctx); err != nil {
		return "", err
	}
	return name, s.seal(ctx, name)
}
