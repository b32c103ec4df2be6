package makodtest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHold_keeps_the_answer_but_not_the_command(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	url := s.Start(t)
	gate := s.Hold()
	statuses := make(chan int, 1)
	go func() {
		status, _, _ := send(t.Context(), url, "k1", execute)
		statuses <- status
	}()
	if err := gate.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if p, _ := s.Process(id1); p.State != StateAusgefuehrt {
		t.Errorf("process is %s", p.State)
	}
	if r := s.Requests()[0]; !r.End.IsZero() || len(statuses) != 0 {
		t.Errorf("the command has ended: %+v", r)
	}
	gate.Release()
	gate.Release()
	if status := <-statuses; status != 202 {
		t.Errorf("status %d", status)
	}
	if w := post(s, "k2", execute); w.Code != 409 {
		t.Errorf("after the release: %d", w.Code)
	}
}

func TestHoldFor_lets_other_MaLos_pass(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	defer s.HoldFor(malo2).Release()
	if w := post(s, "k1", execute); w.Code != 202 {
		t.Errorf("%d", w.Code)
	}
}

func TestHold_ends_without_answer_when_the_server_closes(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	url := s.Start(t)
	gate := s.Hold()
	ended := make(chan error, 1)
	go func() {
		_, _, err := send(t.Context(), url, "k1", execute)
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
	if w := post(s, "k1", execute); w.Code != 409 {
		t.Errorf("a closed server answers %d", w.Code)
	}
}

func TestWait_ends_with_its_context(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.WaitEnded(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestOverlaps_names_keys_with_two_senders(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	mustSpawn(t, s, Process{ID: id2, MaloID: malo2, PID: 17115})
	url := s.Start(t)
	gate := s.Hold()
	for _, r := range [][2]string{{"k1", execute}, {"k1", execute}, {"k2", executeFor(malo2)}} {
		go func() { _, _, _ = send(t.Context(), url, r[0], r[1]) }()
	}
	if err := gate.Wait(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	gate.Release()
	if err := s.WaitEnded(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	post(s, "k2", executeFor(malo2)) // one after the other is no overlap
	if diff := cmp.Diff([]string{"k1"}, s.Overlaps()); diff != "" {
		t.Error(diff)
	}
}

func TestRequests_tell_what_arrived(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	before := time.Now()
	post(s, "k1", execute)
	post(s, "k2", "{", func(r *http.Request) { r.Header.Set("X-Trace", "t") })
	all := s.Requests()
	if len(all) != 2 {
		t.Fatalf("%d requests", len(all))
	}
	r := all[0]
	if r.Key != "k1" || r.Command != bestaetigen || r.MaloID != malo1 || string(r.Body) != execute || r.Status != 202 ||
		r.Start.Before(before) || r.End.Before(r.Start) || r.Header.Get("Authorization") != "Bearer "+apiKey {
		t.Errorf("%+v", r)
	}
	for _, r := range s.RequestsFor("k2") {
		if r.Status != 400 || r.Header.Get("X-Trace") != "t" {
			t.Errorf("%+v", r)
		}
	}
	if n := len(s.RequestsFor("k2")); n != 1 {
		t.Errorf("%d requests for k2", n)
	}
}

func TestServe_ends_with_its_context(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, ln) }()
	status, _, err := send(t.Context(), "http://"+ln.Addr().String(), "k1", execute)
	if err != nil || status != 202 {
		t.Errorf("%d, %v", status, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := s.Serve(t.Context(), ln); err == nil {
		t.Error("serving on a closed listener succeeds")
	}
}
