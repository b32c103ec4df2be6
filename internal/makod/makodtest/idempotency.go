package makodtest

import (
	"crypto/sha256"
	"net/http"
	"time"
)

// recordAge is how long a newer makod repeats an accepted answer.
const recordAge = 24 * time.Hour

// record is an accepted answer under its key. Failures are never kept, so a key
// stays usable after one.
type record struct {
	fingerprint [sha256.Size]byte
	answer      answer
	at          time.Time
}

// fingerprint covers the command and the payload but not the Marktrolle.
func (c *call) fingerprint() [sha256.Size]byte {
	return sha256.Sum256(append([]byte(c.name+"\n"), c.compact()...))
}

// replay returns the recorded answer, a refusal if the key was used for
// something else, or nil if there is no record. s.mu is held.
func (s *Server) replay(c *call) *answer {
	r, ok := s.records[c.key]
	switch {
	case !ok || s.now().Sub(r.at) >= recordAge:
		return nil
	case r.fingerprint != c.fingerprint():
		a := keyReuse()
		return &a
	}
	return &r.answer
}

func keyReuse() answer {
	return failure(http.StatusUnprocessableEntity, "idempotency_key_reuse",
		"the key was used with another command or payload")
}

// remember stores an accepted answer. s.mu is held.
func (s *Server) remember(c *call, a answer) {
	s.records[c.key] = record{fingerprint: c.fingerprint(), answer: a, at: s.now()}
}

// ForgetKeys drops all records of keys, as happens when makod fails to write
// them or restores a backup. Repeated commands reach the workflow again.
func (s *Server) ForgetKeys() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.records)
}
