package mcpserver

import (
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"sperrd/internal/httpclient"
	"sperrd/internal/sperr"
	"sperrd/internal/werktag"
)

// argumentError is a fault of one argument, in words for whoever made the call. It
// names the argument and never quotes its value.
type argumentError struct{ argument, reason string }

func (e *argumentError) Error() string { return e.argument + " " + e.reason + "." }

// readArguments decodes the arguments of a call into v, strictly: one that v does not
// know, in whatever case, or that comes twice is a fault, since a filter that is
// misspelt must not become the whole queue. None at all are {}, and null is absent.
func readArguments(raw jsontext.Value, v any) error {
	if len(raw) == 0 {
		return nil
	}
	err := json.Unmarshal(raw, v, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	if wrong, ok := errors.AsType[*json.SemanticError](err); ok {
		switch {
		case wrong.JSONPointer == "":
			return &argumentError{"arguments", "must be one JSON object"}
		case errors.Is(wrong.Err, json.ErrUnknownName):
			return &argumentError{argumentName(wrong.JSONPointer), "is not an argument of this tool"}
		default:
			return &argumentError{argumentName(wrong.JSONPointer), "must be " + wanted(wrong.GoType)}
		}
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(syntax.Err, jsontext.ErrDuplicateName) {
			return &argumentError{argumentName(syntax.JSONPointer), "is given twice"}
		}
		return &argumentError{"arguments", "cannot be read: they are not valid JSON in UTF-8"}
	}
	return fmt.Errorf("decode arguments: %w", err)
}

// argumentName is a caller's own word, made fit for an answer.
func argumentName(pointer jsontext.Pointer) string {
	const most = 40
	for name := range pointer.Tokens() {
		if name = httpclient.Clean(name, most); name != "" {
			return name
		}
		break
	}
	return `""`
}

// wanted names the JSON of a Go type; arguments have no others than these.
func wanted(t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t != nil && t.Kind() == reflect.Bool:
		return "true or false"
	case t != nil && t.Kind() == reflect.Float64:
		return "a whole number"
	default:
		return "a string"
	}
}

// The number of rows of list_sperr_orders.
const (
	defaultLimit = 50
	maxLimit     = 1000
)

// listArguments are those of list_sperr_orders; nil is absent.
type listArguments struct {
	Status *string  `json:"status"`
	MaloID *string  `json:"malo_id"`
	Due    bool     `json:"due"`
	Limit  *float64 `json:"limit"` // JSON has one kind of number, and some clients write 50.0
}

// filter applies the rules that the REST list has for the same words.
func (a listArguments) filter(today werktag.Date) (sperr.Filter, error) {
	f := sperr.Filter{Due: a.Due, Today: today, Limit: defaultLimit}
	if a.Status != nil {
		if f.Status = sperr.Status(*a.Status); !f.Status.Valid() {
			return f, &argumentError{"status", "must be pending, executed, failed or cancelled; leave it out for all"}
		}
	}
	if a.MaloID != nil {
		if f.MaloID = *a.MaloID; !sperr.ValidMaloShape(f.MaloID) {
			return f, &argumentError{"malo_id", "must be eleven digits, the first not 0; leave it out for all"}
		}
	}
	if f.Due && f.Status != "" && f.Status != sperr.StatusPending {
		return f, &argumentError{"due", "goes with status pending only: no other order is due"}
	}
	if a.Limit != nil {
		if *a.Limit != math.Trunc(*a.Limit) {
			return f, &argumentError{"limit", "must be a whole number"}
		}
		f.Limit = int(min(max(*a.Limit, 1), maxLimit))
	}
	return f, nil
}

// orderArguments are those of get_sperr_order.
type orderArguments struct {
	ID string `json:"id"`
}

// uuid reads the id. Only the form of 36 characters counts.
func (a orderArguments) uuid() (uuid.UUID, error) {
	if a.ID == "" {
		return uuid.Nil, &argumentError{"id", "is required: the id of an order, as the lists give it"}
	}
	id, err := uuid.Parse(a.ID)
	if err != nil || len(a.ID) != len(uuid.Nil.String()) {
		return uuid.Nil, &argumentError{"id", "must be a UUID of 36 characters, as the lists give it; a malo_id is none"}
	}
	return id, nil
}
