package makodtest

import (
	"net/http"
	"slices"

	"sperrd/internal/neighbourtest"
)

// UntilCleared arms a fault for every command until [Server.ClearFaults].
const UntilCleared = -1

// Fault is one way a command fails. Without [Applied] the command does not
// reach makod's workflow: the fault answers in makod's place.
type Fault struct {
	name     string
	apply    bool
	wire     neighbourtest.Wire
	truncate bool
	answer   func(c *call, real answer) answer
}

// String names the fault as the log of requests does.
func (f Fault) String() string { return f.name }

// applies reports whether the command runs; the zero Fault is no fault.
func (f Fault) applies() bool { return f.apply || f.name == "" }

// armed is a fault waiting for its commands.
type armed struct {
	fault  Fault
	maloID string // "" for all
	left   int    // negative: until cleared
}

// FailNext makes the next n commands fail. Faults armed one after the other
// come in that order; those of a MaLo come before those for all.
func (s *Server) FailNext(n int, f Fault) { s.FailNextFor("", n, f) }

// FailNextFor makes the next n commands of one MaLo fail.
func (s *Server) FailNextFor(maloID string, n int, f Fault) {
	if n == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &armed{fault: f, maloID: maloID, left: n})
}

// ClearFaults disarms every fault. Commands that hang already keep hanging.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// takeFault uses up the fault for a command, the zero one if none is armed.
// s.mu is held.
func (s *Server) takeFault(maloID string) Fault {
	i := slices.IndexFunc(s.faults, func(a *armed) bool { return a.maloID != "" && a.maloID == maloID })
	if i < 0 {
		i = slices.IndexFunc(s.faults, func(a *armed) bool { return a.maloID == "" })
	}
	if i < 0 {
		return Fault{}
	}
	a := s.faults[i]
	if a.left > 0 {
		a.left--
	}
	if a.left == 0 {
		s.faults = slices.Delete(s.faults, i, i+1)
	}
	return a.fault
}

// Hang never answers: the command waits until the client gives up or the
// Server is closed.
func Hang() Fault { return Fault{name: "hang", wire: neighbourtest.Hang} }

// Drop cuts the connection without an answer.
func Drop() Fault { return Fault{name: "drop", wire: neighbourtest.Cut} }

// Applied carries the command out first and then fails like f: the answer is
// lost, not the command. Applied(Drop()) is accept-then-drop.
func Applied(f Fault) Fault {
	f.name, f.apply = "applied "+f.name, true
	return f
}

// AcceptOther carries the command out but names another process. A command that
// makod refuses keeps its refusal.
func AcceptOther(processID string) Fault {
	return Fault{name: "accept with another process", apply: true, answer: func(c *call, real answer) answer {
		if !real.accepted() {
			return real
		}
		return acceptedAnswer(c, processID)
	}}
}

// AcceptGarbled carries the command out and answers 202 with the body given. A
// command that makod refuses keeps its refusal.
func AcceptGarbled(body string) Fault {
	return Fault{name: "accept with garbled body", apply: true, answer: func(_ *call, real answer) answer {
		if real.accepted() {
			real.body = []byte(body)
		}
		return real
	}}
}

// AcceptTruncated carries the command out and breaks off in the middle of the body.
func AcceptTruncated() Fault {
	return Fault{name: "accept with truncated body", apply: true, truncate: true}
}

// Answer fails with any answer at all. Header lines are name and value in turn.
func Answer(status int, contentType, body string, header ...string) Fault {
	a := answer{status: status, contentType: contentType, body: []byte(body), header: map[string]string{}}
	for i := 0; i+1 < len(header); i += 2 {
		a.header[header[i]] = header[i+1]
	}
	return fixed("answer "+http.StatusText(status), a)
}

// fixed is a fault with an answer that does not depend on the command.
func fixed(name string, a answer) Fault {
	return Fault{name: name, answer: func(*call, answer) answer { return a }}
}
