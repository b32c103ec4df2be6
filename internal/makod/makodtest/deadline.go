package makodtest

import (
	"time"

	"sperrd/internal/werktag"
)

// SetDeadline switches makod's deadline gpke-sperrung-window. It is meant for
// the ORDRSP and due at the end of the first Werktag after receipt, but ends
// the whole process: what is still ValidationPassed then becomes Rejected, and
// with it practically every report from the field. Off by default.
func (s *Server) SetDeadline(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = on
}

// current applies the deadline to a process. Time passes unnoticed between
// calls, so every look at a process goes through here. s.mu is held.
func (s *Server) current(p *Process) *Process {
	if s.deadline && p.State == StateValidationPassed && !s.now().Before(windowEnd(p.ReceivedAt)) {
		p.State, p.Reason = StateRejected, reasonDeadline
	}
	return p
}

// windowEnd is the first instant after the first Werktag after receipt, by
// Berlin days. A receipt outside the calendar has a window that never ends.
func windowEnd(received time.Time) time.Time {
	due, err := werktag.BDEW().Add(werktag.BerlinDay(received), 1)
	if err != nil {
		return time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)
	}
	return due.AddDays(1).Start()
}
