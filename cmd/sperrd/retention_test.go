package main

import (
	"strings"
	"testing"
)

func TestRetention_is_shown_and_done_by_command_and_by_the_service(t *testing.T) {
	t.Parallel()
	n := newNeighbourhood(t, "")
	n.setup.port = freePort(t)
	const insert = `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, status, hinweis, created_at, updated_at)
		VALUES ($1, '51238696012', '9900012345678', 'sperrung', 'cancelled', 'Hund im Hof', '2020-01-02T03:04:05Z', '2020-01-02T03:04:05Z')`
	n.exec(t, insert, tenant)
	off, on := n.setup.toml(), n.setup.toml()+"\n[retention]\nredact_after = \"26280h\"\n"

	for _, c := range []struct {
		toml, args string
		code       int
		want       string
	}{
		{off, "retention preview", exitUsage, "retention.redact_after is not set"},
		{off, "retention run", exitUsage, "retention.redact_after is not set"},
		{off, "retention preview --redact-after 26280h", exitOK, "1 orders, the oldest of 2020-01-02T03:04:05Z, with 0 events and 0 answers; 0 settled deliveries"},
		{off, "retention preview --redact-after=-1h", exitUsage, "is not set"},
		{off, "retention preview --redact-after 87600h", exitOK, "0 orders, the oldest of -"},
		{off, "retention preview --redact-after 26280h --json", exitOK, `{"orders":1,"oldest":"2020-01-02T03:04:05Z","events":0,"answers":0,"rejects":0}`},
		{on, "retention preview", exitOK, "1 orders"},
		{on, "retention run", exitOK, "replaced in 1 orders, 0 events, 0 answers and 0 settled deliveries"},
		{on, "retention preview", exitOK, "0 orders"},
	} {
		code, stdout, stderr := command(t, c.toml, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("%s: exit code %d, want %d and %q\n%s%s", c.args, code, c.code, c.want, stdout, stderr)
		}
	}
	if got := n.text(t, `SELECT hinweis FROM sperr_orders`); got != "[gelöscht]" {
		t.Errorf("hinweis is %q", got)
	}
	if got := n.text(t, `SELECT actor || ' ' || action FROM sperr_order_history ORDER BY id DESC LIMIT 1`); !strings.HasPrefix(got, "cli:") || !strings.HasSuffix(got, " redacted") {
		t.Errorf("history: %q", got)
	}

	n.exec(t, insert, tenant)
	n.setup.more += "\n[retention]\nredact_after = \"26280h\"\n"
	i := n.replicas(t, 1)[0]
	awaitLines(t, 1, "address and free text replaced", i)
	n.awaitText(t, "2", `SELECT count(*)::text FROM sperr_orders WHERE hinweis = '[gelöscht]'`)
}
