package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Table is how the server keeps one table of the current schema, and what the role of a
// transaction may do to it.
type Table struct {
	Name    string
	Owned   bool     // by this role or by one that it is a member of
	Missing []string // privileges that were asked for and are not there

	Live, Dead int64      // rows, as the statistics estimate them
	Cleaned    *time.Time // the last VACUUM, by hand or not; nil: none is known
	NoVacuum   bool       // nothing cleans the table by itself

	Invalid []string // indexes that slow writes and find nothing, quoted

	// Triggers fire, call nothing that somebody has made, and where they write do it in this
	// schema with the rights of their owner, for no other table.
	Triggers []string
}

// Tables looks at those of some tables that exist, in the order of their names. privileges
// are the ones asked for by name of table, separated by blanks: "SELECT INSERT". It reads
// catalogues and statistics alone, which every role may.
func Tables(ctx context.Context, tx pgx.Tx, privileges map[string]string) ([]Table, error) {
	var names, wanted []string
	for name, list := range privileges {
		names, wanted = append(names, name), append(wanted, list)
	}
	rows, err := tx.Query(ctx, `
		SELECT c.relname::text AS name, pg_has_role(c.relowner, 'USAGE') AS owned,
			ARRAY(SELECT p FROM unnest(string_to_array(w.privileges, ' ')) WITH ORDINALITY AS u (p, place)
				WHERE NOT has_table_privilege(c.oid, p) ORDER BY place) AS missing,
			COALESCE(s.n_live_tup, 0) AS live, COALESCE(s.n_dead_tup, 0) AS dead,
			GREATEST(s.last_vacuum, s.last_autovacuum) AS cleaned,
			NOT (current_setting('autovacuum')::boolean AND COALESCE((SELECT option_value::boolean
				FROM pg_options_to_table(c.reloptions) WHERE option_name = 'autovacuum_enabled'), true)) AS no_vacuum,
			ARRAY(SELECT quote_ident(x.relname) FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
				WHERE i.indrelid = c.oid AND NOT i.indisvalid ORDER BY 1) AS invalid,
			ARRAY(SELECT t.tgname::text FROM pg_trigger t JOIN pg_proc f ON f.oid = t.tgfoid
				WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND (t.tgenabled = 'A' OR t.tgenabled = 'O' AND current_setting('session_replication_role') <> 'replica')
				AND f.proconfig @> ARRAY['search_path=pg_catalog, pg_temp'] AND (f.prosrc !~ '\m(INSERT INTO|TRUNCATE)\M'
					OR f.prosecdef AND NOT has_function_privilege('public', f.oid, 'EXECUTE')
					AND strpos(f.prosrc, quote_ident(current_schema()) || '.') > 0) ORDER BY 1) AS triggers
		FROM unnest($1::text[], $2::text[]) AS w (name, privileges)
		JOIN pg_namespace n ON n.nspname = current_schema()
		JOIN pg_class c ON c.relname = w.name AND c.relnamespace = n.oid AND c.relkind IN ('r', 'p')
		LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid
		ORDER BY 1`, names, wanted)
	if err != nil {
		return nil, fmt.Errorf("look at the tables: %w", err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowToStructByName[Table])
	if err != nil {
		return nil, fmt.Errorf("look at the tables: %w", err)
	}
	return tables, nil
}
