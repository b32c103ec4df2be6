package api_test

import (
	"fmt"

	"pgregory.net/rapid"
)

// modelStep is one step of a sequence. What it refers to, such as an order that is there
// or a call that was made, it names by a number that is read when its turn comes, so that
// a shorter sequence still means something.
type modelStep struct {
	Kind    string
	Calls   []modelDraw // one, and several for a burst
	DB      string      // what fails in the database meanwhile
	Makod   string      // what becomes of the next command for each order
	Replica int
}

// What fails in the database.
const (
	dbStatement = "statement" // a statement of the change
	dbCommit    = "commit"    // its COMMIT
	dbSettle    = "settle"    // what makes a provisional answer final
	dbDispatch  = "dispatch"  // the record of what makod has taken
)

// What becomes of a command to makod.
const (
	makodDown     = "down"     // it does not get there
	makodRefuses  = "refuses"  // makod knows no such process
	makodSwallows = "swallows" // it is carried out, and its answer is lost
)

// modelDraw is a call as it is drawn.
type modelDraw struct {
	Again     int // 0: a new one; n: the n-th last one once more
	How       int // which ids the call has that comes again
	Change    int // what is different in it then
	Route     int
	Order     int
	Body      int
	Principal int
	Reference int
	Keys      int // what it is known by, where it is new
	ID        int
	Initial   int
	Lost      bool // the answer never reaches its caller
	Replica   int
}

func drawStep(t *rapid.T) modelStep {
	s := modelStep{
		Kind: rapid.SampledFrom([]string{
			"call", "call", "call", "call", "call", "call", "call", "burst", "burst", "burst", "hold", "release", "crash", "hangup", "worker",
		}).Draw(t, "kind"),
		Makod:   rapid.SampledFrom([]string{"", "", "", makodDown, makodRefuses, makodSwallows}).Draw(t, "makod"),
		Replica: rapid.IntRange(0, 1).Draw(t, "replica"),
	}
	calls := 1
	switch s.Kind {
	case "call":
		s.DB = rapid.SampledFrom([]string{"", "", "", "", "", "", "", dbStatement, dbCommit, dbSettle, dbSettle, dbDispatch}).Draw(t, "db")
	case "burst":
		calls = rapid.IntRange(2, 5).Draw(t, "calls")
		s.DB = rapid.SampledFrom([]string{"", "", "", "", "", "", "", "", dbStatement, dbCommit}).Draw(t, "db")
	case "hold":
	default:
		calls = 0
	}
	for range calls {
		s.Calls = append(s.Calls, drawCall(t))
	}
	return s
}

func drawCall(t *rapid.T) modelDraw {
	n := func(most int, label string) int { return rapid.IntRange(0, most).Draw(t, label) }
	return modelDraw{
		Again: max(0, n(7, "again")-2), How: n(4, "how"), Change: n(12, "change"),
		Route: n(7, "route"), Order: n(9, "order"), Body: n(7, "body"),
		Principal: n(4, "principal") / 4, Reference: n(3, "reference") / 3,
		Keys: n(9, "keys"), ID: n(modelIDs-1, "id"), Initial: n(modelIDs-1, "initial"),
		Lost: n(5, "lost") == 5, Replica: n(1, "on"),
	}
}

// modelIDs is how many ids there are that calls of a sequence may share by chance.
const modelIDs = 5

// modelCall is a call as it is made.
type modelCall struct {
	route       string
	order       int // -1: one that there is not
	body        int
	principal   int
	id, initial string // headers; empty: not given
	key         string
	reference   string
	undated     bool // without a creationDateTime
	lost        bool
	replica     int
	own, first  string // what it is known by; empty: nothing
}

func (c modelCall) String() string {
	return fmt.Sprintf("%s of order %d with %s by %d: transactionId %s, initialTransactionId %s, key %s, referenceId %s, undated %t, lost %t, replica %d",
		c.route, c.order, c.content().text, c.principal, short(c.id), short(c.initial), short(c.key), short(c.reference), c.undated, c.lost, c.replica)
}

// short is the part of an id in which those of a sequence differ.
func short(id string) string { return id[max(0, len(id)-4):] }

func (c modelCall) keyed() bool { return c.id != "" || c.key != "" }

// modelUUID is an id that calls have. Sequences share them: each has a tenant of its own.
func modelUUID(n int) string { return fmt.Sprintf("0b7c1e2a-1111-4000-8000-%012x", 0xab00+n) }

// call is what d means after the calls that were made before.
func (s *modelSequence) call(d modelDraw) modelCall {
	c := modelCall{
		route: []string{"create", "execute", "execute", "fail", "fail", "fail", "cancel", "reset"}[d.Route], order: s.orderOf(d.Order),
		body: d.Body, principal: d.Principal, lost: d.Lost, replica: d.Replica,
	}
	if d.Reference == 1 {
		c.reference = modelUUID(900)
	}
	if d.Again > 0 && d.Again <= len(s.made) {
		s.again(&c, d, s.made[len(s.made)-d.Again])
	} else {
		s.named(&c, d)
	}
	if c.id == "" {
		c.reference, c.undated = "", false
	}
	c.know()
	s.made = append(s.made, c)
	return c
}

// know sets what the service must know c by.
func (c *modelCall) know() {
	c.own, c.first = c.id, c.initial
	if c.id == "" {
		c.own, c.first = c.key, c.key
		if len(c.key) > 0 && len(c.key) != 36 {
			c.own, c.first = "ik:"+c.key, "ik:"+c.key
		}
	}
	if c.first == "" {
		c.first = c.own
	}
}

// orderOf is one of the orders, and mostly an older one; -1: one that there is not.
func (s *modelSequence) orderOf(n int) int {
	if n == 9 {
		return -1
	}
	return min([]int{0, 0, 0, 1, 1, 2, 3, 4, 5}[n], len(s.model.orders)-1)
}

// again makes c another call of the operation of an earlier one, but for one change.
func (s *modelSequence) again(c *modelCall, d modelDraw, earlier modelCall) {
	another := *c
	*c = earlier
	c.lost, c.replica = d.Lost, d.Replica
	switch {
	case !c.keyed() || d.How == 0: // just as it came
	case d.How == 1 && c.id != "": // names the call before
		c.id, c.initial, c.key = s.fresh(), c.id, ""
	case len(c.first) == 36: // names the first call
		c.id, c.initial, c.key = s.fresh(), c.first, ""
	}
	switch d.Change {
	case 8:
		c.body = another.body
	case 9:
		c.principal = 1 - c.principal
	case 10:
		c.route, c.body = another.route, another.body
	case 11:
		c.order = another.order
	case 12:
		c.reference = modelUUID(901)
	}
}

// named gives a new call its ids.
func (s *modelSequence) named(c *modelCall, d modelDraw) {
	switch d.Keys {
	case 0: // none
	case 1:
		c.key = []string{"k-1", "k-2", modelUUID(d.ID)}[d.ID%3]
	case 2:
		c.id, c.initial = modelUUID(d.ID), modelUUID(d.Initial)
	case 3:
		c.id, c.initial = s.fresh(), modelUUID(d.Initial)
	case 4:
		c.id, c.initial = modelUUID(d.ID), s.fresh()
	case 5:
		c.id, c.undated = modelUUID(d.ID), d.Initial == 0
	case 6:
		c.id = modelUUID(d.ID)
		c.key = c.id
	default:
		c.id = s.fresh()
	}
}

// fresh is an id that no call of the sequence has had.
func (s *modelSequence) fresh() string {
	s.ids++
	return modelUUID(modelIDs + s.ids)
}

// modelBody is a body, and what matters in it.
type modelBody struct {
	text       string
	same       string // bodies of a route with the same say the same
	invalid    bool
	endgueltig bool
	code       bool
}

var modelBodies = map[string][]modelBody{
	"create": {
		{text: `{"malo_id":"` + malo + `","lf_mp_id":"` + lf + `","order_type":"sperrung"}`, same: "plain"},
		{text: ` { "order_type":"sperrung", "hinweis":null, "lf_mp_id":"` + lf + `", "malo_id":"5\u0031238696012"}`, same: "plain"},
		{text: `{"malo_id":"` + malo + `","lf_mp_id":"` + lf + `","order_type":"sperrung","hinweis":"Hund"}`, same: "dog"},
		{text: `{"malo_id":"51238696013","lf_mp_id":"` + lf + `","order_type":"sperrung"}`, same: "wrong", invalid: true},
	},
	"execute": {
		{text: ``, same: "nothing"},
		{text: `{}`, same: "nothing"},
		{text: "{ \"note\" : null }\n", same: "nothing"},
		{text: `{"note":"TW-1"}`, same: "note"},
		{text: `{"executed_at":"2026-09-04T08:00:00Z"}`, same: "future", invalid: true},
	},
	"fail": {
		{text: `{"reason":"niemand da"}`, same: "x"},
		{text: `{ "endgueltig":null, "reason":"\u006eiemand da" }`, same: "x"},
		{text: `{"reason":"Tor zu"}`, same: "y"},
		{text: `{"reason":"niemand da","pruefschritt_code":"A05"}`, same: "x code", code: true},
		{text: `{"reason":"niemand da","endgueltig":true}`, same: "x final", endgueltig: true},
		{text: `{"reason":"niemand da","endgueltig":true,"pruefschritt_code":"A05"}`, same: "x final code", endgueltig: true, code: true},
		{text: `{"reason":" "}`, same: "blank", invalid: true},
		{text: `{"reason":"Tor zu","pruefschritt_code":"A05"}`, same: "y code", code: true},
	},
	"cancel": modelReasons,
	"reset":  modelReasons,
}

var modelReasons = []modelBody{
	{text: ``, same: "nothing"},
	{text: `{"reason":null}`, same: "nothing"},
	{text: `{"reason":"bezahlt"}`, same: "paid"},
	{text: `{"reason":"\u0000"}`, same: "NUL", invalid: true},
}

func (c modelCall) content() modelBody {
	bodies := modelBodies[c.route]
	return bodies[c.body%len(bodies)]
}
