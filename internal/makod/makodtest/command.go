package makodtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
)

const (
	bestaetigen    = "gpke.sperrung.bestaetigen"
	fehlgeschlagen = "gpke.sperrung.fehlgeschlagen"
	roleNB         = "NB"
	maxBody        = 10 << 20 // bytes, makod's default
)

// call is one POST to the command API and what has been read of it.
type call struct {
	header   http.Header
	body     []byte
	tooLarge bool

	// Read leniently, for the log, faults and gates.
	key    string
	maloID string
	name   string

	payload map[string]json.RawMessage
	raw     json.RawMessage // the payload as it came
	modern  bool            // the newer makod, see Idempotency
}

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
	open := s.gateFor(c.maloID)
	s.mu.Unlock()

	if !s.travels(r, fault, open) {
		s.end(entry, 0)
		cut(w)
		return
	}
	s.end(entry, a.status)
	a.write(w, fault.wire == wireTruncate)
}

// travels reports whether the answer reaches the client. It returns when that is
// settled: the way is open, the client has given up or the Server is closed.
func (s *Server) travels(r *http.Request, fault Fault, open <-chan struct{}) bool {
	if fault.wire == wireHang {
		open = nil // never
	}
	select {
	case <-open: // first, so that a closed Server goes on answering
		return fault.wire != wireCut
	default:
	}
	select {
	case <-open:
		return fault.wire != wireCut
	case <-r.Context().Done():
	case <-s.closed:
	}
	return false
}

func readCall(w http.ResponseWriter, r *http.Request) *call {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	c := &call{header: r.Header.Clone(), body: body, tooLarge: errors.As(err, &tooLarge)}
	c.key = strings.TrimSpace(r.Header.Get("Idempotency-Key"))
	var peek struct {
		Command string `json:"command"`
		Payload struct {
			MaloID string `json:"malo_id"`
		} `json:"payload"`
	}
	_ = json.Unmarshal(body, &peek) // what cannot be read stays empty
	c.name, c.maloID = strings.ToLower(peek.Command), peek.Payload.MaloID
	return c
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

// extract is the framework's part: content type, size, JSON syntax, shape.
func (c *call) extract() *answer {
	media, _, err := mime.ParseMediaType(c.header.Get("Content-Type"))
	if err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") {
		return c.framework(http.StatusUnsupportedMediaType, "expected request with `Content-Type: application/json`")
	}
	if c.tooLarge {
		return c.framework(http.StatusRequestEntityTooLarge, "length limit exceeded")
	}
	if !json.Valid(c.body) {
		return c.framework(http.StatusBadRequest, "failed to parse the request body as JSON")
	}
	// Members are taken by exact name: makod does not fold case.
	var members map[string]json.RawMessage
	if json.Unmarshal(c.body, &members) != nil {
		return c.wrongShape("expected an object")
	}
	var name, role *string
	if json.Unmarshal(members["command"], &name) != nil || name == nil {
		return c.wrongShape("missing field `command`")
	}
	if raw, ok := members["marktrolle"]; ok && json.Unmarshal(raw, &role) != nil {
		return c.wrongShape("marktrolle: expected a string")
	}
	c.name, c.raw = strings.ToLower(*name), members["payload"]
	_ = json.Unmarshal(c.raw, &c.payload) // no object: the handler will miss its fields
	return nil
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

// compact returns the payload with sorted members and without blanks.
func (c *call) compact() []byte {
	d := json.NewDecoder(bytes.NewReader(c.raw))
	d.UseNumber()
	var v any
	_ = d.Decode(&v) // valid JSON, or absent and then null
	b, _ := json.Marshal(v)
	return b
}
