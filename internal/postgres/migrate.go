package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"time"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/jackc/pgx/v5"
)

// defaultLockTimeout is long enough for another replica to finish a migration.
const defaultLockTimeout = 60 * time.Second

// Migrator brings the schema of one database up to date with golang-migrate,
// under the advisory lock that golang-migrate itself takes, so that any number
// of replicas and its own command may start at once.
//
// Each file runs in one transaction, in which the mark "dirty" of
// schema_migrations is cleared too: a file has either happened or it has not. A
// file therefore must not commit by itself. The lock belongs to a session: the
// URL must not lead through a pooler in transaction mode.
type Migrator struct {
	// LockTimeout bounds the wait for the migration lock, and within a file that
	// says nothing else each wait for a lock on a table. NewMigrator sets 60 s.
	LockTimeout time.Duration

	url    string
	fsys   fs.FS
	logger *slog.Logger
}

// NewMigrator returns a Migrator for the database at url with the files
// NNNN_title.up.sql and NNNN_title.down.sql at the top of fsys. It does not
// connect yet. A nil logger is silent.
func NewMigrator(url string, fsys fs.FS, logger *slog.Logger) *Migrator {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Migrator{LockTimeout: defaultLockTimeout, url: url, fsys: fsys, logger: logger}
}

// Up applies every pending migration. A schema newer than the files is logged
// and left alone, since an old replica may start again while a new version is
// rolled out. A migration that was killed half-way is a *DirtyError.
//
// A cancelled ctx ends every wait for a lock, which undoes the file that waits,
// and stops between two files; a file that works is finished.
func (m *Migrator) Up(ctx context.Context) error {
	files, err := readFiles(m.fsys)
	if err != nil {
		return err
	}
	return m.locked(ctx, files, func(s *session) error {
		if s.version > files.newest() {
			m.logger.Warn("the schema is newer than this version of sperrd; it is used as it is",
				"schema", s.version, "known", files.newest())
			return nil
		}
		for _, file := range files.after(s.version) {
			if err := m.step(ctx, s, file.up, 1); err != nil {
				return err
			}
		}
		return nil
	})
}

// Down takes back the newest applied migration, one step and no more; with none
// applied it does nothing. It refuses a schema that is newer than the files.
// ctx counts as in Up.
func (m *Migrator) Down(ctx context.Context) error {
	files, err := readFiles(m.fsys)
	if err != nil {
		return err
	}
	return m.locked(ctx, files, func(s *session) error {
		if s.version == 0 {
			m.logger.Info("no migration is applied, nothing to take back")
			return nil
		}
		file, known := files.find(s.version)
		if !known || file.down == "" {
			return fmt.Errorf("take back migration %d: this version of sperrd has no file for it, use the version that applied it", s.version)
		}
		return m.step(ctx, s, file.down, -1)
	})
}

// step runs one file. When the file fails, its transaction has undone it and
// the mark is set back, so that the next start simply tries again; only a lost
// connection or a killed process leaves the mark behind.
func (m *Migrator) step(ctx context.Context, s *session, file string, direction int) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("stopped before migration %s: %w", file, err)
	}
	before, _, err := s.driver.Version()
	if err != nil {
		return fmt.Errorf("read the schema version: %w", cause(err))
	}
	defer context.AfterFunc(ctx, func() { m.endWait(s.pid) })()
	start := time.Now()
	if err := s.migrate.Steps(direction); err != nil {
		if _, dirty, versionErr := s.driver.Version(); versionErr == nil && dirty {
			err = errors.Join(cause(err), s.driver.SetVersion(before, false))
		}
		return fmt.Errorf("migration %s: %w", file, cause(err))
	}
	m.logger.Info("migration applied", "file", file, "duration", time.Since(start))
	return nil
}

// endWait ends what the session of a migration waits for: whoever stops a process kills
// it when that takes too long, and then the mark stays. A session that works is left alone.
func (m *Migrator) endWait(pid uint32) {
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	config, err := m.connConfig()
	if err != nil {
		return // it was good a moment ago
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err == nil {
		_, err = conn.Exec(ctx, `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND wait_event_type IN ('Lock', 'Timeout')`, pid)
		_ = conn.Close(ctx)
	}
	if err != nil {
		m.logger.Warn("the migration under way could not be stopped; it ends by itself", "error", err)
	}
}

// cause takes golang-migrate's error apart, which hides the error of the
// database from errors.As and quotes the whole file. A failed file comes as a
// value and before the pointer that a failed unlock is.
func cause(err error) error {
	var value database.Error
	var pointer *database.Error
	switch {
	case errors.As(err, &value):
	case errors.As(err, &pointer):
		value = *pointer
	default:
		return err
	}
	if value.OrigErr == nil {
		return err
	}
	if value.Line > 0 && strings.Contains(value.Err, "migration failed") {
		return fmt.Errorf("line %d: %w", value.Line, value.OrigErr)
	}
	return value.OrigErr
}
