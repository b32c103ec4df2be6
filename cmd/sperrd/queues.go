package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"sperrd/internal/config"
	"sperrd/internal/postgres"
	"sperrd/internal/sperr"
	"sperrd/migrations"
)

// queues is what the commands on the two queues work with: the database as it
// stands. They send nothing themselves; a sperrd that serves finds what they change.
type queues struct {
	config     *config.Config
	pool       *pgxpool.Pool
	repository *sperr.Repository
	service    *sperr.Service
	out        io.Writer
}

// openQueues needs the whole configuration, so that it stands for the same sperrd
// that serves with it. The caller closes the pool.
func (p process) openQueues(ctx context.Context) (*queues, error) {
	cfg, logger, err := p.load()
	if err != nil {
		return nil, err
	}
	url := cfg.Database.URL.Reveal()
	status, err := postgres.NewMigrator(url, migrations.FS, logger).Status(ctx)
	if err != nil {
		return nil, databaseError(err)
	}
	if err := usable(status); err != nil {
		return nil, databaseError(err)
	}
	pool, err := postgres.Open(ctx, url, postgres.Options{PoolSize: 2, ApplicationName: "sperrd command"})
	if err != nil {
		return nil, databaseError(err)
	}
	repository := sperr.NewRepository(pool, cfg.Tenant, cfg.IFTSTA.MaxAttempts)
	service := sperr.NewService(pool, repository, nil, sperr.Options{Now: p.now, Logger: logger})
	return &queues{config: cfg, pool: pool, repository: repository, service: service, out: p.stdout}, nil
}

// usable says why a command cannot work with the schema, which it does not change.
func usable(status postgres.Status) error {
	switch {
	case status.Dirty:
		return fmt.Errorf("its schema is at version %d: %s", status.Version, dirtyAdvice)
	case len(status.Pending) > 0:
		return fmt.Errorf("its schema is at version %d and this sperrd needs %d: \"sperrd serve\" and \"sperrd migrate up\" apply %s",
			status.Version, status.Newest, strings.Join(status.Pending, ", "))
	default:
		return nil
	}
}

// queueError is a failure that has nothing to do with a single order or event: a
// reason that does not fit, or the database.
func queueError(err error) error {
	var invalid *sperr.ValidationError
	if errors.As(err, &invalid) {
		return usageError{fmt.Errorf("--reason: %w", err)}
	}
	return databaseError(err)
}

// parseOrderID reads an id in the form that the lists and the REST interface give it;
// uuid.Parse takes others too.
func parseOrderID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != len(uuid.Nil.String()) {
		return uuid.Nil, fmt.Errorf("%q is no id of an order", text)
	}
	return id, nil
}

// lineLimit is how many rows a list shows, at most.
type lineLimit int

const maxLines = 10000

// Validate bounds what one call reads into memory.
func (l lineLimit) Validate() error {
	if l < 1 || l > maxLines {
		return fmt.Errorf("must be 1 to %d", maxLines)
	}
	return nil
}

// table prints aligned columns, one line a row, and says when there is more.
type table struct {
	header string // columns separated by tabs
	rows   [][]string
	more   bool
}

func (t table) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, t.header)
	for _, row := range t.rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if !t.more {
		return nil
	}
	_, err := fmt.Fprintln(out, "and more: a higher --limit shows them")
	return err
}

// maxCell bounds a text of somebody else in a table, in characters.
const maxCell = 160

// cell makes a text of somebody else fit for a line on a terminal, which obeys some
// characters that do not print.
func cell(text string) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, oneLine(text)))
	if len(runes) > maxCell {
		return string(runes[:maxCell-1]) + "…"
	}
	return string(runes)
}

// printableText is cell for a text that is shown whole.
func printableText(text *string) string {
	if text == nil {
		return none
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && r != '\n' {
			return '\uFFFD'
		}
		return r
	}, *text)
}

// none stands in a cell for what there is not.
const none = "-"

func textCell(text *string) string {
	if text == nil || *text == "" {
		return none
	}
	return cell(*text)
}

func timeCell(at *time.Time) string {
	if at == nil {
		return none
	}
	return at.UTC().Format(time.RFC3339)
}
