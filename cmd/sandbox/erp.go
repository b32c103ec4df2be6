package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"sperrd/internal/outbox/erptest"
)

// erpRetryAfter is what a busy ERP asks for: sperrd's own waits after a failed
// delivery begin with half a minute.
const erpRetryAfter = 2 * time.Second

// erp is the other neighbour that sperrd reports to. What it takes it has verified
// with the public library of Standard Webhooks.
type erp struct {
	*erptest.Server
}

// drawERPSecret draws a secret in the form of that library.
func drawERPSecret() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(key)
}

// startERP serves the simulated ERP and returns the URL for events.
func (n *neighbourhood) startERP(ctx context.Context, secret string) (string, error) {
	listener, err := port{"--erp-port", n.ERPPort, 8783}.listen(ctx, loopback, n.say)
	if err != nil {
		return "", err
	}
	server := erptest.New(erptest.Options{Secret: secret})
	n.erp = erp{server}
	n.background(ctx, "ERP", func(ctx context.Context) error { return server.Serve(ctx, listener) })
	n.say("simulated ERP on %s", urlOf(portOf(listener)))
	return urlOf(portOf(listener)) + "/events", nil
}

// erpFaults are the ways in which the ERP can be made to fail, under the names that a
// person types.
func erpFaults(kind string) (erptest.Fault, error) {
	switch kind {
	case "down": // what a proxy says for an ERP that does not run
		return erptest.Answer(http.StatusBadGateway), nil
	case "busy": // what one says during a deployment
		return erptest.Busy(erpRetryAfter), nil
	case "refuse": // never this event: a dead letter
		return erptest.Answer(http.StatusUnprocessableEntity), nil
	case "hang": // until sperrd gives up
		return erptest.Hang(), nil
	default:
		return erptest.Fault{}, errUnknownFault
	}
}

// setFault makes every delivery fail in this way until it is "none".
func (e erp) setFault(kind string) error {
	if kind == "none" {
		e.Recover()
		return nil
	}
	fault, err := erpFaults(kind)
	if err != nil {
		return err
	}
	e.Fail(fault)
	return nil
}

// knows are the types of the events about an order in the order in which the ERP took
// them, without what all have in front.
func (e erp) knows(o order) string {
	types := e.AcceptedFor(o.ID.String())
	for i := range types {
		types[i] = strings.TrimPrefix(types[i], eventPrefix)
	}
	return strings.Join(types, ", ")
}

// eventPrefix begins the type of each event for the ERP.
const eventPrefix = "de.sperr."

func (e erp) handleFault(w http.ResponseWriter, r *http.Request) {
	kind := r.URL.Query().Get("kind")
	if err := e.setFault(kind); err != nil {
		reply(w, http.StatusBadRequest, fields{"error": fmt.Sprintf("%v: kind is %q, want none, down, busy, refuse or hang", err, kind)})
		return
	}
	reply(w, http.StatusOK, fields{"kind": kind})
}

// takenEvent is an event as the ERP has taken it.
type takenEvent struct {
	OrderID string    `json:"order_id"`
	Type    string    `json:"type"`
	ID      string    `json:"id"`
	Time    time.Time `json:"time"` // of what it tells, not of its delivery
	// What it comes of: the first call for a report, or the event of the market, and
	// the call that counted.
	ReferenceID   string `json:"referenceid,omitempty"`
	TransactionID string `json:"transactionid,omitempty"`
}

func newTakenEvent(e event.Event) takenEvent {
	var data struct {
		OrderID string `json:"order_id"`
	}
	_ = e.DataAs(&data) // shown without an order, if it names none
	reference, _ := e.Extensions()["referenceid"].(string)
	transaction, _ := e.Extensions()["transactionid"].(string)
	return takenEvent{data.OrderID, e.Type(), e.ID(), e.Time().UTC(), reference, transaction}
}

// taken are the events that the ERP has taken, in that order.
func (e erp) taken() []takenEvent {
	all := []takenEvent{}
	for _, accepted := range e.Accepted() {
		all = append(all, newTakenEvent(accepted))
	}
	return all
}

func (e erp) handleEvents(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, e.taken())
}
