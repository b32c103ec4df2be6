package makodtest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// State is a state of makod's workflow gpke-sperrung.
type State string

// The states of gpke-sperrung. The last three are final.
const (
	StateNew               State = "New"
	StateAnweisungErhalten State = "AnweisungErhalten"
	StateValidationPassed  State = "ValidationPassed"
	StateAusgefuehrt       State = "Ausgefuehrt"
	StateRejected          State = "Rejected"
	StateStorniert         State = "Storniert"
)

const (
	workflow       = "gpke-sperrung"
	reasonDeadline = "deadline expired: gpke-sperrung-window"
	pidSperrung    = 17115
	pidEntsperrung = 17117
)

func (s State) known() bool {
	return slices.Contains([]State{
		StateNew, StateAnweisungErhalten, StateValidationPassed,
		StateAusgefuehrt, StateRejected, StateStorniert,
	}, s)
}

func (s State) final() bool {
	return s == StateAusgefuehrt || s == StateRejected || s == StateStorniert
}

// Process is one Sperrung or Entsperrung in makod.
type Process struct {
	ID         string // UUID; drawn when empty
	MaloID     string
	PID        int   // 17115 Sperrung, 17117 Entsperrung
	State      State // ValidationPassed when empty
	ReceivedAt time.Time
	Reason     string // why it was rejected

	seq int // order of spawning
}

// Failures of the admin methods.
var (
	ErrInvalidProcess = errors.New("invalid process")
	ErrUnknownProcess = errors.New("unknown process")
	// ErrOpenProcess: the MaLo has an unfinished process already. makod hands
	// a second ORDERS to that one, which refuses it.
	ErrOpenProcess = errors.New("the MaLo has an open process")
	// ErrFinalState: the process has ended and refuses a Stornierung.
	ErrFinalState = errors.New("the process is in a final state")
)

// Spawn starts a process as an incoming ORDERS does and returns it completed.
// Finished processes of the MaLo are forgotten: they stay reachable only until
// the next order. It fails with ErrInvalidProcess or ErrOpenProcess.
func (s *Server) Spawn(p Process) (Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.complete(p)
	if err != nil {
		return Process{}, fmt.Errorf("spawn a process: %w", err)
	}
	earlier := s.correlated(p.MaloID)
	if slices.ContainsFunc(earlier, func(q *Process) bool { return !q.State.final() }) {
		return Process{}, fmt.Errorf("spawn a process for MaLo %s: %w", p.MaloID, ErrOpenProcess)
	}
	for _, q := range earlier {
		delete(s.processes, q.ID)
	}
	delete(s.byMalo, p.MaloID)
	s.add(&p)
	return p, nil
}

// SpawnBeside starts a process without regard to others of the MaLo. makod does
// not do that by itself; it is the way to its answer ambiguous_process.
func (s *Server) SpawnBeside(p Process) (Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.complete(p)
	if err != nil {
		return Process{}, fmt.Errorf("spawn a process: %w", err)
	}
	s.add(&p)
	return p, nil
}

// add stores a complete process. s.mu is held.
func (s *Server) add(p *Process) {
	s.spawned++
	p.seq = s.spawned
	s.processes[p.ID] = p
	s.byMalo[p.MaloID] = append(s.byMalo[p.MaloID], p)
}

// complete fills in defaults and validates. s.mu is held.
func (s *Server) complete(p Process) (Process, error) {
	if p.ID == "" {
		p.ID = uuid.NewString()
	}
	if p.State == "" {
		p.State = StateValidationPassed
	}
	if p.ReceivedAt.IsZero() {
		p.ReceivedAt = s.now()
	}
	id, err := uuid.Parse(p.ID)
	switch {
	case err != nil:
		return Process{}, fmt.Errorf("id %q is no UUID: %w", p.ID, ErrInvalidProcess)
	case !validMaloID(p.MaloID):
		return Process{}, fmt.Errorf("MaLo %q: %w", p.MaloID, ErrInvalidProcess)
	case p.PID != pidSperrung && p.PID != pidEntsperrung:
		return Process{}, fmt.Errorf("PID %d: %w", p.PID, ErrInvalidProcess)
	case !p.State.known():
		return Process{}, fmt.Errorf("state %q: %w", p.State, ErrInvalidProcess)
	}
	p.ID = id.String()
	if s.find(p.ID) != nil {
		return Process{}, fmt.Errorf("id %s exists: %w", p.ID, ErrInvalidProcess)
	}
	return p, nil
}

// Process returns the process as it stands now.
func (s *Server) Process(id string) (Process, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.find(id); p != nil {
		return *p, true
	}
	return Process{}, false
}

// Processes returns all processes in the order of their spawning.
func (s *Server) Processes() []Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Process, 0, len(s.processes))
	for _, p := range s.processes {
		all = append(all, *s.current(p))
	}
	slices.SortFunc(all, func(a, b Process) int { return cmp.Compare(a.seq, b.seq) })
	return all
}

// SetState moves a process to any state, against the workflow if need be.
func (s *Server) SetState(id string, state State) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.find(id)
	if p == nil {
		return fmt.Errorf("set the state of %s: %w", id, ErrUnknownProcess)
	}
	if !state.known() {
		return fmt.Errorf("set the state of %s to %q: %w", id, state, ErrInvalidProcess)
	}
	p.State, p.Reason = state, ""
	return nil
}

// Storno withdraws an open process, as an ORDCHG 39000 of the Lieferant does.
// makod tells nobody: there is no event and no answer to the Lieferant. It fails
// with ErrUnknownProcess or ErrFinalState.
func (s *Server) Storno(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.find(id)
	switch {
	case p == nil:
		return fmt.Errorf("storno of %s: %w", id, ErrUnknownProcess)
	case p.State.final():
		return fmt.Errorf("storno of %s (%s): %w", id, p.State, ErrFinalState)
	}
	p.State = StateStorniert
	return nil
}

// find returns the process or nil. s.mu is held.
func (s *Server) find(id string) *Process {
	p := s.processes[id]
	if p == nil {
		return nil
	}
	return s.current(p)
}

// correlated returns the processes of a MaLo. s.mu is held.
func (s *Server) correlated(maloID string) []*Process {
	for _, p := range s.byMalo[maloID] {
		s.current(p)
	}
	return s.byMalo[maloID]
}
