package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
)

// URL is the URL of the database of the run, for a role that owns it.
func (s *Server) URL() string { return withDatabase(s.role, s.database) }

// AdminURL is the URL of the server for a role that may create databases; on a
// private cluster and in a container that is a superuser.
func (s *Server) AdminURL() string { return s.admin.String() }

// Stop drops what was made on a server that existed before, or ends a server of
// our own, together with all connections to it. A second call does nothing.
func (s *Server) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.conn != nil {
		if s.halt == nil {
			err = s.dropAll(ctx)
		}
		err = errors.Join(err, s.conn.Close(ctx))
		s.conn = nil
	}
	if s.halt != nil {
		err = errors.Join(err, s.halt())
		s.halt = nil
	}
	return err
}

// dropAll drops every database of this run on a server that stays. The prefix
// holds a random part, so that none of somebody else's can match.
func (s *Server) dropAll(ctx context.Context) error {
	rows, err := s.conn.Query(ctx, "SELECT datname FROM pg_database WHERE starts_with(datname, $1)", s.run)
	if err != nil {
		return fmt.Errorf("list the test databases: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("list the test databases: %w", err)
	}
	for _, name := range names {
		err = errors.Join(err, s.dropLocked(ctx, name))
	}
	return err
}

// createNew makes a database of its own name and returns that name.
func (s *Server) createNew(ctx context.Context, template string) (string, error) {
	s.mu.Lock()
	s.made++
	name := fmt.Sprintf("%s_%d", s.run, s.made)
	s.mu.Unlock()
	return name, s.create(ctx, name, template)
}

// create makes a database from a template. PostgreSQL refuses to copy a
// template that anybody is connected to, and copies at the speed of one disk:
// one at a time loses nothing.
func (s *Server) create(ctx context.Context, name, template string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return errors.New("the test server is stopped")
	}
	statement := "CREATE DATABASE " + quote(name) + " TEMPLATE " + quote(template)
	if user := s.role.User.Username(); user != "" {
		statement += " OWNER " + quote(user)
	}
	if _, err := s.conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("create the test database: %w", err)
	}
	return nil
}

// drop removes a database together with the sessions that are still in it.
func (s *Server) drop(ctx context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return nil // dropped by Stop, or gone with the server
	}
	return s.dropLocked(ctx, name)
}

func (s *Server) dropLocked(ctx context.Context, name string) error {
	if _, err := s.conn.Exec(ctx, "DROP DATABASE IF EXISTS "+quote(name)+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("drop the test database: %w", err)
	}
	return nil
}

// seal keeps everybody, autovacuum too, out of a database, so that it can be a
// template at any moment.
func (s *Server) seal(ctx context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.conn.Exec(ctx, "ALTER DATABASE "+quote(name)+" ALLOW_CONNECTIONS false"); err != nil {
		return fmt.Errorf("seal the template database: %w", err)
	}
	return nil
}

// connect opens the session that creates and drops databases.
func (s *Server) connect(ctx context.Context) error {
	config, err := pgx.ParseConfig(s.admin.String())
	if err != nil {
		return errors.New("the URL of the test server cannot be used") // the error may quote a password
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	config.ConnectTimeout = 10 * time.Second
	config.RuntimeParams["application_name"] = "sperrd test server"
	s.conn, err = pgx.ConnectConfig(ctx, config)
	return err
}

// withDatabase is the same URL for another database.
func withDatabase(base *url.URL, name string) string {
	changed := *base
	changed.Path = "/" + name
	return changed.String()
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
