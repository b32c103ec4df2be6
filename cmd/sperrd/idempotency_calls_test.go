package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"sperrd/internal/makod/makodtest"
)

// names are the ids under which a call is made; initial is empty on the first call.
type names struct{ id, initial string }

// first names the first call of a new operation.
func first() names { return names{id: uuid.NewString()} }

// retry names another call of the operation.
func (n names) retry() names { return names{id: uuid.NewString(), initial: n.logical()} }

// after names a call that repeats this one, and knows nothing of any before it.
func (n names) after() names { return names{id: uuid.NewString(), initial: n.id} }

// logical is the id of the first call of the operation, as far as the caller knows.
func (n names) logical() string {
	if n.initial != "" {
		return n.initial
	}
	return n.id
}

func (n names) header() http.Header {
	h := http.Header{}
	h.Set("transactionId", n.id)
	h.Set("creationDateTime", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
	if n.initial != "" {
		h.Set("initialTransactionId", n.initial)
	}
	return h
}

// act is one change of an order that is asked for.
type act struct{ method, path, body string }

// report is what a field device says of an order.
func report(id, verb, body string) act {
	return act{http.MethodPut, "/api/v1/sperr-orders/" + id + "/" + verb, body}
}

// creation is an operator's order, without a market process.
func creation(malo string) act {
	return act{http.MethodPost, "/api/v1/sperr-orders", `{"malo_id":"` + malo + `","lf_mp_id":"9900012345678","order_type":"sperrung"}`}
}

// reply is the answer to a call; the zero value: none.
type reply struct {
	status int
	body   string
	header http.Header
	err    error
}

func (r reply) replayed() bool { return r.header.Get("Idempotent-Replayed") == "true" }

// do asks for an act under these names, on a connection of its own.
func (i *instance) do(ctx context.Context, a act, n names) reply {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, a.method, i.base+a.path, strings.NewReader(a.body))
	if err != nil {
		return reply{err: err}
	}
	request.Header = n.header()
	if a.body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return reply{err: err}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return reply{response.StatusCode, string(body), response.Header, err}
}

// begin asks in the background.
func (i *instance) begin(t *testing.T, a act, n names) <-chan reply {
	t.Helper()
	answer := make(chan reply, 1)
	go func() { answer <- i.do(t.Context(), a, n) }()
	return answer
}

// want asks for an act and checks the status of the answer, whether it is a replay and
// which ids it repeats.
func (i *instance) want(t *testing.T, a act, n names, status int, replayed bool) reply {
	t.Helper()
	r := i.do(t.Context(), a, n)
	if r.err != nil || r.status != status || r.replayed() != replayed {
		t.Fatalf("%s %s: %d %s %v, replayed: %t; want %d, replayed: %t\n%s",
			a.method, a.path, r.status, r.body, r.err, r.replayed(), status, replayed, i.log.String())
	}
	wantEcho(t, r, n)
	return r
}

func wantEcho(t *testing.T, r reply, n names) {
	t.Helper()
	if got := (names{r.header.Get("transactionId"), r.header.Get("referenceId")}); got != (names{n.id, n.logical()}) {
		t.Errorf("%d is answered to call %q of operation %q; want %q of %q", r.status, got.id, got.initial, n.id, n.logical())
	}
}

// kept is what all answers of one operation have in common.
func (r reply) kept() reply {
	header := http.Header{}
	for _, name := range []string{"Content-Type", "Content-Location", "Location"} {
		if value, given := r.header[name]; given {
			header[name] = value
		}
	}
	return reply{status: r.status, body: r.body, header: header}
}

// wantSame checks that two calls of one operation have got one answer.
func wantSame(t *testing.T, first, second reply) {
	t.Helper()
	if diff := cmp.Diff(first.kept(), second.kept(), cmp.AllowUnexported(reply{})); diff != "" {
		t.Errorf("another answer of the same operation (-first +second):\n%s", diff)
	}
}

// wantNothing checks that no call has left a trace, but for what was there before.
func (n *neighbourhood) wantNothing(t *testing.T) {
	t.Helper()
	const traces = `SELECT format('%s transactions, %s attempts, %s closed, %s visits, %s events',
		(SELECT count(*) FROM api_transactions), (SELECT count(*) FROM api_transaction_attempts),
		(SELECT count(*) FROM sperr_orders WHERE status <> 'pending'), (SELECT sum(sperrversuche) FROM sperr_orders),
		(SELECT count(*) FROM event_outbox))`
	const none = "0 transactions, 0 attempts, 0 closed, 0 visits, 0 events"
	if got := n.text(t, traces); got != none {
		t.Errorf("%s; want %s", got, none)
	}
}

// awaitDecided waits until an operation has an answer in this state.
func (n *neighbourhood) awaitDecided(t *testing.T, logical, state string) {
	t.Helper()
	n.awaitText(t, "1", `SELECT count(*) FROM api_transactions WHERE logical_id = $1 AND state = $2`, logical, state)
}

// commands are those that makod got for an order. Each has a transactionId of its own and
// after the first one names that, whether or not it has come to makod; all of them name
// the operation that closed the order.
func (n *neighbourhood) commands(t *testing.T, s seed, operation string) []makodtest.Request {
	t.Helper()
	sent := n.RequestsFor(s.key())
	original := n.text(t, `SELECT iftsta_transaktion FROM sperr_orders WHERE id = $1`, s.id)
	for k, r := range sent {
		if r.ReferenceID() != operation {
			t.Errorf("command %d has referenceId %q; want %q", k, r.ReferenceID(), operation)
		}
		if r.TransactionID() != original && r.InitialTransactionID() != original {
			t.Errorf("command %d is %q and repeats %q; want one of them to be %q", k, r.TransactionID(), r.InitialTransactionID(), original)
		}
		if r.TransactionID() == original && (k > 0 || r.InitialTransactionID() != "") {
			t.Errorf("command %d is %q and repeats %q, as if it were the first", k, original, r.InitialTransactionID())
		}
	}
	if ids := n.RepeatedTransactionIDs(); len(ids) > 0 {
		t.Errorf("transactionIds that came to makod twice: %v", ids)
	}
	return sent
}

// wantOnce checks that an order was closed once, by an operation, and that its Lieferant
// got one IFTSTA, for which so many commands were sent.
func (n *neighbourhood) wantOnce(t *testing.T, s seed, operation string, o outcome, commands int) {
	t.Helper()
	if sent := n.commands(t, s, operation); len(sent) != commands {
		t.Errorf("%d commands; want %d", len(sent), commands)
	}
	informed := n.IFTSTAFor(s.malo)
	if len(informed) != 1 || informed[0].Code != o.code {
		t.Errorf("IFTSTA %+v; want one with %s", informed, o.code)
	}
	if got := n.erp.AcceptedFor(s.id); !cmp.Equal(got, []string{o.event}) {
		t.Errorf("events %v; want %s alone", got, o.event)
	}
	if keys := n.Overlaps(); len(keys) > 0 {
		t.Errorf("two commands at a time under %v", keys)
	}
}

// orderOf is the order that an answer to a creation or to a market event names.
func orderOf(t *testing.T, body string) (id string) {
	t.Helper()
	var order struct{ ID string }
	if err := json.Unmarshal([]byte(body), &order); err != nil || order.ID == "" {
		t.Fatalf("no order in %q: %v", body, err)
	}
	return order.ID
}
