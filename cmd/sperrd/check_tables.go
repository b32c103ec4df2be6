package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"sperrd/internal/postgres"
)

// privileges are what the service does to its tables.
var privileges = map[string]string{
	"sperr_orders":             "SELECT INSERT UPDATE",
	"sperr_order_history":      "SELECT INSERT",
	"sperr_order_totals":       "SELECT INSERT UPDATE DELETE",
	"event_outbox":             "SELECT INSERT UPDATE DELETE",
	"webhook_rejects":          "SELECT INSERT UPDATE",
	"api_transactions":         "SELECT INSERT UPDATE DELETE",
	"api_transaction_attempts": "SELECT INSERT UPDATE DELETE",
}

// triggers are what the database itself does with a change: its line of the history, which
// stays as it is, and the counters.
var triggers = map[string][]string{
	"sperr_orders": {
		"sperr_orders_count_delete", "sperr_orders_count_insert", "sperr_orders_count_truncate", "sperr_orders_count_update",
		"sperr_orders_history_of_insert", "sperr_orders_history_of_update", "sperr_orders_iftsta_reset",
	},
	"sperr_order_history": {"sperr_order_history_append_only"},
	"sperr_order_totals":  {"sperr_order_totals_keep_types"},
}

// rights looks at what the role may do, for the work and for the next migration.
func (d *database) rights(ctx context.Context) {
	d.look(ctx, "rights", func(ctx context.Context, tx pgx.Tx) error {
		s, err := postgres.Describe(ctx, tx)
		if err != nil {
			return err
		}
		tables, err := postgres.Tables(ctx, tx, privileges)
		if err == nil {
			d.roleRights(s, tables)
		}
		return err
	})
}

func (f *findings) roleRights(s postgres.Server, tables []postgres.Table) {
	const what = "rights"
	if s.Schema == "" {
		f.fail(what, "no schema on the search_path of the role "+s.Role+" is there for it", "GRANT USAGE, CREATE ON SCHEMA public TO "+quoted(s.Role))
		return
	}
	before := len(f.list)
	var foreign, barred []string
	for _, t := range tables {
		if !t.Owned {
			foreign = append(foreign, t.Name)
		}
		if len(t.Missing) > 0 {
			barred = append(barred, strings.Join(t.Missing, ", ")+" on "+t.Name)
		}
	}
	if len(barred) > 0 {
		f.fail(what, "the role "+s.Role+" lacks "+strings.Join(barred, "; "), "let it own the tables, or GRANT it what is missing")
	}
	if !s.Create {
		f.warn(what, "the role "+s.Role+" may create nothing in the schema "+s.Schema+", so the next migration fails",
			"GRANT CREATE ON SCHEMA "+quoted(s.Schema)+" TO "+quoted(s.Role))
	}
	if len(s.Creators) > 0 {
		f.warn(what, strings.Join(s.Creators, ", ")+" may create functions and operators in the schema "+s.Schema+", which statements of this role may then call with its rights",
			"REVOKE CREATE ON SCHEMA "+quoted(s.Schema)+" FROM "+strings.Join(s.Creators, ", "))
	}
	if len(foreign) > 0 {
		f.warn(what, "the role "+s.Role+" does not own "+strings.Join(foreign, ", ")+", so the next migration fails",
			"ALTER TABLE … OWNER TO "+quoted(s.Role)+", for each of them")
	}
	if len(f.list) == before {
		f.ok(what, "the role "+s.Role+" may do what the service and its migrations need")
	}
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

const (
	// Beyond oldSnapshot the claims of a busy queue walk over so much that was removed that
	// they get slow.
	oldSnapshot = 10 * time.Minute
	// manyDead is so many removed rows that reading them shows. Where they are fewer than
	// the others, autovacuum just has not come yet.
	manyDead = 100_000
)

// snapshot looks for what keeps the server from cleaning up.
func (d *database) snapshot(ctx context.Context) {
	const what = "snapshot"
	d.look(ctx, what, func(ctx context.Context, tx pgx.Tx) error {
		s, err := postgres.Describe(ctx, tx)
		if err != nil {
			return err
		}
		oldest, err := postgres.OldestSnapshot(ctx, tx)
		if err == nil {
			d.oldestSnapshot(oldest, s)
		}
		return err
	})
}

func (f *findings) oldestSnapshot(oldest postgres.Snapshot, s postgres.Server) {
	const what = "snapshot"
	text := "nothing keeps the server from cleaning up"
	if oldest.Holder != "" {
		text = fmt.Sprintf("the oldest has stood for %s", oldest.Age.Round(time.Second))
	}
	var todo string
	if !s.ReadStats {
		text += fmt.Sprintf(", as far as the role %s may see", s.Role)
		todo = "GRANT pg_read_all_stats TO " + quoted(s.Role) + " shows those of other roles too"
	}
	if oldest.Age > oldSnapshot {
		f.warn(what, text+", held by "+oldest.Holder+": meanwhile nothing is cleaned up and the queues get slower", "end it there, or with: "+oldest.End)
		return
	}
	f.note(what, text, todo)
}

// tables looks at how the server keeps the tables.
func (d *database) tables(ctx context.Context) {
	d.look(ctx, "tables", func(ctx context.Context, tx pgx.Tx) error {
		tables, err := postgres.Tables(ctx, tx, privileges)
		if err == nil {
			d.upkeep(tables)
		}
		return err
	})
}

func (f *findings) upkeep(tables []postgres.Table) {
	const what = "tables"
	before := len(f.list)
	if missing := absent(tables); len(missing) > 0 {
		f.fail(what, "missing: "+strings.Join(missing, ", "), "restore a backup, or look for who has dropped or moved them")
	}
	if silent := without(tables); len(silent) > 0 {
		f.fail(what, "triggers that are gone, off, or with other rights or schema than they need, so that history or counters may miss changes: "+strings.Join(silent, ", "),
			"ALTER TABLE … ENABLE TRIGGER … where it is off; for the rest see operations.md, Mend the triggers")
	}
	for _, t := range tables {
		for _, index := range t.Invalid {
			f.warn(what, "the index "+index+" of "+t.Name+" is invalid, unless somebody builds it at this moment", "REINDEX INDEX CONCURRENTLY "+index)
		}
		if t.NoVacuum {
			f.warn(what, "autovacuum is off for "+t.Name+", which gets slower with every change", "switch it on")
		}
		if t.Dead > manyDead && t.Dead > t.Live {
			cleaned := "no clean-up is known"
			if t.Cleaned != nil {
				cleaned = "the last clean-up was at " + t.Cleaned.UTC().Format(time.RFC3339)
			}
			f.warn(what, fmt.Sprintf("%s has %d removed rows beside %d, %s", t.Name, t.Dead, t.Live, cleaned),
				"end old snapshots, then VACUUM (ANALYZE) "+quoted(t.Name))
		}
	}
	if len(f.list) == before {
		f.ok(what, "all there, with valid indexes, and cleaned up")
	}
}

// absent are the tables that this version needs and that were not found.
func absent(tables []postgres.Table) (names []string) {
	found := make(map[string]bool)
	for _, t := range tables {
		found[t.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(privileges)) {
		if !found[name] {
			names = append(names, name)
		}
	}
	return names
}

// without are the triggers that do nothing, with their table, of the tables that were found.
func without(tables []postgres.Table) (names []string) {
	for _, t := range tables {
		for _, trigger := range triggers[t.Name] {
			if !slices.Contains(t.Triggers, trigger) {
				names = append(names, trigger+" of "+t.Name)
			}
		}
	}
	return names
}
