// Package postgres opens the PostgreSQL database in which the service keeps all
// of its state, brings its schema up to date and tells trouble of the database
// from mistakes in a statement. It knows no table of the service and never
// quotes a database URL, which holds a password, in an error or a log line.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/trace"
)

const (
	// openTimeout bounds the one round trip that Open makes.
	openTimeout = 10 * time.Second
	// connectTimeout bounds one attempt to connect, unless the URL sets connect_timeout.
	connectTimeout = 5 * time.Second
	// pingTimeout bounds the check of an idle connection whose peer may have vanished without a word.
	pingTimeout = 5 * time.Second
)

// Options are the settings of Open that do not stand in the URL.
type Options struct {
	PoolSize        int    // most connections at one time; 0 leaves it to the URL (pool_max_conns) or pgx
	ApplicationName string // shown in pg_stat_activity; "sperrd" when empty
	// Traces makes a span of each statement within a span; nil: none. A statement is
	// shown without its values.
	Traces trace.TracerProvider
}

// Open connects to the database at url and returns the pool once one round trip
// has succeeded; the caller closes it. A database that does not answer within
// ten seconds is an error for which IsUnavailable holds.
//
// Every connection ends a statement after 10 s, a wait for a lock after 5 s and
// a transaction that idles after 15 s, and works in UTC and at the isolation level
// read committed, whatever the server's defaults. A timeout or application_name
// given in the URL goes before.
func Open(ctx context.Context, url string, opts Options) (*pgxpool.Pool, error) {
	config, err := parseConfig(url)
	if err != nil {
		return nil, err
	}
	if opts.PoolSize > 0 {
		config.MaxConns = int32(min(opts.PoolSize, math.MaxInt32))
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	config.PingTimeout = pingTimeout
	setDefaults(config.ConnConfig.RuntimeParams, map[string]string{
		"application_name":                    cmp.Or(opts.ApplicationName, "sperrd"),
		"statement_timeout":                   "10s",
		"lock_timeout":                        "5s",
		"idle_in_transaction_session_timeout": "15s",
	})
	config.AfterConnect = scanInUTC
	if opts.Traces != nil {
		config.ConnConfig.Tracer = otelpgx.NewTracer(otelpgx.WithTracerProvider(opts.Traces),
			otelpgx.WithDisableConnectionDetailsInAttributes(), otelpgx.WithDisableAcquireTracer())
	}

	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return pool, nil
}

// scanInUTC reads instants in UTC, whatever the zone of this process, so that what
// is shown to others does not depend on where it runs.
func scanInUTC(_ context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
	return nil
}

// setDefaults adds to the start-up parameters of a connection what the URL does
// not set. Time zone and isolation level are not the operator's to choose: instants
// are UTC.
func setDefaults(params, defaults map[string]string) {
	for name, value := range defaults {
		if _, given := params[name]; !given {
			params[name] = value
		}
	}
	params["timezone"] = "UTC"
	// Guarded updates rely on seeing what others have committed; a stricter level set
	// for the database would make them fail instead.
	params["default_transaction_isolation"] = "read committed"
}

// CheckURL says, without connecting, why a database URL is refused. The error never
// shows the password.
func CheckURL(url string) error {
	_, err := parseConfig(url)
	return err
}

func parseConfig(rawURL string) (*pgxpool.Config, error) {
	if err := checkSplit(rawURL); err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(rawURL)
	if err != nil {
		return nil, parseError(rawURL, err)
	}
	return config, nil
}

// parseError says what pgx finds wrong with a URL that checkSplit lets pass, unless
// those words quote the password.
func parseError(rawURL string, err error) error {
	parsed, urlErr := url.Parse(rawURL)
	reason := errors.Unwrap(err)
	if urlErr != nil || reason == nil {
		return errURL
	}
	password, _ := parsed.User.Password()
	_, escaped, _ := strings.Cut(parsed.User.String(), ":")
	for _, secret := range []string{password, escaped} {
		if secret != "" && strings.Contains(reason.Error(), secret) {
			return errURL
		}
	}
	return fmt.Errorf("the database URL cannot be used: %w", reason)
}

var errURL = errors.New("the database URL cannot be used: it must read " +
	"postgres://user:password@host:port/database?parameter=value, with special characters in the password " +
	"percent-encoded, and with parameters that PostgreSQL knows")

// checkSplit refuses whatever could be split inside its password: in
// postgres://user:1/2@host/db the database is "2@host/db", in
// postgres://user:1@2@host/db the host is "2@host", and an error about either would
// show half of the password. Another scheme is taken for a list of keywords.
func checkSplit(rawURL string) error {
	rest, isURL := strings.CutPrefix(rawURL, "postgres://")
	if !isURL {
		rest, isURL = strings.CutPrefix(rawURL, "postgresql://")
	}
	at := strings.LastIndex(rest, "@")
	if !isURL || strings.Count(rest, "@") > 1 || at >= 0 && strings.ContainsAny(rest[:at], "/#?") {
		return errURL
	}
	return nil
}
