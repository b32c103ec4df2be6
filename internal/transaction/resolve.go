package transaction

import (
	"bytes"
	"time"

	"github.com/google/uuid"
)

// The states of a record.
const (
	stateFinal       = "final"
	stateProvisional = "provisional"
)

// recordColumns are what is read of an operation t.
const recordColumns = `t.logical_id, t.principal, t.operation, t.order_id, t.fingerprint, t.fingerprint_version,
	t.state, t.status_code, t.response_headers, t.response_body`

// row is an operation and one of the ids by which it is known.
type row struct {
	TransactionID      string            `db:"transaction_id"`
	ReceivedAt         *time.Time        `db:"received_at"` // nil: only named by another call
	LogicalID          string            `db:"logical_id"`
	Principal          string            `db:"principal"`
	Operation          string            `db:"operation"`
	OrderID            uuid.NullUUID     `db:"order_id"`
	Fingerprint        []byte            `db:"fingerprint"`
	FingerprintVersion int               `db:"fingerprint_version"`
	State              string            `db:"state"`
	StatusCode         int               `db:"status_code"`
	ResponseHeaders    map[string]string `db:"response_headers"`
	ResponseBody       []byte            `db:"response_body"`
}

func (r row) record() Record {
	return Record{
		LogicalID: r.LogicalID, OrderID: r.OrderID.UUID, Final: r.State == stateFinal,
		Answer: Answer{Status: r.StatusCode, Header: r.ResponseHeaders, Body: r.ResponseBody},
	}
}

// compare refuses a call that is another one than the first of its operation. Whoever is
// another caller learns nothing more.
func (r row) compare(a Attempt) error {
	switch {
	case r.Principal != a.Principal:
		return &ConflictError{Reason: ReasonPrincipal}
	case r.Operation != a.Operation:
		return &ConflictError{Reason: ReasonOperation}
	case r.FingerprintVersion != FingerprintVersion || !bytes.Equal(r.Fingerprint, a.Fingerprint[:]):
		return &ConflictError{Reason: ReasonContent}
	}
	return nil
}

// resolve finds the operation of a among those that its ids are known by, and which ids
// have yet to be bound to it; nil: there is none. Both ends of a chain lead to the same
// operation, in whatever order its calls arrive: a call may name one that comes later.
//
// A call that arrived by itself stays what it was: if it comes again as the repetition of
// an operation that nobody knows, one of the two is not what it says.
func resolve(a Attempt, known map[string]row) (operation *row, missing []string, err error) {
	own, ownKnown := known[a.ID]
	first, firstKnown := known[a.Initial]
	switch {
	case !ownKnown && !firstKnown:
		return nil, nil, nil
	case ownKnown && firstKnown && own.LogicalID != first.LogicalID,
		ownKnown && !firstKnown && own.ReceivedAt != nil:
		return nil, nil, conflictOf(a, own)
	case ownKnown:
		operation = &own
	default:
		operation = &first
	}
	for _, id := range a.ids() {
		if k, ok := known[id]; !ok || id == a.ID && k.ReceivedAt == nil {
			missing = append(missing, id)
		}
	}
	return operation, missing, nil
}

// conflictOf tells a caller who had nothing to do with the operation nothing of it.
func conflictOf(a Attempt, own row) error {
	if own.Principal != a.Principal {
		return &ConflictError{Reason: ReasonPrincipal}
	}
	return &ConflictError{Reason: ReasonBound}
}
