package main

import (
	"context"
	"net/http"
	"time"

	"sperrd/internal/webhook"
	"sperrd/internal/werktag"
)

// fields is the body of a request.
type fields map[string]any

// path is where the order is found, or one of its parts.
func (o order) path(part string) string { return ordersPath + "/" + o.ID.String() + part }

// orders are those of the story, in the order of their arrival.
func (s *story) orders() []order {
	return []order{s.fixed, s.earliest, s.entsperrung, s.withdrawn, s.late, s.operator, s.repeated, s.reordered, s.replayed}
}

// arrival is a moment on the Werktag that lies so many before day: when the ORDERS
// came in.
func (s *story) arrival(day werktag.Date, werktage int) time.Time {
	came, err := werktag.BDEW().Sub(day, werktage)
	s.try(err)
	return came.Start().Add(9*time.Hour + 12*time.Minute)
}

func (s *story) werktageAgo(werktage int) werktag.Date {
	day, err := werktag.BDEW().Sub(s.due, werktage)
	s.try(err)
	return day
}

func (s *story) werktageAhead(werktage int) werktag.Date {
	day, err := werktag.BDEW().Add(s.today, werktage)
	s.try(err)
	return day
}

// receive lets a Lieferant order: the process begins in makod, its event goes to
// sperrd, and an order comes of it.
func (s *story) receive(ctx context.Context, what string, e marketEvent) order {
	if s.done() {
		return order{}
	}
	s.try(s.market.spawn(e))
	a := s.deliver(ctx, http.StatusCreated, what, e)
	o := s.look(ctx, read[order](s, a))
	s.expect(o.Status == "pending" && o.MaloID == e.MaloID && o.LieferantID == e.LieferantID && o.ProcessID != nil && *o.ProcessID == e.ProcessID,
		"the order is not what the event said: %+v", o)
	for _, warning := range o.Warnungen {
		s.note("warned: %s", warning)
	}
	return o
}

// passOver delivers an event that must not make an order.
func (s *story) passOver(ctx context.Context, what string, e marketEvent) {
	s.deliver(ctx, http.StatusNoContent, what, e)
}

func (s *story) deliver(ctx context.Context, want int, what string, e marketEvent) answer {
	return s.deliverSigned(ctx, want, what, e, s.market.signer)
}

// deliverForged delivers an event signed by somebody who does not know the secret.
func (s *story) deliverForged(ctx context.Context, what string, e marketEvent) {
	stranger, err := webhook.NewSigner("a secret that is not sperrd's")
	s.try(err)
	s.deliverSigned(ctx, http.StatusUnauthorized, what, e, stranger)
}

func (s *story) deliverSigned(ctx context.Context, want int, what string, e marketEvent, signer *webhook.Signer) answer {
	if s.done() {
		return answer{}
	}
	a, err := s.market.deliver(ctx, e, signer)
	s.try(err)
	s.answered(what, a)
	s.expect(a.status == want, "expected %d for %s, got %d %s", want, what, a.status, a.body)
	return a
}

// ask sends a request of the disponent and tells the answer.
func (s *story) ask(ctx context.Context, want int, r request) answer {
	return s.askAs(ctx, s.sperrd, want, r)
}

// askAs is ask for whoever that client is.
func (s *story) askAs(ctx context.Context, who *client, want int, r request) answer {
	if s.done() {
		return answer{}
	}
	a, err := who.do(ctx, r)
	s.try(err)
	s.answered(r.method+" "+r.path, a)
	s.expect(a.status == want, "expected %d for %s %s, got %d %s", want, r.method, r.path, a.status, a.body)
	s.expectNamed(r.ids, a)
	return a
}

// report is ask for what the app of the field team sends: a new report each time.
func (s *story) report(ctx context.Context, want int, path string, body any) {
	a := s.ask(ctx, want, request{http.MethodPut, path, body, newIdentifiers()})
	s.expect(!a.replayed(), "a new report gets the answer of an old one: %s", a.body)
}

// call is ask for a client without ids: what it sends twice is done twice, if it can be.
func (s *story) call(ctx context.Context, want int, method, path string, body any) answer {
	return s.ask(ctx, want, request{method: method, path: path, body: body})
}

// fetch is call for what the story asks by itself.
func (s *story) fetch(ctx context.Context, path string) answer {
	if s.done() {
		return answer{}
	}
	a, err := s.sperrd.do(ctx, request{method: http.MethodGet, path: path})
	s.try(err)
	s.expect(a.status == http.StatusOK, "expected 200 for GET %s, got %d %s", path, a.status, a.body)
	return a
}

// read decodes an answer.
func read[T any](s *story, a answer) (value T) {
	if s.done() {
		return value
	}
	value, err := decode[T](a)
	s.try(err)
	return value
}

// look reads an order as it stands now.
func (s *story) look(ctx context.Context, o order) order {
	return read[order](s, s.fetch(ctx, o.path("")))
}

// list reads a list to its end.
func (s *story) list(ctx context.Context, query string) []order {
	return s.pages(ctx, s.fetch(ctx, ordersPath+query))
}

// pages reads the orders of a page and of all that follow it.
func (s *story) pages(ctx context.Context, a answer) []order {
	all := read[[]order](s, a)
	for path := a.next(); path != "" && !s.done(); path = a.next() {
		a = s.fetch(ctx, path)
		all = append(all, read[[]order](s, a)...)
	}
	return all
}
