package makodtest

import (
	"net/http"

	"sperrd/internal/neighbourtest"
)

const (
	bestaetigen    = "gpke.sperrung.bestaetigen"
	fehlgeschlagen = "gpke.sperrung.fehlgeschlagen"
	roleNB         = "NB"
)

// handleCommand logs the request, decides the answer under the lock and sends
// it outside. The end is logged before the answer leaves, so whoever has the
// answer finds it in the log.
func (s *Server) handleCommand(w http.ResponseWriter, r *http.Request) {
	c := readCall(w, r)
	s.mu.Lock()
	entry := s.begin(r, c)
	fault := s.takeFault(c.maloID)
	entry.Fault = fault.name
	c.modern = s.idempotency == IdempotencyCompare24h
	var a answer
	if fault.applies() {
		a = s.evaluate(c)
	}
	if fault.answer != nil {
		a = fault.answer(c, a)
	}
	open := s.line.Reach(c.maloID)
	s.mu.Unlock()

	if !s.line.Travels(r, fault.wire, open) {
		s.end(entry, 0)
		neighbourtest.Disconnect(w)
		return
	}
	s.end(entry, a.status)
	a.write(w, fault.truncate)
}

// evaluate answers in makod's order: body, authentication, command, key,
// record of the key, handler. s.mu is held.
func (s *Server) evaluate(c *call) answer {
	if a := c.extract(); a != nil {
		return *a
	}
	if s.apiKey != "" && c.header.Get("Authorization") != "Bearer "+s.apiKey {
		return unauthorized()
	}
	if a := c.checkName(); a != nil {
		return *a
	}
	keys := c.header.Values("Idempotency-Key")
	if c.key == "" || c.modern && len(keys) > 1 {
		return failure(http.StatusUnprocessableEntity, "missing_idempotency_key", "exactly one Idempotency-Key is required")
	}
	if c.modern {
		if a := s.replay(c); a != nil {
			return *a
		}
	}
	a := s.run(c)
	if c.modern && a.accepted() {
		s.remember(c, a)
	}
	return a
}

// checkName knows the commands. The role that the caller asserts is ignored for
// commands with a single role, and the Lieferant's are not configured here.
func (c *call) checkName() *answer {
	var detail string
	switch c.name {
	case bestaetigen, fehlgeschlagen:
		return nil
	case "gpke.sperrung.beauftragen", "gpke.entsperrung.beauftragen", "gpke.sperrung.stornieren":
		detail = "role LF is not configured on this instance"
	default:
		detail = "unknown command"
	}
	a := failure(http.StatusUnprocessableEntity, "command_rejected", detail)
	return &a
}

// run is the handler of both commands. s.mu is held.
func (s *Server) run(c *call) answer {
	report, problem := s.readReport(c)
	if problem != "" {
		return failure(http.StatusUnprocessableEntity, "invalid_payload", problem)
	}
	found := s.correlated(report.MaloID)
	switch {
	case len(found) == 0:
		return processNotFound(report.MaloID)
	case len(found) > 1:
		return ambiguousProcess(report.MaloID, len(found))
	case found[0].State != StateValidationPassed:
		return invalidState(found[0].State)
	}
	p := found[0]
	p.State = StateAusgefuehrt
	if c.name == fehlgeschlagen {
		p.State, p.Reason = StateRejected, report.Text
	}
	report.ProcessID = p.ID
	s.iftsta = append(s.iftsta, report)
	return acceptedAnswer(c, p.ID)
}
