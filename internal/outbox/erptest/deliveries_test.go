package erptest

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDeliveries_tell_what_arrived(t *testing.T) {
	t.Parallel()
	s := newServer()
	before := time.Now()
	first := deliver(order1, "e1", "de.sperr.a")
	post(s, first)
	spoilt := deliver(order2, "e2", "de.sperr.b")
	spoilt.key = nil
	post(s, spoilt)
	all := s.Deliveries()
	if len(all) != 2 {
		t.Fatalf("%d deliveries", len(all))
	}
	d := all[0]
	if d.EventID != "e1" || d.Type != "de.sperr.a" || d.OrderID != order1 || d.Event.ID() != "e1" || d.Status != 204 ||
		d.Begun.Before(before) || d.Ended.Before(d.Begun) || d.Header.Get("transactionId") != first.transaction {
		t.Errorf("%+v", d)
	}
	found := s.DeliveriesFor(order2)
	if len(found) != 1 || found[0].EventID != "e2" || found[0].Status != 401 {
		t.Errorf("%+v", found)
	}
}

func TestAccepted_keeps_each_event_once_in_order(t *testing.T) {
	t.Parallel()
	s := newServer()
	for _, d := range []delivery{
		deliver(order1, "e2", "de.sperr.b"), deliver(order2, "e3", "de.sperr.c"),
		deliver(order1, "e1", "de.sperr.a"), deliver(order1, "e2", "de.sperr.b"),
	} {
		wantStatus(t, post(s, d), 204)
	}
	var ids []string
	for _, e := range s.Accepted() {
		ids = append(ids, e.ID())
	}
	if diff := cmp.Diff([]string{"e2", "e3", "e1"}, ids); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"de.sperr.b", "de.sperr.a"}, s.AcceptedFor(order1)); diff != "" {
		t.Error(diff)
	}
	if s.Duplicates() != 1 {
		t.Errorf("%d duplicates", s.Duplicates())
	}
}

func TestOverlaps_count_two_deliveries_of_one_order(t *testing.T) {
	t.Parallel()
	s := newServer()
	gate := s.Hold()
	var senders sync.WaitGroup
	for i, order := range []string{order1, order2, order1} {
		senders.Go(func() { post(s, deliver(order, "e"+string(rune('1'+i)), "de.sperr.a")) })
	}
	if err := gate.Wait(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	gate.Release()
	senders.Wait()
	post(s, deliver(order2, "e4", "de.sperr.a")) // one after the other is no overlap
	if s.Overlaps() != 1 {
		t.Errorf("%d overlaps", s.Overlaps())
	}
	if d := s.DeliveriesFor(order1); d[0].Overlapped || !d[1].Overlapped {
		t.Errorf("%+v", d)
	}
}

func TestWait_ends_with_the_event_or_the_context(t *testing.T) {
	t.Parallel()
	s := newServer()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, wait := range []func(context.Context, int) error{s.WaitEnded, s.WaitAccepted, s.Hold().Wait} {
		if err := wait(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	s = newServer()
	accepted := make(chan error, 1)
	go func() { accepted <- s.WaitAccepted(t.Context(), 1) }()
	post(s, deliver(order1, "e1", "de.sperr.a"))
	if err := errors.Join(<-accepted, s.WaitEnded(t.Context(), 1)); err != nil {
		t.Error(err)
	}
}

func TestServe_ends_with_its_context(t *testing.T) {
	t.Parallel()
	s := newServer()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, ln) }()
	url := "http://" + ln.Addr().String()
	if status, err := send(t.Context(), url, deliver(order1, "e1", "de.sperr.a")); err != nil || status != 204 {
		t.Errorf("%d, %v", status, err)
	}
	gate := s.Hold() // its answers do not delay the end
	held := make(chan error, 1)
	go func() {
		_, err := send(t.Context(), url, deliver(order1, "e2", "de.sperr.b"))
		held <- err
	}()
	if err := gate.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := <-held; err == nil {
		t.Error("the held answer was sent")
	}
	if err := s.Serve(t.Context(), ln); err == nil {
		t.Error("serving on a closed listener succeeds")
	}
}
