package erptest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
)

// Delivery is one request as it arrived and ended. Its event and header must not
// be changed.
type Delivery struct {
	EventID    string // these three as the body says, "" where it says nothing
	Type       string
	OrderID    string
	Event      event.Event // zero if the body is no valid event
	Header     http.Header
	Begun      time.Time
	Ended      time.Time // zero while under way
	Status     int       // 0 without an answer
	Problem    string    // why the ERP refuses it, or would have but for a fault
	Overlapped bool      // another one of its order was under way when it arrived
}

// ErrClosed is the end of a wait on a Server that was closed.
var ErrClosed = errors.New("the simulated ERP is closed")

// Deliveries returns every request, refused and failed ones too, in the order of
// arrival.
func (s *Server) Deliveries() []Delivery {
	return s.deliveriesWhere(func(*Delivery) bool { return true })
}

// DeliveriesFor returns the requests about one order, in the order of arrival.
func (s *Server) DeliveriesFor(orderID string) []Delivery {
	return s.deliveriesWhere(func(d *Delivery) bool { return d.OrderID == orderID })
}

func (s *Server) deliveriesWhere(wanted func(*Delivery) bool) []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Delivery
	for _, d := range s.deliveries {
		if wanted(d) {
			found = append(found, *d)
		}
	}
	return found
}

// Accepted returns the events that the ERP has taken, each once, in the order in
// which it first took them.
func (s *Server) Accepted() []event.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.accepted)
}

// AcceptedFor returns the types of the events taken about one order, in the order
// in which they were first taken.
func (s *Server) AcceptedFor(orderID string) []string {
	var types []string
	for _, e := range s.Accepted() {
		if orderOf(e) == orderID {
			types = append(types, e.Type())
		}
	}
	return types
}

// Duplicates counts the deliveries of events that had been taken before. The ERP
// answers them like the first.
func (s *Server) Duplicates() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.duplicates
}

// Overlaps counts the deliveries that arrived while another one of their order
// was under way: two senders at work on one order.
func (s *Server) Overlaps() int {
	return len(s.deliveriesWhere(func(d *Delivery) bool { return d.Overlapped }))
}

// WaitBegun waits until n deliveries have arrived since the start: the way to
// know that one hangs. It fails when ctx ends or with ErrClosed.
func (s *Server) WaitBegun(ctx context.Context, n int) error {
	if err := s.line.Await(ctx, func() bool { return len(s.deliveries) >= n }); err != nil {
		return fmt.Errorf("wait for %d deliveries to begin: %w", n, err)
	}
	return nil
}

// WaitEnded waits until n deliveries have ended since the start, however they
// did. It fails when ctx ends or with ErrClosed.
func (s *Server) WaitEnded(ctx context.Context, n int) error {
	if err := s.line.Await(ctx, func() bool { return s.ended >= n }); err != nil {
		return fmt.Errorf("wait for %d deliveries to end: %w", n, err)
	}
	return nil
}

// WaitAccepted waits until the ERP has taken n events. It fails when ctx ends or
// with ErrClosed.
func (s *Server) WaitAccepted(ctx context.Context, n int) error {
	if err := s.line.Await(ctx, func() bool { return len(s.accepted) >= n }); err != nil {
		return fmt.Errorf("wait for %d events: %w", n, err)
	}
	return nil
}

// begin logs an arrival. s.mu is held.
func (s *Server) begin(m *message) *Delivery {
	d := &Delivery{
		EventID: m.eventID, Type: m.eventType, OrderID: m.orderID,
		Event: m.event, Header: m.header, Begun: time.Now(),
	}
	if d.OrderID != "" {
		d.Overlapped = s.inFlight[d.OrderID] > 0
		s.inFlight[d.OrderID]++
	}
	s.deliveries = append(s.deliveries, d)
	s.line.Broadcast()
	return d
}

// accept takes an event. s.mu is held.
func (s *Server) accept(e event.Event) {
	if s.known[e.ID()] {
		s.duplicates++
		return
	}
	s.known[e.ID()] = true
	s.accepted = append(s.accepted, e)
	s.line.Broadcast()
}

// end logs how a delivery ended, status 0 meaning without an answer.
func (s *Server) end(d *Delivery, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.Ended, d.Status = time.Now(), status
	s.ended++
	if s.inFlight[d.OrderID]--; s.inFlight[d.OrderID] <= 0 {
		delete(s.inFlight, d.OrderID)
	}
	s.line.Broadcast()
}

// orderOf reads the order out of the data; an event about none has "".
func orderOf(e event.Event) string {
	var data struct {
		OrderID string `json:"order_id"`
	}
	_ = e.DataAs(&data) // data of another form names no order
	return data.OrderID
}
