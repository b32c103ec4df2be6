package main

import (
	"context"
	"fmt"
	"io"

	"sperrd/internal/postgres"
	"sperrd/migrations"
)

// migrateCommand groups what can be done to the schema by hand.
type migrateCommand struct {
	Up     migrateUpCommand     `cmd:"" help:"Apply every pending migration, as serve does at its start."`
	Down   migrateDownCommand   `cmd:"" help:"Take the newest migration back, one and no more. Its data is lost."`
	Status migrateStatusCommand `cmd:"" help:"Show the version of the schema and what is pending."`
}

type (
	migrateUpCommand     struct{}
	migrateDownCommand   struct{}
	migrateStatusCommand struct{}
)

// Run applies every pending migration and prints where the schema stands.
func (migrateUpCommand) Run(ctx context.Context, p *process) error {
	return p.migrate(ctx, (*postgres.Migrator).Up)
}

// Run takes the newest migration back and prints where the schema stands.
func (migrateDownCommand) Run(ctx context.Context, p *process) error {
	return p.migrate(ctx, (*postgres.Migrator).Down)
}

// Run prints where the schema stands.
func (migrateStatusCommand) Run(ctx context.Context, p *process) error {
	return p.migrate(ctx, func(*postgres.Migrator, context.Context) error { return nil })
}

func (p process) migrate(ctx context.Context, change func(*postgres.Migrator, context.Context) error) error {
	cfg, logger, err := p.load()
	if err != nil {
		return err
	}
	migrator := postgres.NewMigrator(cfg.Database.URL.Reveal(), migrations.FS, logger)
	if err := change(migrator, ctx); err != nil {
		return databaseError(err)
	}
	status, err := migrator.Status(ctx)
	if err != nil {
		return databaseError(err)
	}
	return printStatus(p.stdout, status)
}

// printStatus prints a line for each fact.
func printStatus(out io.Writer, status postgres.Status) error {
	lines := fmt.Sprintf("schema version %d\nnewest known version %d\n", status.Version, status.Newest)
	if status.Dirty {
		lines += "dirty: " + dirtyAdvice + "\n"
	}
	if status.Version > status.Newest {
		lines += "newer: " + newerAdvice + "\n"
	}
	for _, file := range status.Pending {
		lines += "pending " + file + "\n"
	}
	_, err := io.WriteString(out, lines)
	return err
}

const (
	dirtyAdvice = "a migration is running at this moment, or one was killed half-way: " +
		"\"sperrd migrate up\" waits for the former and says how to repair the latter"
	newerAdvice = "the schema is newer than this version of sperrd, which serves it as it is"
)
