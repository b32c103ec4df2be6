package sperr

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// ErrNotFound means that no order, or reject, of this tenant has the id.
var ErrNotFound = errors.New("not found")

// ErrCursor means that a cursor does not belong to the list it was given to.
var ErrCursor = errors.New("the cursor is not one of this list")

// Subject says what a ValidationError finds fault with.
type Subject string

// The three things that are validated.
const (
	SubjectOrder  Subject = "order"  // an operator's order
	SubjectReport Subject = "report" // a field report
	SubjectEvent  Subject = "event"  // a market event
)

// FieldError is one field and what is wrong with it.
type FieldError struct {
	Field  string `json:"field"`
	Reason string `json:"reason"`
}

// ValidationError means that the input is readable, but against a rule. Nothing
// has been changed.
type ValidationError struct {
	Subject Subject
	Fields  []FieldError
	// FittingCodes are the Pruefschritt codes that the report could have carried, in the
	// order of the tree's steps; nil where code and reason are not at fault.
	FittingCodes []string
}

func (e *ValidationError) Error() string {
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = f.Field + " " + f.Reason
	}
	return fmt.Sprintf("invalid %s: %s", e.Subject, strings.Join(parts, "; "))
}

func (e *ValidationError) add(field, reason string) {
	e.Fields = append(e.Fields, FieldError{Field: field, Reason: reason})
}

// err is nil when nothing was found.
func (e *ValidationError) err() error {
	if len(e.Fields) == 0 {
		return nil
	}
	return e
}

// NotPendingError means that the order is closed; Order is how it stands.
type NotPendingError struct {
	Order Order
}

func (e *NotPendingError) Error() string {
	return fmt.Sprintf("order %s is %s and not pending", e.Order.ID, e.Order.Status)
}

// ProcessConflictError means that a redelivery contradicts the order its process
// already has. The order is unchanged.
type ProcessConflictError struct {
	OrderID uuid.UUID
	Fields  []string
}

func (e *ProcessConflictError) Error() string {
	return fmt.Sprintf("the process already has order %s, and the event says something else about %s",
		e.OrderID, strings.Join(e.Fields, ", "))
}
