package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"sperrd/internal/config"
	"sperrd/internal/postgres"
	"sperrd/internal/werktag"
	"sperrd/migrations"
)

const (
	// Field reports up to maxSkew ahead of this machine's clock pass; a skew that
	// can be seen at all is worth a look.
	noticedSkew = 2 * time.Second
	maxSkew     = 30 * time.Second
	// lookTimeout bounds each look at the database, so that one that waits for a lock
	// leaves time to the others.
	lookTimeout = 5 * time.Second
	// oldestMajor is the oldest version of PostgreSQL that the migrations are written for.
	oldestMajor = 15
)

// database is a database that is looked at, over one connection.
type database struct {
	*findings
	pool   *pgxpool.Pool
	config *config.Config
	now    func() time.Time
}

// database looks at the server, then at what stands in it.
func (f *findings) database(ctx context.Context, cfg *config.Config, now func() time.Time) {
	pool, err := postgres.Open(ctx, cfg.Database.URL.Reveal(), postgres.Options{PoolSize: 1, ApplicationName: "sperrd check"})
	if err != nil {
		f.fail("database", err.Error()+"; what lives in it is not looked at", "check that it runs and that database.url is right")
		return
	}
	defer pool.Close()
	d := &database{findings: f, pool: pool, config: cfg, now: now}
	d.server(ctx)
	d.clock(ctx)
	d.zoneData(ctx)
	d.rights(ctx)
	if !d.schema(ctx) {
		return
	}
	d.tables(ctx)
	d.snapshot(ctx)
	d.work(ctx)
}

// look runs one look in a transaction that cannot write. A transaction leaves nothing
// behind on a connection that a pooler shares, as a setting of the session would. What
// fails is a finding, and does not keep the next look from its own.
func (d *database) look(ctx context.Context, what string, look func(ctx context.Context, tx pgx.Tx) error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	err := pgx.BeginTxFunc(ctx, d.pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error { return look(ctx, tx) })
	switch {
	case err == nil:
	case ctx.Err() != nil:
		d.fail(what, "not looked at in time: "+err.Error(), "look for locks and load in pg_stat_activity, then check once more")
	default:
		d.fail(what, err.Error(), "see the findings rights and schema, or the log of the database")
	}
}

// server looks at what a database must be like, whatever stands in it.
func (d *database) server(ctx context.Context) {
	d.look(ctx, "database", func(ctx context.Context, tx pgx.Tx) error {
		s, err := postgres.Describe(ctx, tx)
		if err != nil {
			return err
		}
		d.serverKind(s)
		d.connections(s)
		return nil
	})
}

// serverKind has a line for each fault; one for the version if there is none.
func (d *database) serverKind(s postgres.Server) {
	const what = "database"
	name, before := "PostgreSQL "+s.Version, len(d.list)
	if s.Major < oldestMajor {
		d.fail(what, name+" is too old", fmt.Sprintf("use %d or newer", oldestMajor))
	}
	switch {
	case s.Standby:
		d.fail(what, name+" is a standby, which takes no order", "let database.url name the primary, or several hosts with target_session_attrs=read-write")
	case s.ReadOnly:
		d.fail(what, name+" is read-only for this role and database", "reset default_transaction_read_only")
	}
	if s.Encoding != "UTF8" {
		d.fail(what, "its encoding is "+s.Encoding+", in which not every name and address can be stored", "create the database with ENCODING 'UTF8'")
	}
	if len(d.list) == before {
		d.ok(what, name)
	}
}

// connections compares what one process may open with what there is.
func (d *database) connections(s postgres.Server) {
	const what = "connections"
	text := fmt.Sprintf("the database has %d for this role, %d are in use by everybody; each sperrd opens up to %d and one more at its start",
		s.Available, s.Connections, d.config.Database.PoolSize)
	if d.config.Database.PoolSize+1 > s.Available {
		d.warn(what, text, "lower database.pool_size, or raise max_connections or the limit of the role")
		return
	}
	d.ok(what, text)
}

func (d *database) clock(ctx context.Context) {
	d.look(ctx, "clock", func(ctx context.Context, tx pgx.Tx) error {
		before := d.now()
		theirs, err := postgres.Clock(ctx, tx)
		if err != nil {
			return err
		}
		d.skew(theirs.Sub(before.Add(d.now().Sub(before) / 2)))
		return nil
	})
}

// skew judges how far the database's clock is ahead of this machine's. Leases run
// on the former, days and Fristen on the latter.
func (f *findings) skew(ahead time.Duration) {
	const what, todo = "clock", "synchronise both clocks (NTP)"
	text := fmt.Sprintf("%s between this machine and the database", ahead.Abs().Round(10*time.Millisecond))
	switch {
	case ahead.Abs() > maxSkew:
		f.fail(what, text, todo)
	case ahead.Abs() > noticedSkew:
		f.warn(what, text, todo)
	default:
		f.ok(what, text)
	}
}

func (d *database) zoneData(ctx context.Context) {
	d.look(ctx, "zone", func(ctx context.Context, tx pgx.Tx) error {
		samples := zoneSamples(werktag.FirstYear, werktag.LastYear)
		offsets, err := postgres.ZoneOffsets(ctx, tx, zoneName, samples)
		if err == nil {
			d.sameZone(samples, offsets)
		}
		return err
	})
}

// schema reports whether the tables are those that this version works with.
func (d *database) schema(ctx context.Context) (usable bool) {
	d.look(ctx, "schema", func(ctx context.Context, tx pgx.Tx) error {
		status, err := postgres.NewMigrator(d.config.Database.URL.Reveal(), migrations.FS, nil).StatusOn(ctx, tx.Conn())
		if err != nil {
			return err
		}
		d.version(status)
		usable = !status.Dirty && len(status.Pending) == 0
		return nil
	})
	if !usable {
		d.warn("queues", "not looked at, since the schema is not the one of this version", "bring the schema up to date, then check once more")
	}
	return usable
}

// version judges where the migrations stand.
func (f *findings) version(status postgres.Status) {
	const what = "schema"
	version := fmt.Sprintf("version %d", status.Version)
	switch {
	case status.Dirty:
		f.fail(what, version+" is marked dirty", dirtyAdvice)
	case status.Version > status.Newest:
		f.warn(what, version, newerAdvice)
	case len(status.Pending) > 0:
		f.warn(what, fmt.Sprintf("%s, and %d newer", version, len(status.Pending)),
			`"sperrd serve" and "sperrd migrate up" apply `+strings.Join(status.Pending, ", "))
	default:
		f.ok(what, version)
	}
}

// databaseTransport reports whether anything was to tell.
func (f *findings) databaseTransport(what string, cfg *config.Config) (told bool) {
	e, err := postgres.ReadEncryption(cfg.Database.URL.Reveal())
	switch {
	case err != nil:
		f.fail(what, "database.url: "+err.Error(), "correct it")
	case len(e.Plain) > 0:
		f.warn(what, "the database at "+strings.Join(e.Plain, ", ")+" may be reached without TLS: whoever sits between reads addresses",
			"add sslmode=verify-full to database.url")
	case len(e.Unverified) > 0:
		f.note(what, "the database at "+strings.Join(e.Unverified, ", ")+" is reached with TLS, but need not prove that it is the right one",
			"sslmode=verify-full in database.url demands that")
	default:
		return false
	}
	return true
}
