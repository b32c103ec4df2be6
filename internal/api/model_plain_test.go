package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// model is what the service must remember after a sequence of calls, one after the
// other. It is written from the rules, without a database and without a second process.
type model struct {
	orders []modelOrder
	ops    []modelOp
	ids    map[string]modelID
	modern bool // makod gives an accepted answer once more under the same key
}

// modelID is what an id belongs to. received tells that a call has come under it, and not
// only one that names it.
type modelID struct {
	op       int
	received bool
}

// modelOp is an operation: whatever is called how often, it is done once.
type modelOp struct {
	logical, executedBy  string
	principal            int
	operation, content   string
	order                int // -1: none
	status               int
	code, recorded       string
	provisional, settled bool    // settled: by whoever did not wait for makod
	answer               *answer // nil: nobody has got one yet
}

func (m *model) clone() *model {
	c := &model{orders: slices.Clone(m.orders), ops: slices.Clone(m.ops), ids: maps.Clone(m.ids), modern: m.modern}
	for i := range c.orders {
		c.orders[i].events = slices.Clone(c.orders[i].events)
		c.orders[i].history = slices.Clone(c.orders[i].history)
	}
	return c
}

// modelExpected is what a call must be answered.
type modelExpected struct {
	status   int
	code     string
	op       int // -1: the answer is not kept
	order    int // that it concerns; -1: none
	replayed bool
	sends    bool   // makod is told
	words    string // in the detail, where they matter
	recorded string // of a report: the order's status after it, which a 202 says
}

func refused(status int, code string) modelExpected {
	return modelExpected{status: status, code: code, op: -1, order: -1}
}

var modelFailure = refused(http.StatusInternalServerError, "internal")

// What a conflict says. Another caller learns nothing of the operation.
const (
	conflictTaken     = "The transaction id is taken."
	conflictOperation = "another route or order"
	conflictContent   = "another body or referenceId"
	conflictBound     = "another operation than initialTransactionId names"
)

// conflict is what c is told that is none of op; bound tells that only its own id is op's.
func (m *model) conflict(c modelCall, op modelOp, bound bool) modelExpected {
	e := refused(http.StatusConflict, "transaction_conflict")
	switch {
	case op.principal != c.principal:
		e.words = conflictTaken
	case bound:
		e.words = conflictBound
	case op.operation != c.operation():
		e.words = conflictOperation
	default:
		e.words = conflictContent
	}
	return e
}

// apply does c, unless an earlier call has done it. What is told to makod is left to
// finish. db is what fails in the database.
func (m *model) apply(c modelCall, db string) modelExpected {
	if c.undated {
		return refused(http.StatusBadRequest, "invalid_transaction_header")
	}
	if !c.keyed() {
		verdict := m.judge(c)
		if verdict.action != "" && breaks(db) {
			return modelFailure
		}
		return m.change(c, verdict)
	}
	op, known, ok := m.find(c)
	switch {
	case !ok:
		return m.conflict(c, m.ops[op], true)
	case known && !m.isOf(c, m.ops[op]):
		return m.conflict(c, m.ops[op], false)
	case known:
		return m.replay(c, op, db)
	case breaks(db):
		return modelFailure
	}
	e := m.change(c, m.judge(c))
	e.op = len(m.ops)
	m.ops = append(m.ops, modelOp{
		logical: c.first, executedBy: c.own, principal: c.principal, operation: c.operation(), content: c.content().same + c.reference,
		order: e.order, status: e.status, code: e.code, recorded: e.recorded, provisional: e.sends,
	})
	m.bind(c, e.op)
	return e
}

// breaks reports whether no change is made where db fails.
func breaks(db string) bool { return db == dbStatement || db == dbCommit }

// find is the operation that the ids of c belong to. It is not ok where they belong to
// two, or where a call that came by itself now claims to be the repetition of another one.
func (m *model) find(c modelCall) (op int, known, ok bool) {
	own, ownKnown := m.ids[c.own]
	first, firstKnown := m.ids[c.first]
	switch {
	case ownKnown && firstKnown:
		return own.op, true, own.op == first.op
	case ownKnown:
		return own.op, true, !own.received
	default:
		return first.op, firstKnown, true
	}
}

func (m *model) bind(c modelCall, op int) {
	if _, known := m.ids[c.first]; !known {
		m.ids[c.first] = modelID{op: op}
	}
	m.ids[c.own] = modelID{op: op, received: true}
}

func (c modelCall) operation() string {
	if c.route == "create" {
		return c.route
	}
	return fmt.Sprint(c.route, c.order)
}

func (m *model) isOf(c modelCall, op modelOp) bool {
	return op.principal == c.principal && op.operation == c.operation() && op.content == c.content().same+c.reference
}

// replay answers a call of an operation that is done. Where makod keeps the first call
// waiting, or that one has died, what was written down before makod was asked stands.
func (m *model) replay(c modelCall, op int, db string) modelExpected {
	m.bind(c, op)
	o := &m.ops[op]
	if o.provisional {
		if db == dbSettle {
			return modelFailure
		}
		o.provisional, o.settled, o.status = false, true, http.StatusAccepted
	}
	return modelExpected{status: o.status, code: o.code, op: op, order: o.order, replayed: true, recorded: o.recorded}
}

// finish tells makod the outcome that e has left to it, and what its caller gets then.
func (m *model) finish(e modelExpected, fault, db string) modelExpected {
	if !e.sends {
		return e
	}
	e.status = http.StatusAccepted
	if m.send(&m.orders[e.order], fault, db) {
		e.status = http.StatusNoContent
	}
	if e.op < 0 {
		return e
	}
	op := &m.ops[e.op]
	if op.settled || db == dbSettle { // the one written before makod was asked
		e.status = http.StatusAccepted
	} else {
		op.provisional = false
	}
	op.status = e.status
	return e
}

// match compares an answer with what was expected, and learns from it what nobody can
// know before: the id of an order, and the very bytes that each later caller must get.
func (m *model) match(e modelExpected, c modelCall, got answer) error {
	if got.status != e.status {
		return fmt.Errorf("status %d %s, want %d %s", got.status, got.body, e.status, e.code)
	}
	if code := codeOf(got); code != e.code || !strings.Contains(string(got.body), e.words) {
		return fmt.Errorf("%s, want code %q and words %q", got.body, e.code, e.words)
	}
	if recorded := fmt.Sprintf(`"status":%q`, e.recorded); got.status == http.StatusAccepted && !strings.Contains(string(got.body), recorded) {
		return fmt.Errorf("%s, want %s", got.body, recorded)
	}
	if replayed := got.header.Get("Idempotent-Replayed"); (replayed == "true") != e.replayed || replayed != "" && replayed != "true" {
		return fmt.Errorf("Idempotent-Replayed %q, want it: %t", replayed, e.replayed)
	}
	if e.order >= 0 && m.orders[e.order].id == "" {
		m.orders[e.order].id = strings.TrimPrefix(got.header.Get("Location"), orders+"/")
	}
	if err := m.matchEcho(e, c, got); err != nil {
		return err
	}
	if e.op < 0 {
		return nil
	}
	first := m.ops[e.op].answer
	if first == nil {
		m.ops[e.op].answer = &got
		return nil
	}
	if first.status != got.status || !bytes.Equal(first.body, got.body) {
		return fmt.Errorf("%d %s, but the first one got %d %s", got.status, got.body, first.status, first.body)
	}
	for _, name := range []string{"Content-Type", "Location", "Content-Location"} {
		if a, b := first.header.Get(name), got.header.Get(name); a != b {
			return fmt.Errorf("%s %q, but the first one got %q", name, b, a)
		}
	}
	return nil
}

// matchEcho looks at which call, operation and order an answer says that it belongs to.
func (m *model) matchEcho(e modelExpected, c modelCall, got answer) error {
	id, reference, location := strings.TrimPrefix(c.own, "ik:"), strings.TrimPrefix(c.first, "ik:"), ""
	if e.op >= 0 {
		reference = strings.TrimPrefix(m.ops[e.op].logical, "ik:")
		if e.order >= 0 {
			location = orders + "/" + m.orders[e.order].id
		}
	}
	for name, want := range map[string]string{"transactionId": id, "referenceId": reference, "Content-Location": location, "Retry-After": ""} {
		if value := got.header.Get(name); value != want {
			return fmt.Errorf("%s %q, want %q", name, value, want)
		}
	}
	return nil
}

func codeOf(a answer) string {
	var p problem
	if a.header.Get("Content-Type") != "application/problem+json" || json.Unmarshal(a.body, &p) != nil {
		return ""
	}
	return p.Code
}

var errUnexplained = errors.New("no order of the calls, one after the other, explains their answers")

// explain finds an order in which the calls, one after the other, would have got the
// answers that they got at the same time; the model is then as after them.
func (m *model) explain(calls []modelCall, answers []answer, s modelStep) (*model, error) {
	if len(calls) == 0 {
		return m, nil
	}
	for i, c := range calls {
		after := m.clone()
		e := after.finish(after.apply(c, s.DB), s.Makod, s.DB)
		if e.sends && e.op >= 0 && answers[i].status == http.StatusAccepted { // another call of it did not wait for makod
			e.status, after.ops[e.op].status = http.StatusAccepted, http.StatusAccepted
		}
		if after.match(e, c, answers[i]) != nil {
			continue
		}
		found, err := after.explain(without(calls, i), without(answers, i), s)
		if err == nil {
			return found, nil
		}
	}
	return nil, errUnexplained
}

func without[T any](list []T, i int) []T { return slices.Delete(slices.Clone(list), i, i+1) }
