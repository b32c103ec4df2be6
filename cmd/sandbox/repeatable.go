package main

import (
	"cmp"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// The headers of a call that is recognised when it comes again, in the spelling of the
// EDI@Energy APIs, and the one by which an answer tells that it is not the first.
const (
	headerTransactionID        = "transactionId"
	headerInitialTransactionID = "initialTransactionId"
	headerCreationDateTime     = "creationDateTime"
	headerReferenceID          = "referenceId"
	headerIdempotencyKey       = "Idempotency-Key"
	headerReplayed             = "Idempotent-Replayed"
)

// identifiers are by what a call is recognised when it comes again. The zero value is
// nothing: such a call is made as often as it comes.
type identifiers struct {
	id      string // of this call alone
	initial string // of the first call, on each later one; empty on the first
	generic bool   // id goes as an Idempotency-Key, which stays the same on later calls
}

// newIdentifiers are those of a report when it is made. The device keeps them with it
// until it has an answer.
func newIdentifiers() identifiers { return identifiers{id: uuid.NewString()} }

// again are those of the next call for the same report.
func (i identifiers) again() identifiers {
	if i.generic {
		return i
	}
	return identifiers{id: uuid.NewString(), initial: i.first()}
}

// first is the id of the first call: of the report itself, however often it is sent.
func (i identifiers) first() string { return cmp.Or(i.initial, i.id) }

// header says it to sperrd. The names go out as they are spelled here.
func (i identifiers) header(now time.Time) http.Header {
	header := http.Header{}
	switch {
	case i.id == "":
		return header
	case i.generic:
		header[headerIdempotencyKey] = []string{`"` + i.id + `"`}
		return header
	}
	header[headerTransactionID] = []string{i.id}
	header[headerCreationDateTime] = []string{now.UTC().Format("2006-01-02T15:04:05.000Z")}
	if i.initial != "" {
		header[headerInitialTransactionID] = []string{i.initial}
	}
	return header
}

// replayed reports whether an answer says that an earlier call has got it.
func (a answer) replayed() bool { return a.header.Get(headerReplayed) == "true" }

// expectNamed expects that the answer names the call that it belongs to and the first
// one for the same report, and nothing where the call had no name.
func (s *story) expectNamed(i identifiers, a answer) {
	if s.done() {
		return
	}
	id, reference := a.header.Get(headerTransactionID), a.header.Get(headerReferenceID)
	s.expect(id == i.id && reference == i.first(), "the answer to the call %q of the report %q names %q and %q", i.id, i.first(), id, reference)
}
