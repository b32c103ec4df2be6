package makodtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// maxRequests bounds the log; the oldest requests go first.
const maxRequests = 200_000

// Request is one POST to the command API as it arrived and ended.
type Request struct {
	Key        string // Idempotency-Key
	Command    string // lower case
	MaloID     string
	Header     http.Header
	Body       []byte
	RemoteAddr string // tells connections apart
	Start      time.Time
	End        time.Time // zero while under way
	Status     int       // 0 without an answer
	Fault      string    // what made it fail, "" if nothing did
}

// TransactionID returns what names this one call, empty if nothing does. This header
// and those below are read by any spelling of their names, makod's way; several lines
// of one are joined with commas, so that they pass for none that was expected.
func (r Request) TransactionID() string { return r.joined("transactionId") }

// InitialTransactionID returns what names the first call of the operation, empty on
// that call itself.
func (r Request) InitialTransactionID() string { return r.joined("initialTransactionId") }

// ReferenceID returns what the call answers, empty if it says nothing of it.
func (r Request) ReferenceID() string { return r.joined("referenceId") }

// CreationDateTime returns when the sender made the call, as it wrote it.
func (r Request) CreationDateTime() string { return r.joined("creationDateTime") }

func (r Request) joined(name string) string { return strings.Join(r.Header.Values(name), ", ") }

// ErrClosed is the end of a wait on a Server that was closed.
var ErrClosed = errors.New("the simulated makod is closed")

// Requests returns all commands that arrived, refused and dropped ones too, in
// the order of their arrival. Header and body must not be changed.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Request, len(s.requests))
	for i, r := range s.requests {
		all[i] = *r
	}
	return all
}

// RequestsFor returns the commands under one Idempotency-Key.
func (s *Server) RequestsFor(key string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Request
	for _, r := range s.requests {
		if r.Key == key {
			found = append(found, *r)
		}
	}
	return found
}

// Overlaps returns the keys under which a command arrived while another one was
// still under way: two senders at work on one outcome.
func (s *Server) Overlaps() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.overlaps)
}

// RepeatedTransactionIDs returns, in lower case and in the order of their first
// repetition, the transactionIds under which more than one command arrived, answered
// or not. makod does not mind, but a sender must never use one twice.
func (s *Server) RepeatedTransactionIDs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.repeated)
}

// WaitEnded waits until n commands have ended since the start.
func (s *Server) WaitEnded(ctx context.Context, n int) error {
	err := s.line.Await(ctx, func() bool { return s.ended >= n })
	if err != nil {
		return fmt.Errorf("wait for %d commands: %w", n, err)
	}
	return nil
}

// begin logs an arrival. s.mu is held.
func (s *Server) begin(r *http.Request, c *call) *Request {
	entry := &Request{
		Key: c.key, Command: c.name, MaloID: c.maloID, Header: c.header, Body: c.body,
		RemoteAddr: r.RemoteAddr, Start: time.Now(),
	}
	if len(s.requests) >= maxRequests {
		s.requests = slices.Delete(s.requests, 0, maxRequests/2)
	}
	s.requests = append(s.requests, entry)
	s.countTransaction(entry.TransactionID())
	if c.key != "" {
		s.inFlight[c.key]++
		if s.inFlight[c.key] > 1 && !slices.Contains(s.overlaps, c.key) {
			s.overlaps = append(s.overlaps, c.key)
		}
	}
	s.line.Broadcast()
	return entry
}

// countTransaction remembers an id for as long as the server lives: the log forgets.
// s.mu is held.
func (s *Server) countTransaction(id string) {
	if id == "" {
		return
	}
	id = strings.ToLower(id) // a UUID is the same in any letter case
	s.transactions[id]++
	if s.transactions[id] == 2 {
		s.repeated = append(s.repeated, id)
	}
}

// end logs how the command ended, status 0 meaning without an answer.
func (s *Server) end(entry *Request, status int) {
	s.mu.Lock()
	entry.End, entry.Status = time.Now(), status
	s.ended++
	if s.inFlight[entry.Key]--; s.inFlight[entry.Key] <= 0 {
		delete(s.inFlight, entry.Key)
	}
	s.line.Broadcast()
	s.mu.Unlock()
	s.log.Info("makod command", "key", entry.Key, "command", entry.Command, "status", status, "fault", entry.Fault)
}
