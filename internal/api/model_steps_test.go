package api_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"sperrd/internal/makod/makodtest"
	"sperrd/internal/sperr"
)

// modelSequence is one sequence of calls in the world, and beside it what the model says.
type modelSequence struct {
	*modelWorld
	rt        *rapid.T
	tenant    string
	tokens    [2]string
	processes [2]*modelProcess
	makod     *makodtest.Server
	model     *model
	made      []modelCall
	ids       int
	held      *modelHeld
}

// modelHeld is a call whose command makod has, and to which it gives no answer.
type modelHeld struct {
	call     modelCall
	expected modelExpected
	fault    string
	exchange *modelExchange
	gate     *makodtest.Gate
	hangUp   context.CancelFunc
	over     chan error
}

// begin starts a sequence with two orders of the market and one of an operator.
func (w *modelWorld) begin(t *rapid.T, modern bool) *modelSequence {
	w.tenants++
	s := &modelSequence{
		modelWorld: w, rt: t, tenant: fmt.Sprintf("99%011d", w.tenants), model: &model{ids: map[string]modelID{}, modern: modern},
	}
	options := makodtest.Options{APIKey: "key", Now: func() time.Time { return now }}
	if modern {
		options.Idempotency = makodtest.IdempotencyCompare24h
	}
	s.makod = makodtest.New(options)
	w.makod.Store(s.makod)
	for i := range s.processes {
		s.processes[i] = w.newProcess(w.pools[i], s.tenant)
	}
	for i, subject := range []string{"disponent-1", "monteur-2"} {
		s.tokens[i] = w.issuer.Token(w.t, claims{"sub": subject, "mako_tenant": s.tenant})
	}
	for i := range 2 {
		s.receive(maloOf(i))
	}
	create := modelCall{route: "create"}
	s.sequential(create, modelStep{})
	return s
}

func (s *modelSequence) end() {
	s.makod.Close()
	for _, p := range s.processes {
		p.client.Close()
	}
}

// receive queues an order of the market.
func (s *modelSequence) receive(maloID string) {
	process, err := s.makod.Spawn(makodtest.Process{MaloID: maloID, PID: 17115})
	if err != nil {
		s.rt.Fatal(err)
	}
	event := uuid.NewString()
	body := fmt.Appendf(nil, `{"specversion":"1.0","id":"%s","source":"urn:x","type":"de.mako.process.initiated","subject":"%s",
		"makopid":17115,"data":{"malo_id":"%s","lf_mp_id":"%s"}}`, event, process.ID, maloID, lf)
	header := signed(s.t, body)
	header.Set("Content-Type", "application/cloudevents+json")
	x := &modelExchange{process: s.processes[0], done: make(chan struct{})}
	if err := s.exchange(s.t.Context(), x, http.MethodPost, "/webhook", string(body), header); err != nil {
		s.rt.Fatal(err)
	}
	if x.answer.status != http.StatusCreated {
		s.rt.Fatalf("event: %d %s", x.answer.status, x.answer.body)
	}
	id := decode[map[string]string](s.t, x.answer, http.StatusCreated)["id"]
	s.model.orders = append(s.model.orders, modelOrder{
		id: id, malo: maloID, eventID: event, status: "pending",
		events: []modelEvent{{"de.sperr.auftrag.eingegangen", event, ""}}, history: []modelLine{{"created", ""}},
	})
}

// send makes a call and returns when it is answered.
func (s *modelSequence) send(ctx context.Context, x *modelExchange, c modelCall) error {
	method, path := http.MethodPost, orders
	if c.route != "create" {
		id := modelUUID(999)
		if c.order >= 0 {
			id = s.model.orders[c.order].id
		}
		method, path = http.MethodPut, orders+"/"+id+"/"+c.route
		if c.route == "reset" {
			method, path = http.MethodPost, orders+"/"+id+"/iftsta/reset"
		}
	}
	header := http.Header{"Authorization": {"Bearer " + s.tokens[c.principal]}}
	lines := map[string]string{
		"transactionId": c.id, "initialTransactionId": c.initial, "referenceId": c.reference, "Idempotency-Key": c.key,
		"creationDateTime": now.Format("2006-01-02T15:04:05.000Z"), "Content-Type": "application/json",
	}
	if c.id == "" || c.undated {
		lines["creationDateTime"] = ""
	}
	maps.DeleteFunc(lines, func(_, value string) bool { return value == "" })
	for name, value := range lines {
		header.Set(name, value)
	}
	return s.exchange(ctx, x, method, path, c.content().text, header)
}

func (s *modelSequence) newExchange(c modelCall) *modelExchange {
	x := &modelExchange{process: s.processes[c.replica], done: make(chan struct{})}
	x.lost.Store(c.lost)
	return x
}

// arm lets the next command for each order that has none yet on its way end in fault.
func (s *modelSequence) arm(fault string) {
	faults := map[string]makodtest.Fault{
		makodDown: makodtest.Drop(), makodRefuses: makodtest.ProcessNotFound(), makodSwallows: makodtest.Applied(makodtest.Drop()),
	}
	f, ok := faults[fault]
	if !ok {
		return
	}
	for _, o := range s.model.orders {
		if o.market() && !o.held {
			s.makod.FailNextFor(o.malo, 1, f)
		}
	}
}

// sequential makes one call and compares its answer.
func (s *modelSequence) sequential(c modelCall, step modelStep) {
	s.fail(s.rt, s.tenant, step.DB)
	s.arm(step.Makod)
	x := s.newExchange(c)
	if err := s.send(s.t.Context(), x, c); err != nil {
		s.rt.Fatalf("%v: %v", c, err)
	}
	s.makod.ClearFaults()
	s.heal(s.rt, s.tenant, step.DB)
	s.rt.Logf("%v -> %d %s", c, x.answer.status, x.answer.body)
	expected := s.model.finish(s.model.apply(c, step.DB), step.Makod, step.DB)
	if err := s.model.match(expected, c, x.answer); err != nil {
		s.rt.Fatalf("%v, database: %q, makod: %q: %v", c, step.DB, step.Makod, err)
	}
}

// burst makes calls at the same time. What is told that its operation is in progress comes
// again afterwards, when it must get its answer.
func (s *modelSequence) burst(calls []modelCall, step modelStep) {
	s.fail(s.rt, s.tenant, step.DB)
	s.arm(step.Makod)
	exchanges := make([]*modelExchange, len(calls))
	errs := make([]error, len(calls))
	var group sync.WaitGroup
	for i, c := range calls {
		exchanges[i] = s.newExchange(c)
		group.Go(func() { errs[i] = s.send(s.t.Context(), exchanges[i], c) })
	}
	group.Wait()
	s.makod.ClearFaults()
	s.heal(s.rt, s.tenant, step.DB)
	var answered, later []modelCall
	var answers []answer
	for i, c := range calls {
		if errs[i] != nil {
			s.rt.Fatalf("%v: %v", c, errs[i])
		}
		a := exchanges[i].answer
		s.rt.Logf("at the same time %v -> %d %s %s", c, a.status, a.body, a.header.Get("Idempotent-Replayed"))
		if codeOf(a) == "transaction_in_progress" && c.keyed() && a.status == http.StatusConflict && a.header.Get("Retry-After") == "1" {
			later = append(later, c)
			continue
		}
		answered, answers = append(answered, c), append(answers, a)
	}
	explained, err := s.model.explain(answered, answers, step)
	if err != nil {
		s.rt.Fatalf("%v: %v, database: %q, makod: %q", answered, err, step.DB, step.Makod)
	}
	s.model = explained
	for _, c := range later {
		s.sequential(c, modelStep{})
	}
}

// hold makes a call that closes an order of the market, and leaves it waiting for makod.
// It takes another call of the kind if c is none.
func (s *modelSequence) hold(c modelCall, step modelStep) {
	if s.held != nil {
		return
	}
	if e := s.model.clone().apply(c, ""); !e.sends {
		c = s.closing(c)
	}
	expected := s.model.apply(c, "")
	o := &s.model.orders[expected.order]
	s.arm(step.Makod)
	h := &modelHeld{call: c, expected: expected, fault: step.Makod, exchange: s.newExchange(c), gate: s.makod.HoldFor(o.malo), over: make(chan error, 1)}
	ctx, hangUp := context.WithCancel(s.t.Context())
	h.hangUp, s.held, o.held = hangUp, h, true
	go func() { h.over <- s.send(ctx, h.exchange, c) }()
	if err := h.gate.Wait(s.patience(), 1); err != nil {
		h.gate.Release()
		s.rt.Fatalf("%v: %v; answered %v", c, err, <-h.over)
	}
	s.makod.ClearFaults()
	s.rt.Logf("%v waits for makod, which %q", c, step.Makod)
}

// closing makes of c the first call that closes an order of the market.
func (s *modelSequence) closing(c modelCall) modelCall {
	c.order = slices.IndexFunc(s.model.orders, func(o modelOrder) bool { return o.market() && o.status == "pending" })
	if c.order < 0 {
		c.order = len(s.model.orders)
		s.receive(maloOf(c.order))
	}
	c.route, c.body = "execute", c.body%4
	if c.keyed() {
		c.id, c.initial, c.key, c.undated = s.fresh(), "", "", false
		c.know()
	}
	s.made = append(s.made, c)
	return c
}

// patience bounds the waits that end by themselves unless something is broken.
func (s *modelSequence) patience() context.Context {
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	s.rt.Cleanup(cancel)
	return ctx
}

// hangUp lets the caller of the call that waits go away.
func (s *modelSequence) hangUp() {
	if s.held != nil {
		s.rt.Logf("its caller hangs up")
		s.held.hangUp()
	}
}

// release lets makod answer the call that waits.
func (s *modelSequence) release() {
	h := s.held
	if h == nil {
		return
	}
	s.letGo()
	expected := s.model.finish(h.expected, h.fault, "")
	s.rt.Logf("makod answers: %d %s", h.exchange.answer.status, h.exchange.answer.body)
	if err := s.model.match(expected, h.call, h.exchange.answer); err != nil {
		s.rt.Fatalf("%v when makod %q: %v", h.call, h.fault, err)
	}
}

func (s *modelSequence) letGo() {
	h := s.held
	s.held = nil
	s.model.orders[h.expected.order].held = false
	h.gate.Release()
	err := <-h.over
	h.hangUp()
	<-h.exchange.done
	if err != nil {
		s.rt.Fatalf("%v: %v", h.call, err)
	}
}

// crash ends a process, the one that waits for makod if there is one: without a database
// and a caller nothing of what it still does is seen. Another one takes its place.
func (s *modelSequence) crash(replica int) {
	if s.held != nil {
		replica = s.held.call.replica
	}
	s.rt.Logf("process %d ends", replica)
	s.processes[replica].pool.Close()
	if h := s.held; h != nil {
		h.exchange.lost.Store(true)
		s.letGo()
		o := &s.model.orders[h.expected.order]
		o.sends, o.unclear = o.sends+1, true
		o.applied = o.applied || h.fault == "" || h.fault == makodSwallows
	}
	s.processes[replica].client.Close()
	s.pools[replica] = s.openPool()
	s.processes[replica] = s.newProcess(s.pools[replica], s.tenant)
}

// work lets a retry worker send what is due, which is everything but what is on its way.
func (s *modelSequence) work(step modelStep) {
	var due []string
	ended := 0
	for i := range s.model.orders {
		o := &s.model.orders[i]
		ended += o.sends
		if o.outstanding() && !o.held {
			due = append(due, o.id)
		}
	}
	if due == nil {
		return
	}
	s.exec(s.rt, `UPDATE sperr_orders SET iftsta_next_attempt_at = now() - interval '1 second' WHERE id = ANY ($1::uuid[])`, due)
	s.arm(step.Makod)
	ctx, stop := context.WithCancel(s.t.Context())
	worker := sperr.NewRetryWorker(s.processes[step.Replica].service, sperr.RetryOptions{PollInterval: time.Hour, Parallelism: 4})
	var running sync.WaitGroup
	running.Go(func() { worker.Run(ctx) })
	err := s.makod.WaitEnded(s.patience(), ended+len(due))
	stop()
	running.Wait()
	s.makod.ClearFaults()
	if err != nil {
		s.rt.Fatalf("the worker with %d outcomes: %v", len(due), err)
	}
	s.rt.Logf("the worker has sent %d outcomes, makod %q", len(due), step.Makod)
	for i := range s.model.orders {
		if o := &s.model.orders[i]; slices.Contains(due, o.id) {
			o.attempts++
			s.model.send(o, step.Makod, "")
		}
	}
}
