package transaction

import (
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Attempt is one call that can be recognised when it comes again.
type Attempt struct {
	// ID names this call: transactionId, a UUID in lower case, or KeyPrefix and an
	// Idempotency-Key that is no UUID.
	ID string
	// Initial names the first call of the operation, as the caller says:
	// initialTransactionId, and ID where the caller says nothing.
	Initial string
	// CreatedAt is creationDateTime; zero for an Idempotency-Key alone.
	CreatedAt time.Time
	// Reference is the caller's referenceId, a UUID in lower case; empty: none.
	Reference string
	// Principal is who calls: whoever repeats a call must be the same one.
	Principal string
	// Operation is method, route, order and query.
	Operation   string
	Fingerprint Fingerprint
}

// ids are those of a, each once and in the order in which every call locks them.
func (a Attempt) ids() []string {
	ids := []string{a.ID, a.Initial}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// times are those of ids: an id that a only names has none.
func (a Attempt) times(ids []string, at time.Time) (created, received []*time.Time) {
	created, received = make([]*time.Time, len(ids)), make([]*time.Time, len(ids))
	for i, id := range ids {
		if id != a.ID {
			continue
		}
		received[i] = &at
		if !a.CreatedAt.IsZero() {
			created[i] = &a.CreatedAt
		}
	}
	return created, received
}

// Answer is what a caller is told: a status, the headers that belong to the body, and
// the body as it goes out.
type Answer struct {
	Status int
	Header map[string]string
	Body   []byte
}

// Record is a logical operation that has been done or refused.
type Record struct {
	LogicalID string
	OrderID   uuid.UUID // zero: it concerned no order
	Answer    Answer
	// Final tells that Answer will never change. Otherwise it is what stands when the
	// call that did the work has died: that one may still settle another one.
	Final bool
}

// ErrInProgress means that a call with the same id is being done at this moment, and
// that nothing is known of it yet. The same call may be sent again.
var ErrInProgress = errors.New("the transaction is in progress")

// ConflictError means that an id belongs to a call that is not this one. Nothing was
// done, and to send the same call again is in vain.
type ConflictError struct {
	Reason Reason
}

// Reason says in what two calls with the same id differ.
type Reason int

// The reasons of a conflict. To a caller who is not the one of the first call none is
// told but ReasonPrincipal, and that one not in words.
const (
	ReasonPrincipal Reason = iota // another caller
	ReasonOperation               // another route or order
	ReasonContent                 // another body or referenceId
	ReasonBound                   // the id of this call belongs to another operation
)

func (r Reason) String() string {
	return [...]string{"another caller", "another route or order", "another content", "another operation"}[r]
}

func (e *ConflictError) Error() string { return "the transaction id belongs to " + e.Reason.String() }
