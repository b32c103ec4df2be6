package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"sperrd/internal/sperr"
)

// commitWire is the way to a database on which a message, or the answer to it, gets lost
// together with the connection.
type commitWire struct {
	*wire

	losing sync.Mutex
	loss   *loss // nil: nothing gets lost
}

// loss is what gets lost, once: the message with a text that follows another text on the
// same connection, in the same transaction where there is one.
type loss struct {
	after, text string
	reaches     bool          // the database has the message, and its answer is lost
	happened    chan struct{} // closed then
}

const commitMessage = "commit\x00"

// newCommitWire leads to the database until the test ends; through is its URL by that way.
func newCommitWire(t *testing.T, database string) (w *commitWire, through string) {
	t.Helper()
	way, through := databaseWire(t, database)
	w = &commitWire{wire: way}
	way.mu.Lock()
	way.tap = w.tap
	way.mu.Unlock()
	u, err := url.Parse(through)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("sslmode", "disable") // the statements are read
	u.RawQuery = query.Encode()
	return w, u.String()
}

// childOnCommitWire starts a replica that can be killed and reaches the database by a wire.
func (n *neighbourhood) childOnCommitWire(t *testing.T) (*instance, *commitWire) {
	t.Helper()
	way, through := newCommitWire(t, n.setup.database)
	on := *n
	on.setup.database = through
	return on.child(t), way
}

// loseCommit makes the COMMIT of the next transaction with a text get lost, or, where it
// reaches the database, the answer to it. The channel is closed when that has happened.
func (w *commitWire) loseCommit(text string, reaches bool) <-chan struct{} {
	return w.lose(&loss{after: text, text: commitMessage, reaches: reaches})
}

func (w *commitWire) lose(l *loss) <-chan struct{} {
	w.losing.Lock()
	defer w.losing.Unlock()
	l.happened = make(chan struct{})
	w.loss = l
	return l.happened
}

// lostNow is what gets lost with a message; before is what came before it. Nil: nothing.
func (w *commitWire) lostNow(before, message []byte) *loss {
	w.losing.Lock()
	defer w.losing.Unlock()
	l := w.loss
	if l == nil || !bytes.Contains(before, []byte(l.after)) || !bytes.Contains(message, []byte(l.text)) {
		return nil
	}
	w.loss = nil
	return l
}

// tap listens to one connection.
func (w *commitWire) tap() (to, from func(message []byte) (lost bool)) {
	var said []byte                // since the last BEGIN
	unheard := make(chan *loss, 1) // the answer to the last message is lost
	to = func(message []byte) bool {
		l := w.lostNow(said, message)
		if bytes.Contains(message, []byte("begin\x00")) {
			said = nil
		}
		said = append(said, message...)
		switch {
		case l == nil:
			return false
		case l.reaches:
			unheard <- l
			return false
		default:
			close(l.happened)
			return true
		}
	}
	from = func([]byte) bool {
		select {
		case l := <-unheard:
			close(l.happened)
			return true
		default:
			return false
		}
	}
	return to, from
}

// wantUnknown checks the answer to a call of which nobody knows whether it took effect.
func wantUnknown(t *testing.T, r reply, n names) {
	t.Helper()
	if r.err != nil || r.status != http.StatusServiceUnavailable || r.replayed() || r.header.Get("Retry-After") == "" ||
		!strings.Contains(r.body, "Repeat it as the same transaction") {
		t.Fatalf("%d %s %v %v; want a 503 that asks for the same transaction again", r.status, r.body, r.header, r.err)
	}
	wantEcho(t, r, n)
}

// traces are the orders of a MaLo with their visits, what their history says and how many
// events they have.
func (n *neighbourhood) traces(t *testing.T, malo string) string {
	t.Helper()
	return n.text(t, `SELECT COALESCE(string_agg(format('%s, %s visits, %s, %s events', status, sperrversuche,
			COALESCE((SELECT string_agg(action, ' ' ORDER BY h.id) FROM sperr_order_history h WHERE order_id = o.id AND action <> 'changed_by_sql'), '-'), -- the test puts the order in
			(SELECT count(*) FROM event_outbox WHERE order_id = o.id)), '; '), 'none')
		FROM sperr_orders o WHERE malo_id = $1`, malo)
}

func (n *neighbourhood) awaitTraces(t *testing.T, malo, want string) {
	t.Helper()
	await(t, func() (bool, string) {
		got := n.traces(t, malo)
		return got == want, fmt.Sprintf("orders of %s: %s; want %s", malo, got, want)
	})
}

// A COMMIT and the connection get lost: nobody at this end knows whether it has happened.
func TestCommit_whose_result_is_unknown_is_503_and_the_retry_finds_out(t *testing.T) {
	t.Parallel()
	for name, reaches := range map[string]bool{"it has happened": true, "it has not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNeighbourhood(t, unhurried(""))
			i, way := n.childOnCommitWire(t)
			for _, c := range n.changes(t, reaches) {
				call := first()
				lost := way.loseCommit(call.id, reaches)
				wantUnknown(t, i.do(t.Context(), c.act, call), call)
				<-lost
				if reaches {
					n.awaitTraces(t, c.malo, c.after)
				} else {
					n.awaitTraces(t, c.malo, c.before) // once the database knows that nobody is there
				}
				second := i.want(t, c.act, call.retry(), c.status, reaches)
				third := i.want(t, c.act, call, c.status, true)
				wantSame(t, second, third)
				n.awaitTraces(t, c.malo, c.after)
			}
			n.wantEventFound(t, i, way, reaches)
		})
	}
}

// unsure is a change whose COMMIT gets lost.
type unsure struct {
	malo          string
	act           act
	status        int
	before, after string // traces
}

// changes are all kinds of them, each on an order of its own. An execution that has
// happened waits for the answer of makod, which is another test.
func (n *neighbourhood) changes(t *testing.T, happens bool) []unsure {
	t.Helper()
	seeds := n.seed(t, sperr.StatusPending, 4)
	const untouched = "pending, 0 visits, -, 0 events"
	created := maloID(8000)
	all := []unsure{
		{created, creation(created), 201, "none", "pending, 0 visits, created, 1 events"},
		{
			seeds[0].malo, report(seeds[0].id, "fail", `{"reason":"niemand angetroffen"}`), 202,
			untouched, "pending, 1 visits, sperrversuch_failed, 1 events",
		},
		{seeds[1].malo, report(seeds[1].id, "cancel", ""), 204, untouched, "cancelled, 0 visits, cancelled, 1 events"},
	}
	if happens {
		return all
	}
	return append(all,
		unsure{seeds[2].malo, report(seeds[2].id, "execute", ""), 204, untouched, "executed, 0 visits, executed iftsta_dispatched, 1 events"},
		unsure{seeds[3].malo, report(seeds[3].id, "fail", outcomes[2].body), 204, untouched, "failed, 1 visits, failed iftsta_dispatched, 1 events"})
}

// wantEventFound checks that a market event whose COMMIT gets lost is one order when it is
// delivered again.
func (n *neighbourhood) wantEventFound(t *testing.T, i *instance, way *commitWire, reaches bool) {
	t.Helper()
	malo := maloID(9000)
	event := n.sperrauftrag(t, malo, map[string]any{"fruehestens_am": time.Now().AddDate(0, 1, 0).Format("20060102")})
	process := n.Processes()[len(n.Processes())-1].ID
	const after = "pending, 0 visits, created, 1 events"
	before, status := "none", http.StatusCreated
	if reaches {
		before, status = after, http.StatusNoContent
	}
	lost := way.loseCommit(process, reaches)
	if got, body := n.deliver(t, i, event, hmacSecret); got != http.StatusServiceUnavailable {
		t.Fatalf("POST /webhook: %d %s; want 503", got, body)
	}
	<-lost
	n.awaitTraces(t, malo, before)
	if got, body := n.deliver(t, i, event, hmacSecret); got != status {
		t.Errorf("the event again: %d %s; want %d", got, body, status)
	}
	if got, body := n.deliver(t, i, event, hmacSecret); got != http.StatusNoContent {
		t.Errorf("the event a third time: %d %s; want 204", got, body)
	}
	n.awaitTraces(t, malo, after)
}
