package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"sperrd/internal/api"
	"sperrd/internal/makod"
	"sperrd/internal/sperr"
)

// A statement that raises, and a backend that dies in the middle of its transaction.
const (
	raise = `RAISE EXCEPTION 'breakdown'`
	die   = `PERFORM pg_terminate_backend(pg_backend_pid())`
)

// breakdowns are the ways in which the transaction of a change fails.
var breakdowns = map[string]struct {
	kind, trigger, table, do string
	status                   int
	code                     string
}{
	"a statement of the change": {"TRIGGER", "BEFORE INSERT ON TABLE", "sperr_order_history", raise, 500, "internal"},
	"the record of the answer":  {"TRIGGER", "BEFORE INSERT ON TABLE", "api_transactions", raise, 500, "internal"},
	"the claim of the ids":      {"TRIGGER", "BEFORE INSERT ON TABLE", "api_transaction_attempts", raise, 500, "internal"},
	"the commit":                {"CONSTRAINT TRIGGER", "AFTER INSERT ON TABLE DEFERRABLE INITIALLY DEFERRED", "sperr_order_history", raise, 500, "internal"},
	"the connection":            {"TRIGGER", "BEFORE INSERT ON TABLE", "sperr_order_history", die, 503, "unavailable"},
	"the connection at commit":  {"CONSTRAINT TRIGGER", "AFTER INSERT ON TABLE DEFERRABLE INITIALLY DEFERRED", "sperr_order_history", die, 503, "unavailable"},
}

func TestEvery_changing_route_that_fails_leaves_nothing_and_its_retry_does_the_work(t *testing.T) {
	t.Parallel()
	for name, fault := range breakdowns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			eachOnceRoute(t, b, func(t *testing.T, r onceRoute, send func(path, body string, header []string) answer, fresh func() string) {
				for _, again := range []bool{true, false} { // under the same id, and as a repetition of it
					path := fresh()
					before := b.traces(t)
					one, two, three := uuid.NewString(), uuid.NewString(), uuid.NewString()
					table, trigger := fault.table, fault.trigger
					if table == "sperr_order_history" && strings.HasSuffix(path, "/dismiss") { // which is no change of an order
						table, trigger = "webhook_rejects", strings.Replace(trigger, "INSERT", "UPDATE", 1)
					}
					repair := b.breakdown(t, fault.kind, table, trigger, fault.do)
					failed := send(path, r.good, called(one))
					repair()
					wantFirst(t, failed, fault.status, one, one)
					p := wantProblem(t, failed, fault.status, fault.code)
					if fault.status == http.StatusServiceUnavailable {
						wantUnavailable(t, failed)
						if !strings.Contains(p.Detail, "Repeat it as the same transaction") {
							t.Errorf("detail %q does not say how to go on", p.Detail)
						}
					}
					b.wantTraces(t, before)

					header, id := called(two, one), two
					if again {
						header, id = called(one), one
					}
					first := send(path, r.good, header)
					wantFirst(t, first, r.status, id, one)
					wantReplay(t, send(path, r.good, called(three, one)), first, three, one)
					if after := b.traces(t); after.Records != before.Records+1 || !after.did(before) {
						t.Errorf("%+v, before it %+v", after, before)
					}
				}
			})
		})
	}
}

func TestExecute_of_a_market_order_that_fails_sends_nothing_and_its_retry_sends_once(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for n, name := range []string{"a statement of the change", "the record of the answer", "the commit", "the connection at commit"} {
		fault := breakdowns[name]
		id := b.market(t, 17115, maloOf(n)).ID
		one, two := uuid.NewString(), uuid.NewString()
		repair := b.breakdown(t, fault.kind, fault.table, fault.trigger, fault.do)
		failed := b.change(t, id, "execute", "", called(one))
		repair()
		wantFirst(t, failed, fault.status, one, one)
		if o, sent := b.order(t, id), len(b.makod.Requests()); o.Status != "pending" || sent != n {
			t.Errorf("%s: %d commands, the order is %s", name, sent-n, o.Status)
		}
		wantFirst(t, b.change(t, id, "execute", "", called(two, one)), http.StatusNoContent, two, one)
		if sent := len(b.makod.IFTSTA()); sent != n+1 {
			t.Errorf("%s: %d IFTSTA, want one", name, sent-n)
		}
	}
}

// What says nothing of the operation itself does not use up its ids.
func TestAnswers_that_are_not_kept_leave_the_transaction_open(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	const good = `{"note":"TW-1"}`
	for name, c := range map[string]struct {
		who    claims
		query  string
		body   string
		header []string // beside those of the call
		fault  string
		status int
		code   string
	}{
		"no JSON":             {body: `{"note":`, status: 400, code: "invalid_json"},
		"cut JSON":            {body: good[:len(good)-1], status: 400, code: "invalid_json"},
		"unknown member":      {body: `{"Note":"TW-1"}`, status: 400, code: "invalid_body"},
		"member twice":        {body: `{"note":"TW-1","note":"TW-1"}`, status: 400, code: "invalid_body"},
		"no object":           {body: `null`, status: 400, code: "invalid_body"},
		"unknown parameter":   {body: good, query: "?force=true", status: 400, code: "invalid_parameter"},
		"malformed header":    {body: good, header: []string{"referenceId", "42"}, status: 400, code: "invalid_transaction_header"},
		"no token":            {body: good, header: []string{"Authorization", ""}, status: 401, code: "unauthenticated"},
		"expired token":       {body: good, who: claims{"exp": now.Unix() - 3600}, status: 401, code: "unauthenticated"},
		"no role":             {body: good, who: claims{"mako_roles": []string{"LF"}}, status: 403, code: "forbidden"},
		"too large":           {body: strings.Repeat(" ", 1<<20+1), status: 413, code: "body_too_large"},
		"another media type":  {body: good, header: []string{"Content-Type", "text/plain"}, status: 415, code: "unsupported_media_type"},
		"a coding":            {body: good, header: []string{"Content-Encoding", "gzip"}, status: 415, code: "unsupported_media_type"},
		"a failing statement": {body: good, fault: "a statement of the change", status: 500, code: "internal"},
		"a lost connection":   {body: good, fault: "the connection", status: 503, code: "unavailable"},
	} {
		path := orders + "/" + g.create(t, minimal("sperrung")) + "/execute"
		before := g.traces(t)
		one, two := uuid.NewString(), uuid.NewString()
		repair := func() {}
		if c.fault != "" {
			f := breakdowns[c.fault]
			repair = g.breakdown(t, f.kind, f.table, f.trigger, f.do)
		}
		token := []string{"Authorization", "Bearer " + g.issuer.Token(t, c.who)}
		refused := g.call(t, http.MethodPut, path+c.query, c.body, append(append(called(one), token...), c.header...)...)
		repair()
		var p problem
		if refused.status == c.status {
			p = decode[problem](t, refused, c.status)
		}
		if p.Code != c.code || refused.header.Get(replayMark) != "" {
			t.Errorf("%s: %d %s, want %d %s and no replay", name, refused.status, refused.body, c.status, c.code)
		}
		wantEcho(t, refused, one, one)
		g.wantTraces(t, before)

		first := g.asCalled(t, nil, http.MethodPut, path, good, called(one))
		if first.status != http.StatusNoContent {
			t.Errorf("%s: then %d %s", name, first.status, first.body)
		}
		wantFirst(t, first, http.StatusNoContent, one, one)
		wantReplay(t, g.asCalled(t, nil, http.MethodPut, path, good, called(two, one)), first, two, one)
	}
}

// reopened is the service as it comes back: another process on the same database.
func (b *bench) reopened(t *testing.T, old api.Options) *bench {
	t.Helper()
	again := *b
	again.pool = openURL(t, b.pool.Config().ConnString())
	client, err := makod.NewClient("http://127.0.0.1:1", "key", old.Service.RequestTimeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	old.Repository = sperr.NewRepository(again.pool, tenant, 8)
	old.Service = sperr.NewService(again.pool, old.Repository, client, old.Service.Options)
	old.Ready = again.pool.Ping
	again.url = serve(t, api.NewHandler(old), old.Logger, func(*http.Server) {})
	return &again
}

func TestDatabase_away_asks_to_repeat_the_same_transaction_which_is_then_done(t *testing.T) {
	t.Parallel()
	var options api.Options
	b := newBench(t, func(s *settings) {
		s.handler = func(o api.Options) http.Handler {
			options = o
			return api.NewHandler(o)
		}
	})
	id := b.create(t, minimal("sperrung")).ID
	done := b.createCalled(t, fullOrder, called(callZ))
	wantFirst(t, done, http.StatusCreated, callZ, callZ)
	b.pool.Close()
	for verb, body := range map[string]string{"execute": "", "fail": `{"reason":"zu"}`, "cancel": "", "iftsta/reset": ""} {
		a := b.change(t, id, verb, body, called(callA))
		wantUnavailable(t, a)
		wantFirst(t, a, http.StatusServiceUnavailable, callA, callA)
		if text := string(a.body); !strings.Contains(text, "may have taken effect") || !strings.Contains(text, "Repeat it as the same transaction: it takes effect once.") {
			t.Errorf("%s: %s does not say how to go on", verb, text)
		}
	}
	wantUnavailable(t, b.createCalled(t, fullOrder, called(callB, callA)))
	wantUnavailable(t, b.createCalled(t, fullOrder, called(callB, callZ))) // nor is an answer known

	again := b.reopened(t, options)
	first := again.change(t, id, "cancel", "", called(callA))
	wantFirst(t, first, http.StatusNoContent, callA, callA)
	wantReplay(t, again.change(t, id, "cancel", "", called(callB, callA)), first, callB, callA)
	wantReplay(t, again.createCalled(t, fullOrder, called(callC, callZ)), done, callC, callZ)
	again.wantTraces(t, traces{
		Orders: "cancelled pending", History: "created created another_order_pending cancelled",
		Events: "auftrag.eingegangen auftrag.eingegangen storniert", Records: 2, Calls: 4,
	})
}
