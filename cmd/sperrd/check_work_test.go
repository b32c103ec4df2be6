package main

import (
	"fmt"
	"testing"

	"sperrd/internal/postgres/postgrestest"
)

// insertOrder is a statement that puts an order of the healthy tenant in, with columns more
// than an order must have.
func insertOrder(columns, values string) string {
	return fmt.Sprintf(`INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, %s) VALUES ('%s', '51238696781', '9900012345678', 'sperrung', %s)`,
		columns, tenant, values)
}

func TestCheck_orders_past_their_Frist_are_told(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	do(t, url, insertOrder("fruehestens_am", "'2020-01-01'"))
	check(t, healthy(t), url).want(t, "ok", "fristen", "1 orders pending, the requested day of 1", "")
	do(t, url, insertOrder("ausfuehrung_am, ausfuehrung_faellig_am", "'2020-01-01', '2020-01-13'"))
	check(t, healthy(t), url).want(t, "warn", "fristen", "1 past a Fixtermin, 1 past the Frist", "due=true")
}

func TestCheck_outcomes_that_makod_does_not_have_are_told(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	do(t, url, insertOrder("process_id, status, executed_at, iftsta_faellig_am", "'p', 'executed', now(), '2035-01-01'"))
	check(t, healthy(t), url).want(t, "ok", "iftsta", "1 outcomes wait for makod; 0 past their Frist, 0 with", "")
	do(t, url, "UPDATE sperr_orders SET iftsta_faellig_am = '2020-01-01'")
	check(t, healthy(t), url).want(t, "warn", "iftsta", "1 past their Frist, 0 with", "sperrd iftsta list")
	do(t, url, "UPDATE sperr_orders SET iftsta_attempts = 8")
	e := check(t, healthy(t), url)
	e.want(t, "warn", "iftsta", "1 with all attempts spent", "sperrd iftsta reset --stuck --reason TEXT")
	if e.code != exitOK {
		t.Errorf("exit code %d; what is stuck only warns", e.code)
	}
}

func TestCheck_refused_deliveries_are_told(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	do(t, url, fmt.Sprintf(`INSERT INTO webhook_rejects (tenant, webhook_id, body_hash, headers, body, status, code, reason, first_seen_at, last_seen_at)
		VALUES ('%s', 'w', '\x00', '{}', '', 422, 'unusable_event', 'r', now(), now())`, tenant))
	check(t, healthy(t), url).want(t, "warn", "rejects", "1 refused deliveries are open", "/api/v1/webhook-rejects")
}

func TestCheck_days_that_never_come_are_told(t *testing.T) {
	t.Parallel()
	for _, odd := range []string{
		insertOrder("id, fruehestens_am", "'00000000-0000-4000-8000-000000000001', '2036-01-01'"),
		insertOrder("id, ausfuehrung_am", "'00000000-0000-4000-8000-000000000001', 'infinity'"),
		insertOrder("id, ausfuehrung_faellig_am", "'00000000-0000-4000-8000-000000000001', '-infinity'"),
		insertOrder("id, process_id, status, executed_at, iftsta_next_attempt_at", "'00000000-0000-4000-8000-000000000001', 'p', 'executed', now(), 'infinity'"),
	} {
		url := postgrestest.NewURL(t)
		do(t, url, odd, insertOrder("fruehestens_am", "'2035-12-31'"), insertOrder("hinweis", "'undated'"),
			// Whoever is closed waits for no day any more.
			insertOrder("status, fail_reason, fruehestens_am", "'failed', 'r', 'infinity'"))
		check(t, healthy(t), url).want(t, "warn", "orders", "1 open orders hold a day or a moment that never comes: 00000000-0000-4000-8000-000000000001", "by SQL")
	}
	url := postgrestest.NewURL(t)
	for range 4 {
		do(t, url, insertOrder("fruehestens_am", "'2036-01-01'"))
	}
	check(t, healthy(t), url).want(t, "warn", "orders", " and 1 more", "")
}

func TestCheck_events_that_the_ERP_does_not_have_are_told(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	do(t, url, insertOrder("hinweis", "'h'"), fmt.Sprintf(`INSERT INTO event_outbox (tenant, order_id, event_id, ce_type, envelope, created_at)
		SELECT '%s', id, 'e', 't', '{}', now() - interval '59 minutes' FROM sperr_orders`, tenant))
	check(t, healthy(t), url).want(t, "ok", "outbox", "1 events wait for the ERP, the oldest since", "")
	do(t, url, "UPDATE event_outbox SET created_at = now() - interval '61 minutes'")
	check(t, healthy(t), url).want(t, "warn", "outbox", "1 events wait", "requeue --waiting --reason TEXT")
	noERP := with(with(healthy(t), "erp_webhook_url", ""), "erp_hmac_secret", "")
	e := check(t, noERP, url)
	e.want(t, "ok", "outbox", "1 events wait", "")
	e.want(t, "warn", "configuration", "erp_webhook_url is missing", "sperrd.toml.example")
	e.wantNone(t, "erp")
	do(t, url, "UPDATE event_outbox SET dead_lettered_at = now()")
	check(t, healthy(t), url).want(t, "warn", "outbox", "1 were given up", "sperrd outbox requeue --all --reason TEXT")
}

func TestCheck_calls_that_nobody_settles_are_told(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	do(t, url, fmt.Sprintf(`INSERT INTO api_transactions (tenant, logical_id, principal, operation, fingerprint, fingerprint_version, executed_by,
			state, status_code, response_headers, response_body, created_at, expires_at)
		VALUES ('%s', 'l', 'p', 'o', '', 1, 'l', 'provisional', 202, '{}', '', now() - interval '119 minutes', now())`, tenant))
	check(t, healthy(t), url).want(t, "ok", "transactions", "0 calls", "")
	do(t, url, "UPDATE api_transactions SET created_at = now() - interval '121 minutes'")
	check(t, healthy(t), url).want(t, "warn", "transactions", "1 calls have a provisional answer", "see that one runs")
}
