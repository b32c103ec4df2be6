package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a server with the database and the role on it that a URL leads to.
type Server struct {
	Version  string // in words
	Major    int
	Encoding string // of the database
	Standby  bool
	ReadOnly bool // transactions of this role in this database cannot write unless they say so

	Role      string
	ReadStats bool   // sees what the sessions of other roles do
	Schema    string // in which tables are made and found first; empty: there is none for this role
	Create    bool   // may make tables there
	// Creators are the others that may, without owning it: what they make there, the
	// statements of this role may call. Quoted; PUBLIC is everybody.
	Creators []string

	Connections int // in use on the server, by everybody
	Available   int // for this role and database, in use ones included
}

// Describe asks a server what it is like. It needs no right but to connect. The access
// mode of tx does not show.
func Describe(ctx context.Context, tx pgx.Tx) (s Server, err error) {
	err = tx.QueryRow(ctx, `
		SELECT current_setting('server_version'), current_setting('server_version_num')::integer / 10000,
			current_setting('server_encoding'), pg_is_in_recovery(), current_setting('default_transaction_read_only')::boolean,
			current_user::text, pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'),
			COALESCE(current_schema()::text, ''), COALESCE(has_schema_privilege(current_schema()::text, 'CREATE'), false),
			ARRAY(SELECT DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END
				FROM pg_namespace n, aclexplode(n.nspacl) a
				WHERE n.nspname = current_schema() AND a.privilege_type = 'CREATE' AND a.grantee <> n.nspowner
				AND (a.grantee = 0 OR pg_get_userbyid(a.grantee) <> current_user) ORDER BY 1),
			(SELECT COALESCE(sum(numbackends), 0)::integer FROM pg_stat_database),
			-- A limit below zero is none. Reserved connections came with version 16.
			LEAST(current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
					- COALESCE(current_setting('reserved_connections', true)::integer, 0),
				(SELECT NULLIF(GREATEST(rolconnlimit, -1), -1) FROM pg_roles WHERE rolname = current_user),
				(SELECT NULLIF(GREATEST(datconnlimit, -1), -1) FROM pg_database WHERE datname = current_database()))`).
		Scan(&s.Version, &s.Major, &s.Encoding, &s.Standby, &s.ReadOnly,
			&s.Role, &s.ReadStats, &s.Schema, &s.Create, &s.Creators, &s.Connections, &s.Available)
	if err != nil {
		return Server{}, fmt.Errorf("describe the server: %w", err)
	}
	return s, nil
}

// Clock is what the database's clock shows at the moment of the call.
func Clock(ctx context.Context, tx pgx.Tx) (at time.Time, err error) {
	if err := tx.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&at); err != nil {
		return time.Time{}, fmt.Errorf("read the clock: %w", err)
	}
	return at, nil
}

// ZoneOffsets is how far a zone is ahead of UTC at these instants, in their order, as the
// database's own time zone data have it.
func ZoneOffsets(ctx context.Context, tx pgx.Tx, zone string, instants []time.Time) ([]time.Duration, error) {
	var seconds []int64
	err := tx.QueryRow(ctx, `
		SELECT array_agg(EXTRACT(epoch FROM (at AT TIME ZONE $1) - (at AT TIME ZONE 'UTC'))::bigint ORDER BY place)
		FROM unnest($2::timestamptz[]) WITH ORDINALITY AS i (at, place)`, zone, instants).Scan(&seconds)
	if err != nil {
		return nil, fmt.Errorf("read the time zone data: %w", err)
	}
	offsets := make([]time.Duration, len(seconds))
	for i, s := range seconds {
		offsets[i] = time.Duration(s) * time.Second
	}
	return offsets, nil
}
