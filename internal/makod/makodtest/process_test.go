package makodtest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestCommands_move_the_process(t *testing.T) {
	t.Parallel()
	for body, state := range map[string]State{execute: StateAusgefuehrt, fail: StateRejected} {
		s, _ := newServer(t)
		if w := post(s, "k1", body); w.Code != 202 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if p, _ := s.Process(id1); p.State != state {
			t.Errorf("%s: process is %s", body, p.State)
		}
		// Finished, but still correlated with its MaLo.
		want(t, post(s, "k2", execute), 409,
			`{"error":"invalid_state","detail":"workflow error: invalid state: expected ValidationPassed, found `+string(state)+`"}`)
	}
}

func TestCommands_need_ValidationPassed(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	for _, state := range []State{StateNew, StateAnweisungErhalten, StateAusgefuehrt, StateRejected, StateStorniert} {
		if err := s.SetState(id1, state); err != nil {
			t.Fatal(err)
		}
		if w := post(s, "k1", execute); w.Code != 409 {
			t.Errorf("%s: %d %s", state, w.Code, w.Body)
		}
	}
	if n := len(s.IFTSTA()); n != 0 {
		t.Errorf("%d IFTSTA for refused commands", n)
	}
}

func TestSpawn_fills_in_what_is_missing(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	got := mustSpawn(t, s, Process{MaloID: malo2, PID: 17117})
	wanted := Process{ID: got.ID, MaloID: malo2, PID: 17117, State: StateValidationPassed, ReceivedAt: tuesday}
	if diff := cmp.Diff(wanted, got, cmpopts.IgnoreUnexported(Process{})); diff != "" || got.ID == "" {
		t.Error(diff)
	}
}

func TestProcesses_come_in_the_order_of_their_spawning(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	var wanted, got []string
	for range 20 {
		p, err := s.SpawnBeside(Process{MaloID: malo1, PID: 17115})
		if err != nil {
			t.Fatal(err)
		}
		wanted = append(wanted, p.ID)
	}
	for _, p := range s.Processes() {
		got = append(got, p.ID)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Error(diff)
	}
}

func TestSpawn_refuses_what_makod_cannot_have(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	for name, p := range map[string]Process{
		"id":          {ID: "4711", MaloID: malo2, PID: 17115},
		"known id":    {ID: id1, MaloID: malo2, PID: 17115},
		"check digit": {MaloID: "51238696782", PID: 17115},
		"PID":         {MaloID: malo2, PID: 17116},
		"state":       {MaloID: malo2, PID: 17115, State: "Open"},
	} {
		if _, err := s.Spawn(p); !errors.Is(err, ErrInvalidProcess) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSpawn_takes_the_place_of_finished_processes_only(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	next := Process{ID: id2, MaloID: malo1, PID: 17117}
	if _, err := s.Spawn(next); !errors.Is(err, ErrOpenProcess) {
		t.Fatalf("beside an open process: %v", err)
	}
	post(s, "k1", execute)
	mustSpawn(t, s, next)
	if _, ok := s.Process(id1); ok {
		t.Error("the finished process is still there")
	}
	post(s, "k2", execute)
	if p, _ := s.Process(id2); p.State != StateAusgefuehrt {
		t.Errorf("the new process is %s", p.State)
	}
}

func TestStorno(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	if err := s.Storno(id2); !errors.Is(err, ErrUnknownProcess) {
		t.Errorf("unknown: %v", err)
	}
	if err := s.Storno(id1); err != nil {
		t.Fatal(err)
	}
	want(t, post(s, "k1", execute), 409,
		`{"error":"invalid_state","detail":"workflow error: invalid state: expected ValidationPassed, found Storniert"}`)
	if err := s.Storno(id1); !errors.Is(err, ErrFinalState) {
		t.Errorf("again: %v", err)
	}
}

func TestSetState_knows_its_words(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	if err := s.SetState(id2, StateNew); !errors.Is(err, ErrUnknownProcess) {
		t.Error(err)
	}
	if err := s.SetState(id1, "Open"); !errors.Is(err, ErrInvalidProcess) {
		t.Error(err)
	}
}

func TestDeadline_ends_with_the_first_Werktag_after_receipt(t *testing.T) {
	t.Parallel()
	berlin := func(month time.Month, day, hour, minute int) time.Time {
		return time.Date(2026, month, day, hour-2, minute, 0, 0, time.UTC) // summer time
	}
	for name, tc := range map[string]struct{ received, last time.Time }{
		"Tuesday":                       {berlin(9, 1, 10, 0), berlin(9, 2, 23, 59)},
		"Friday":                        {berlin(9, 4, 10, 0), berlin(9, 7, 23, 59)},
		"Thursday before a holiday":     {berlin(5, 13, 10, 0), berlin(5, 15, 23, 59)},
		"after midnight in Berlin only": {berlin(9, 2, 0, 30), berlin(9, 3, 23, 59)},
	} {
		c := newClock(tc.last)
		s := New(Options{APIKey: apiKey, Now: c.now, Deadline: true})
		mustSpawn(t, s, Process{ID: id1, MaloID: malo1, PID: 17115, ReceivedAt: tc.received})
		if p, _ := s.Process(id1); p.State != StateValidationPassed {
			t.Errorf("%s: %s in the last minute", name, p.State)
		}
		c.set(tc.last.Add(time.Minute))
		want(t, post(s, "k1", execute), 409,
			`{"error":"invalid_state","detail":"workflow error: invalid state: expected ValidationPassed, found Rejected"}`)
		if p, _ := s.Process(id1); p.Reason != "deadline expired: gpke-sperrung-window" {
			t.Errorf("%s: reason %q", name, p.Reason)
		}
	}
}

func TestDeadline_is_off_by_default_and_spares_other_states(t *testing.T) {
	t.Parallel()
	s, c := newServer(t)
	c.set(tuesday.AddDate(0, 1, 0))
	if p, _ := s.Process(id1); p.State != StateValidationPassed {
		t.Errorf("%s with the deadline off", p.State)
	}
	post(s, "k1", execute)
	s.SetDeadline(true)
	if p := s.Processes()[0]; p.State != StateAusgefuehrt {
		t.Errorf("a finished process became %s", p.State)
	}
}
