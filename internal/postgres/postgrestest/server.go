package postgrestest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// startTimeout bounds the start of a server that is already on this machine.
	startTimeout = 30 * time.Second
	// superuser administers the servers this package starts itself.
	superuser = "postgres"
	// owner is the role that the URLs it hands out belong to: like the role of a
	// real service it owns its database and is no superuser.
	owner = "sperrd"
)

// Options say what kind of server StartServer looks for. The zero value is a
// private throw-away cluster.
type Options struct {
	// URL of a server that exists already, as postgres://…, for a role that may
	// create databases. A new database is made on it and dropped by Stop. The
	// other options except Log do not apply then.
	URL string
	// DataDir keeps the data of a local cluster from run to run; it is made if
	// it does not exist. Empty: a temporary folder. A container keeps nothing.
	DataDir string
	// Port on 127.0.0.1, with a password made anew at each start. 0: only a Unix
	// socket in a folder that nobody else may enter (a container takes any port).
	Port int
	// Timezone of the server, UTC when empty.
	Timezone string
	// Fast gives up all safety against a crash of the machine, for tests.
	Fast bool
	// Log receives a line of progress where starting takes its time. May be nil.
	Log func(line string)
}

// Server is a running PostgreSQL with one database for the run. Its methods are
// safe for concurrent use.
type Server struct {
	admin    *url.URL     // for a role that may create databases
	role     *url.URL     // for the role the databases belong to
	database string       // name of the database of the run
	run      string       // prefix of the names of all other databases
	halt     func() error // ends the server itself; nil if it was there before

	mu   sync.Mutex // one CREATE or DROP DATABASE at a time
	conn *pgx.Conn
	made int
}

// StartServer finds a PostgreSQL: the one at Options.URL, else local binaries
// (PATH, then the usual folders, newest first), else a container.
// SPERRD_TEST_POSTGRES=local or =docker allows only that one of the latter two.
// The error names the three ways when none is open. The caller must Stop the
// server; a private cluster ends by itself when this process dies.
func StartServer(ctx context.Context, opts Options) (*Server, error) {
	if opts.Log == nil {
		opts.Log = func(string) {}
	}
	if opts.URL != "" {
		return useServer(ctx, opts.URL)
	}
	starters := map[string][]func(context.Context, Options) (*Server, error){
		"":       {startCluster, startContainer},
		"local":  {startCluster},
		"docker": {startContainer},
	}
	only := os.Getenv("SPERRD_TEST_POSTGRES")
	allowed, known := starters[only]
	if !known {
		return nil, fmt.Errorf("SPERRD_TEST_POSTGRES is %q, it may be local or docker", only)
	}
	var failures []string
	for _, start := range allowed {
		server, err := start(ctx, opts)
		if err == nil {
			err = server.prepare(ctx)
		}
		if err == nil {
			return server, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("start PostgreSQL: %w", err)
		}
		failures = append(failures, err.Error())
	}
	return nil, errors.New("no PostgreSQL to be had (" + strings.Join(failures, "; ") + "). One of three ways is needed:\n" +
		"  1. a server on which databases may be created: SPERRD_TEST_DATABASE_URL=postgres://user:password@host:port/database\n" +
		"  2. the binaries initdb and postgres, on PATH or in /usr/lib/postgresql/*/bin: " +
		"apt-get install postgresql, or brew install postgresql@17\n" +
		"  3. a running Docker engine")
}

// useServer makes a database for the run on a server that exists already.
func useServer(ctx context.Context, rawURL string) (*Server, error) {
	admin, err := url.Parse(rawURL)
	if err != nil || admin.Scheme != "postgres" && admin.Scheme != "postgresql" {
		return nil, errors.New("the URL of the test server must read postgres://user:password@host:port/database") // it holds a password: not quoted
	}
	s := &Server{admin: admin, role: admin}
	s.run = "sperrd_test_" + time.Now().UTC().Format("20060102t150405") + "_" + strings.ToLower(rand.Text()[:8])
	s.database = s.run
	if err := s.connect(ctx); err != nil {
		return nil, fmt.Errorf("use the given test server: %w", err)
	}
	if err := s.create(ctx, s.database, "template0"); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// prepare makes role and database of the run on a server of our own; both may
// be there from an earlier run.
func (s *Server) prepare(ctx context.Context) error {
	s.database, s.run = owner, "t"
	err := s.connect(ctx)
	if err == nil {
		err = s.createRole(ctx)
	}
	var exists bool
	if err == nil {
		err = s.conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", s.database).Scan(&exists)
	}
	if err == nil && !exists {
		err = s.create(ctx, s.database, "template0")
	}
	if err != nil {
		return errors.Join(fmt.Errorf("prepare the test server: %w", err), s.Stop())
	}
	return nil
}

// createRole makes the owner of the databases, or gives it the password of
// this run.
func (s *Server) createRole(ctx context.Context) error {
	var exists bool
	if err := s.conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", owner).Scan(&exists); err != nil {
		return err
	}
	verb := "CREATE"
	if exists {
		verb = "ALTER"
	}
	statement := verb + " ROLE " + owner + " LOGIN"
	if password, given := s.role.User.Password(); given {
		statement += " PASSWORD '" + password + "'" // rand.Text: letters and digits only
	}
	_, err := s.conn.Exec(ctx, statement)
	return err
}
