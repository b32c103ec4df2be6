package makodtest

import (
	"context"
	"strings"
	"testing"
)

func executeFor(maloID string) string { return strings.Replace(execute, malo1, maloID, 1) }

func TestFailNext_counts_and_keeps_the_order(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	s.FailNext(0, Forbidden())
	s.FailNext(1, EngineError())
	s.FailNext(2, RateLimited())
	for i, status := range []int{500, 429, 429, 202} {
		if w := post(s, "k1", execute); w.Code != status {
			t.Errorf("command %d: %d, want %d", i, w.Code, status)
		}
	}
	if r := s.Requests(); r[0].Fault != "engine_error" || r[3].Fault != "" {
		t.Errorf("faults %q and %q in the log", r[0].Fault, r[3].Fault)
	}
}

func TestFailNext_until_cleared(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	s.FailNext(UntilCleared, EngineError())
	for range 5 {
		if w := post(s, "k1", execute); w.Code != 500 {
			t.Fatalf("%d", w.Code)
		}
	}
	s.ClearFaults()
	if w := post(s, "k1", execute); w.Code != 202 {
		t.Errorf("cleared: %d", w.Code)
	}
}

func TestFailNextFor_concerns_one_MaLo_and_comes_first(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	mustSpawn(t, s, Process{ID: id2, MaloID: malo2, PID: 17115})
	s.FailNext(UntilCleared, RateLimited())
	s.FailNextFor(malo2, 1, EngineError())
	for i, tc := range []struct {
		malo   string
		status int
	}{{malo1, 429}, {malo2, 500}, {malo2, 429}} {
		if w := post(s, "k1", executeFor(tc.malo)); w.Code != tc.status {
			t.Errorf("command %d: %d, want %d", i, w.Code, tc.status)
		}
	}
	s.ClearFaults()
	s.FailNextFor(malo2, UntilCleared, EngineError())
	if w := post(s, "k1", executeFor(malo1)); w.Code != 202 {
		t.Errorf("the other MaLo: %d", w.Code)
	}
}

func TestFault_leaves_the_process_alone_unless_applied(t *testing.T) {
	t.Parallel()
	for _, f := range []Fault{EngineError(), GatewayTimeout(), IdempotencyUnavailable("1"), Redirect(307, "/x")} {
		s, _ := newServer(t)
		s.FailNext(1, f)
		plain := post(s, "k1", execute)
		if p, _ := s.Process(id1); p.State != StateValidationPassed {
			t.Errorf("%s: process is %s", f, p.State)
		}
		s.FailNext(1, Applied(f))
		applied := post(s, "k1", execute)
		if p, _ := s.Process(id1); p.State != StateAusgefuehrt {
			t.Errorf("applied %s: process is %s", f, p.State)
		}
		want(t, applied, plain.Code, plain.Body.String())
	}
}

func TestFault_accept_variants_keep_a_genuine_refusal(t *testing.T) {
	t.Parallel()
	for _, f := range []Fault{AcceptOther(id2), AcceptGarbled("{")} {
		s, _ := newServer(t)
		s.FailNext(2, f)
		if w := post(s, "k1", execute); w.Code != 202 || strings.Contains(w.Body.String(), id1) {
			t.Errorf("%s: %d %s", f, w.Code, w.Body)
		}
		if w := post(s, "k1", execute); w.Code != 409 || !strings.Contains(w.Body.String(), "invalid_state") {
			t.Errorf("%s: %d %s", f, w.Code, w.Body)
		}
	}
}

func TestFault_drop_and_truncate_cut_the_connection(t *testing.T) {
	t.Parallel()
	for _, f := range []Fault{Drop(), Applied(Drop()), AcceptTruncated()} {
		s, _ := newServer(t)
		url := s.Start(t)
		s.FailNext(1, f)
		if status, body, err := send(t.Context(), url, "k1", execute); err == nil {
			t.Errorf("%s: %d %s", f, status, body)
		}
		if p, _ := s.Process(id1); (p.State == StateAusgefuehrt) != (f.String() != "drop") {
			t.Errorf("%s: process is %s", f, p.State)
		}
	}
}

func TestFault_hang_ends_with_the_client_or_the_server(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	url := s.Start(t)
	s.FailNext(UntilCleared, Hang())
	ctx, giveUp := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() {
		_, _, err := send(ctx, url, "k1", execute)
		ended <- err
	}()
	go func() {
		_, _, err := send(t.Context(), url, "k2", execute)
		ended <- err
	}()
	if err := s.line.Await(t.Context(), func() bool { return len(s.requests) == 2 }); err != nil {
		t.Fatal(err)
	}
	giveUp()
	if err := <-ended; err == nil {
		t.Error("the client that gave up has an answer")
	}
	if err := s.WaitEnded(t.Context(), 1); err != nil { // the server noticed
		t.Fatal(err)
	}
	s.Close()
	if err := <-ended; err == nil {
		t.Error("the hanging command has an answer")
	}
	for _, r := range s.Requests() {
		if r.Status != 0 || r.End.IsZero() || r.Fault != "hang" {
			t.Errorf("%s: status %d, ended %v, fault %q", r.Key, r.Status, r.End, r.Fault)
		}
	}
}

func TestAnswer_gives_any_answer(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	s.FailNext(1, Answer(418, "text/plain", "teapot", "Retry-After", "7"))
	w := post(s, "k1", execute)
	want(t, w, 418, "teapot")
	if w.Header().Get("Retry-After") != "7" || w.Header().Get("Content-Type") != "text/plain" {
		t.Errorf("%v", w.Header())
	}
}
