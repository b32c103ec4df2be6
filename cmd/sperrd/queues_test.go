package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"sperrd/internal/postgres/postgrestest"
)

// queueCommands are the commands on the two queues, each of which must behave.
var queueCommands = []string{
	"iftsta list", "iftsta reset 0b7c1e2a-1111-4000-8000-000000000001", "iftsta reset --stuck",
	"outbox list", "outbox requeue x", "outbox requeue --all",
}

// queueTOML is a configuration on the database whose makod is away: no command sends.
func queueTOML(url string) string {
	return setup{port: 8780, database: url, makod: "http://127.0.0.1:1"}.toml()
}

// query returns the rows of a query for texts, the columns joined by blanks.
func query(t *testing.T, url, sql string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// wantLines fails unless stdout is these lines, blanks between columns as they come.
func wantLines(t *testing.T, stdout string, want ...string) {
	t.Helper()
	var got []string
	for line := range strings.Lines(stdout) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestQueues_mistakes_in_the_command_line_change_nothing_and_end_with_2(t *testing.T) {
	t.Parallel()
	const id = "0b7c1e2a-1111-4000-8000-000000000001"
	for _, line := range []string{
		"iftsta", "iftsta reset", "iftsta reset --stuck " + id, "iftsta reset " + id + " x", "iftsta reset --reason why",
		"iftsta reset urn:uuid:" + id, "iftsta reset {" + id + "}", "iftsta list --limit 0", "iftsta list --limit 10001", "iftsta list " + id,
		"outbox", "outbox requeue", "outbox requeue --all x", "outbox list --limit -1", "outbox list x",
	} {
		// A configuration that is missing would be told of, were it looked for.
		code, stdout, stderr := commandIn(t, nil, append(strings.Fields(line), "--config", "/nonexistent")...)
		if code != exitUsage || stdout != "" || strings.Contains(stderr, "/nonexistent") {
			t.Errorf("sperrd %s: exit code %d, %q, %q; want 2 and the mistake", line, code, stdout, stderr)
		}
	}
}

func TestQueues_need_the_whole_configuration(t *testing.T) {
	t.Parallel()
	toml := with(queueTOML("postgres://127.0.0.1:1/sperrd"), "makod_url", "")
	for _, line := range queueCommands {
		code, stdout, stderr := command(t, toml, strings.Fields(line)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, "makod_url: is required") {
			t.Errorf("sperrd %s: exit code %d, %q, %q; want 2 and makod_url", line, code, stdout, stderr)
		}
	}
}

func TestQueues_without_a_database_say_where_to_look_and_no_password(t *testing.T) {
	t.Parallel()
	toml := queueTOML("postgres://sperrd:db-Geheimnis@127.0.0.1:1/sperrd")
	for _, line := range queueCommands {
		code, stdout, stderr := command(t, toml, strings.Fields(line)...)
		if code != exitFailure || stdout != "" || !strings.Contains(stderr, "database.url") || !strings.Contains(stderr, "refused") ||
			strings.Contains(stderr, "Geheimnis") {
			t.Errorf("sperrd %s: exit code %d, %q, %q; want 1 and database.url", line, code, stdout, stderr)
		}
	}
}

func TestQueues_do_not_migrate_and_say_what_the_schema_lacks(t *testing.T) {
	t.Parallel()
	empty, half, old := postgrestest.NewEmptyURL(t), postgrestest.NewURL(t), postgrestest.NewURL(t)
	execSQL(t, half, "UPDATE schema_migrations SET dirty = true")
	if code, _, stderr := command(t, queueTOML(old), "migrate", "down"); code != exitOK {
		t.Fatal(stderr)
	}
	for _, c := range []struct{ url, want string }{
		{empty, `version 0 and this sperrd needs`}, {half, "half-way"}, {old, `"sperrd migrate up" apply 00`},
	} {
		for _, line := range queueCommands {
			code, stdout, stderr := command(t, queueTOML(c.url), strings.Fields(line)...)
			if code != exitFailure || stdout != "" || !strings.Contains(stderr, "schema") || !strings.Contains(stderr, c.want) {
				t.Errorf("sperrd %s: exit code %d, %q, %q; want 1 and %q", line, code, stdout, stderr, c.want)
			}
		}
	}
	if tables := query(t, empty, `SELECT relname::text FROM pg_stat_user_tables`); len(tables) > 0 {
		t.Errorf("tables %q in a database that was empty", tables)
	}
}

func TestQueues_work_on_a_schema_newer_than_the_binary(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	execSQL(t, url, "UPDATE schema_migrations SET version = 9999")
	if code, _, stderr := command(t, queueTOML(url), "iftsta", "list"); code != exitOK {
		t.Errorf("exit code %d, %q; want 0", code, stderr)
	}
}

func TestQueues_refuse_a_reason_that_is_too_long_and_change_nothing(t *testing.T) {
	t.Parallel()
	url := newIFTSTAQueue(t)
	execSQL(t, url, queuedEvent("dead", tenant, "dead_lettered_at", "now()"))
	for _, line := range []string{"iftsta reset --stuck", "iftsta reset " + queueID(1), "outbox requeue --all", "outbox requeue dead"} {
		args := append(strings.Fields(line), "--reason", strings.Repeat("ß", 2561))
		code, stdout, stderr := command(t, queueTOML(url), args...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, "--reason: ") {
			t.Errorf("sperrd %s: exit code %d, %q, %q; want 2 and --reason", line, code, stdout, stderr)
		}
	}
	wantResets(t, url, "")
	wantDead(t, url, "dead")
}

func TestCell_prints_nothing_that_a_terminal_obeys(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\tb\nc\r\n d":          "a b c d",
		"\x1b[31mrot\a":          "\uFFFD[31mrot\uFFFD",
		"\u202Everkehrt\u0085":   "\uFFFDverkehrt",
		"Größe 5 €":              "Größe 5 €",
		"\xff":                   "\uFFFD",
		strings.Repeat("ß", 160): strings.Repeat("ß", 160),
		strings.Repeat("ß", 161): strings.Repeat("ß", 159) + "…",
	} {
		if got := cell(text); got != want {
			t.Errorf("cell(%q) = %q; want %q", text, got, want)
		}
	}
}
