package erptest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFail_lasts_until_Recover(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.Fail(Answer(500))
	s.FailFor(order2, Answer(410))
	for range 2 {
		wantStatus(t, post(s, deliver(order1, "e1", "de.sperr.a")), 500)
		wantStatus(t, post(s, deliver(order2, "e2", "de.sperr.a")), 410)
	}
	if n := len(s.Accepted()); n != 0 {
		t.Errorf("%d events taken in spite of the fault", n)
	}
	s.FailNext(1, Answer(500))
	s.Recover()
	wantStatus(t, post(s, deliver(order1, "e1", "de.sperr.a")), 204)
	wantStatus(t, post(s, deliver(order2, "e2", "de.sperr.a")), 204)
}

func TestFailNext_counts_and_comes_before_Fail(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.Fail(Answer(500))
	s.FailNext(2, Answer(429))
	s.FailNext(1, Answer(413))
	s.FailNext(-1, Answer(400))
	for _, status := range []int{429, 429, 413, 500} {
		wantStatus(t, post(s, deliver(order1, "e1", "de.sperr.a")), status)
	}
}

func TestFailFor_lets_other_orders_pass(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.FailFor(order1, Answer(500))
	wantStatus(t, post(s, deliver(order2, "e2", "de.sperr.a")), 204)
	wantStatus(t, post(s, deliver(order1, "e1", "de.sperr.a")), 500)
}

func TestBusy_says_when_to_come_back(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.FailNext(1, Busy(1500*time.Millisecond))
	w := post(s, deliver(order1, "e1", "de.sperr.a"))
	wantStatus(t, w, 503)
	if got := w.Header().Get("Retry-After"); got != "2" {
		t.Errorf("Retry-After %q", got)
	}
}

func TestRedirect_says_where_to(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.FailNext(1, Redirect("http://127.0.0.1:1/other"))
	w := post(s, deliver(order1, "e1", "de.sperr.a"))
	wantStatus(t, w, 307)
	if got := w.Header().Get("Location"); got != "http://127.0.0.1:1/other" {
		t.Errorf("Location %q", got)
	}
}

func TestDrop_closes_the_connection(t *testing.T) {
	t.Parallel()
	s := newServer()
	url := s.Start(t)
	s.FailNext(1, Drop())
	if status, err := send(t.Context(), url, deliver(order1, "e1", "de.sperr.a")); err == nil {
		t.Errorf("an answer came: %d", status)
	}
	if d := s.Deliveries()[0]; d.Status != 0 || d.Ended.IsZero() || len(s.Accepted()) != 0 {
		t.Errorf("%+v, %d accepted", d, len(s.Accepted()))
	}
}

func TestHang_ends_when_the_client_gives_up(t *testing.T) {
	t.Parallel()
	s := newServer()
	url := s.Start(t)
	s.FailNext(1, Hang())
	ctx, giveUp := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := send(ctx, url, deliver(order1, "e1", "de.sperr.a"))
		ended <- err
	}()
	if err := s.WaitBegun(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if d := s.Deliveries()[0]; !d.Ended.IsZero() {
		t.Error("the delivery does not hang")
	}
	giveUp()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := s.WaitEnded(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if d := s.Deliveries()[0]; d.Status != 0 || len(s.Accepted()) != 0 {
		t.Errorf("%+v, %d accepted", d, len(s.Accepted()))
	}
}

func TestApplied_takes_the_event_and_loses_the_answer(t *testing.T) {
	t.Parallel()
	s := newServer()
	url := s.Start(t)
	s.FailNext(1, Applied(Drop()))
	s.FailNext(1, Applied(Answer(502)))
	if status, err := send(t.Context(), url, deliver(order1, "e1", "de.sperr.a")); err == nil {
		t.Errorf("an answer came: %d", status)
	}
	wantStatus(t, post(s, deliver(order1, "e2", "de.sperr.b")), 502)
	wantStatus(t, post(s, deliver(order1, "e1", "de.sperr.a")), 204)
	if diff := cmp.Diff([]string{"de.sperr.a", "de.sperr.b"}, s.AcceptedFor(order1)); diff != "" || s.Duplicates() != 1 {
		t.Errorf("%d duplicates; %s", s.Duplicates(), diff)
	}
}

func TestApplied_leaves_a_refusal_as_it_is(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.Fail(Applied(Hang()))
	d := deliver(order1, "e1", "de.sperr.a")
	d.key = []byte("x")
	wantStatus(t, post(s, d), 401)
	if n := len(s.Accepted()); n != 0 {
		t.Errorf("%d events taken", n)
	}
}

func TestFault_hides_no_problem(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.Fail(Answer(503))
	d := deliver(order1, "e1", "de.sperr.a")
	d.creation = ""
	wantStatus(t, post(s, d), 503)
	if s.Deliveries()[0].Problem == "" {
		t.Error("the log does not tell that the delivery was wrong")
	}
}

func TestHold_keeps_the_answer_but_not_the_event(t *testing.T) {
	t.Parallel()
	s := newServer()
	url := s.Start(t)
	gate := s.Hold()
	statuses := make(chan int, 1)
	go func() {
		status, _ := send(t.Context(), url, deliver(order1, "e1", "de.sperr.a"))
		statuses <- status
	}()
	if err := gate.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if d := s.Deliveries()[0]; !d.Ended.IsZero() || len(s.Accepted()) != 1 {
		t.Errorf("%+v, %d accepted", d, len(s.Accepted()))
	}
	gate.Release()
	gate.Release()
	if status := <-statuses; status != 204 {
		t.Errorf("status %d", status)
	}
	wantStatus(t, post(s, deliver(order1, "e2", "de.sperr.b")), 204)
}

func TestClose_ends_what_is_held_and_what_waits(t *testing.T) {
	t.Parallel()
	s := newServer()
	url := s.Start(t)
	gate := s.Hold()
	ended := make(chan error, 1)
	go func() {
		_, err := send(t.Context(), url, deliver(order1, "e1", "de.sperr.a"))
		ended <- err
	}()
	if err := gate.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := <-ended; err == nil {
		t.Error("the held answer was sent")
	}
	if err := gate.Wait(t.Context(), 2); !errors.Is(err, ErrClosed) {
		t.Errorf("waiting on a closed server: %v", err)
	}
	gate.Release()
	wantStatus(t, post(s, deliver(order1, "e2", "de.sperr.b")), 204)
}
