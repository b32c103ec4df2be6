package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"sperrd/internal/makod/makodtest"
	"sperrd/internal/webhook"
)

// market is the other side of sperrd: the Lieferanten, and makod between them and
// this Netzbetreiber.
type market struct {
	makod  *makodtest.Server
	signer *webhook.Signer
	sperrd string // base URL
}

// spawn starts the process of an event in makod, as the ORDERS of the Lieferant
// does.
func (m market) spawn(e marketEvent) error {
	_, err := m.makod.Spawn(makodtest.Process{ID: e.ProcessID, MaloID: e.MaloID, PID: e.pid(), ReceivedAt: e.At})
	return err
}

// deliver signs the event as of now and posts it to sperrd, once.
func (m market) deliver(ctx context.Context, e marketEvent, signer *webhook.Signer) (answer, error) {
	return m.deliverTo(ctx, "/webhook", e, signer)
}

// deliverTo is deliver for a makod that has this path of sperrd.
func (m market) deliverTo(ctx context.Context, path string, e marketEvent, signer *webhook.Signer) (answer, error) {
	body, err := e.body()
	if err != nil {
		return answer{}, err
	}
	header := signer.Sign(e.EventID, time.Now(), body)
	status, text, err := m.makod.Deliver(ctx, m.sperrd+path, body, header)
	return answer{status: status, body: text}, err
}

// errUnknownFault tells of a kind that faults does not have.
var errUnknownFault = errors.New("unknown kind of fault")

// faults are the ways in which makod can be made to fail, under the names that a
// person types.
func faults(kind string) (makodtest.Fault, error) {
	switch kind {
	case "down": // what a proxy says for a makod that does not run
		return makodtest.Answer(http.StatusBadGateway, "text/plain", "upstream makod does not answer"), nil
	case "drop": // the connection breaks, the command did nothing
		return makodtest.Drop(), nil
	case "lost": // the command is carried out, its answer never arrives
		return makodtest.Applied(makodtest.Drop()), nil
	case "error":
		return makodtest.EngineError(), nil
	case "busy":
		return makodtest.RateLimited(), nil
	case "hang": // until sperrd gives up
		return makodtest.Hang(), nil
	default:
		return makodtest.Fault{}, errUnknownFault
	}
}

// breakFor makes the commands about one Marktlokation fail until faults are cleared.
func (m market) breakFor(maloID, kind string) error {
	fault, err := faults(kind)
	if err != nil {
		return err
	}
	m.makod.FailNextFor(maloID, makodtest.UntilCleared, fault)
	return nil
}

// commandsFor returns the commands about one Marktlokation that makod has answered or
// let go, in the order of their arrival.
func (m market) commandsFor(maloID string) []makodtest.Request {
	return slices.DeleteFunc(m.makod.Requests(), func(r makodtest.Request) bool {
		return r.MaloID != maloID || r.End.IsZero()
	})
}

// setFault makes every command fail in this way until it is "none".
func (m market) setFault(kind string) error {
	if kind == "none" {
		m.makod.ClearFaults()
		return nil
	}
	fault, err := faults(kind)
	if err != nil {
		return err
	}
	m.makod.ClearFaults()
	m.makod.FailNext(makodtest.UntilCleared, fault)
	return nil
}
