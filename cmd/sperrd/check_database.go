package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"sperrd/internal/config"
	"sperrd/internal/postgres"
	"sperrd/migrations"
)

const (
	// Field reports up to maxSkew ahead of this machine's clock pass; a skew that
	// can be seen at all is worth a look.
	noticedSkew = 2 * time.Second
	maxSkew     = 30 * time.Second
)

func (f *findings) database(ctx context.Context, cfg *config.Config, now func() time.Time) {
	const what = "database"
	url := cfg.Database.URL.Reveal()
	pool, err := postgres.Open(ctx, url, postgres.Options{PoolSize: 1, ApplicationName: "sperrd check"})
	if err != nil {
		f.fail(what, "check that it runs and that database.url is right: "+err.Error())
		return
	}
	defer pool.Close()
	f.server(ctx, pool, now)
	status, err := postgres.NewMigrator(url, migrations.FS, nil).Status(ctx)
	if err != nil {
		f.fail("schema", err.Error())
		return
	}
	f.schema(status)
	if status.Version >= status.Newest && !status.Dirty {
		f.outbox(ctx, pool, cfg)
	}
}

// server looks at the version, the role and the clock of the server.
func (f *findings) server(ctx context.Context, pool *pgxpool.Pool, now func() time.Time) {
	const what = "database"
	var version string
	var readOnly bool
	var theirs time.Time
	before := now()
	err := pool.QueryRow(ctx, `
		SELECT current_setting('server_version'), current_setting('transaction_read_only')::boolean, clock_timestamp()
		`).Scan(&version, &readOnly, &theirs)
	after := now()
	switch {
	case err != nil:
		f.fail(what, err.Error())
		return
	case readOnly:
		f.fail(what, "PostgreSQL "+version+" is read-only: let database.url name the primary")
	default:
		f.ok(what, "PostgreSQL "+version)
	}
	f.skew(theirs.Sub(before.Add(after.Sub(before) / 2)))
}

// skew judges how far the database's clock is ahead of this machine's. Leases run
// on the former, days and Fristen on the latter.
func (f *findings) skew(ahead time.Duration) {
	const what = "clock"
	text := fmt.Sprintf("%s between this machine and the database", ahead.Abs().Round(10*time.Millisecond))
	switch {
	case ahead.Abs() > maxSkew:
		f.fail(what, text+": synchronise both clocks (NTP)")
	case ahead.Abs() > noticedSkew:
		f.warn(what, text+": synchronise both clocks (NTP)")
	default:
		f.ok(what, text)
	}
}

func (f *findings) schema(status postgres.Status) {
	const what = "schema"
	version := fmt.Sprintf("version %d", status.Version)
	switch {
	case status.Dirty:
		f.fail(what, version+": "+dirtyAdvice)
	case status.Version > status.Newest:
		f.warn(what, version+": "+newerAdvice)
	case len(status.Pending) > 0:
		f.warn(what, fmt.Sprintf("%s, and %d newer: \"sperrd serve\" and \"sperrd migrate up\" apply %s",
			version, len(status.Pending), strings.Join(status.Pending, ", ")))
	default:
		f.ok(what, version)
	}
}
