package api

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// decode reads a body that is one JSON object into v, which is strict: a member that
// v does not know, in whatever case, or that comes twice is a fault, since it would be
// a report that says something else than it seems to. The body is returned as it came,
// but for a byte order mark.
func (s *server) decode(r *http.Request, v any) ([]byte, error) {
	body, err := s.readBody(r)
	if err != nil {
		return nil, err
	}
	if len(body) == 0 {
		return nil, &fault{kind: errInvalidBody, detail: "The request has no body; one JSON object is needed."}
	}
	body = withoutMark(body)
	return body, decodeObject(r.Header, body, v)
}

// decodeOptional is decode for a body that may be absent: that stands for {} and
// needs no content type.
func (s *server) decodeOptional(r *http.Request, v any) ([]byte, error) {
	body, err := s.readBody(r)
	if err != nil || len(body) == 0 {
		return nil, err
	}
	body = withoutMark(body)
	return body, decodeObject(r.Header, body, v)
}

func decodeObject(h http.Header, body []byte, v any) error {
	media, err := mediaType(h)
	if err != nil {
		return err
	}
	if media != "application/json" {
		return unsupported("The only media type is application/json.")
	}
	if err := json.Unmarshal(body, v, json.RejectUnknownMembers(true)); err != nil {
		return jsonFault(body, err)
	}
	if jsontext.Value(body).Kind() != '{' { // null fits every type
		return errNoObject
	}
	return nil
}

var errNoObject = &fault{kind: errInvalidBody, detail: "The body must be one JSON object."}

// jsonFault says what is wrong with a body without quoting it.
func jsonFault(body []byte, err error) error {
	if wrong, ok := errors.AsType[*json.SemanticError](err); ok {
		field := fieldName(wrong.JSONPointer)
		switch {
		case wrong.JSONPointer == "":
			return errNoObject
		case errors.Is(wrong.Err, json.ErrUnknownName):
			return fieldFault(errInvalidBody, field, "is not a member of this body")
		default:
			return fieldFault(errInvalidBody, field, "must be "+wantedType(wrong.GoType))
		}
	}
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return fmt.Errorf("decode a body: %w", err)
	}
	detail := fmt.Sprintf("The body is not valid JSON at byte %d.", syntax.ByteOffset)
	switch {
	case errors.Is(syntax.Err, jsontext.ErrDuplicateName):
		return fieldFault(errInvalidBody, fieldName(syntax.JSONPointer), "comes twice")
	case isWide(body):
		detail = "The body is UTF-16 or UTF-32; send it as UTF-8."
	case !utf8.Valid(body):
		detail = "The body is not UTF-8."
	case bytes.HasPrefix(body, byteOrderMark):
		detail = "The body begins with a second byte order mark; send it with one at most."
	}
	return &fault{kind: errInvalidJSON, detail: detail}
}

// fieldName writes a place in a body as the errors of package sperr do.
func fieldName(pointer jsontext.Pointer) string {
	var names []string
	for name := range pointer.Tokens() {
		names = append(names, name)
	}
	return strings.Join(names, ".")
}

// wantedType names the JSON of a Go type; the bodies have no others than these.
func wantedType(t reflect.Type) string {
	switch {
	case t != nil && t.Kind() == reflect.Bool:
		return "true or false"
	case t != nil && t.Kind() == reflect.Struct:
		return "an object"
	case t != nil && t.Kind() == reflect.Int:
		return "a whole number, written in digits alone"
	default:
		return "a string"
	}
}
