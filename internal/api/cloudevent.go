package api

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sperrd/internal/sperr"
)

// readEvent reads a CloudEvent in structured or in binary mode. The SDK is lenient
// where two readers could read two orders from one signed body, so a strict look at
// the raw JSON comes first. A mode it does not know is a fault, never "not ours". Header
// and body alone decide, so that a delivery which was kept reads as on the day it came.
func readEvent(h http.Header, body []byte) (event.Event, error) {
	media, err := mediaType(h)
	if err != nil {
		return event.Event{}, err
	}
	attributes, err := attributeHeaders(h)
	if err != nil {
		return event.Event{}, err
	}
	var e event.Event
	switch {
	case media == event.ApplicationCloudEventsJSON:
		e, err = structured(body)
	case media == event.ApplicationCloudEventsBatchJSON:
		err = unsupported("A batch of events is not taken; send each by itself.")
	case media == event.ApplicationJSON && len(attributes) > 0:
		e, err = binary(h.Get("Content-Type"), attributes, body)
	default:
		err = unsupported("A CloudEvent is needed: application/cloudevents+json, or application/json with ce-* headers.")
	}
	if err != nil {
		return event.Event{}, err
	}
	if err := e.Validate(); err != nil {
		return event.Event{}, eventFault(err)
	}
	return e, lookAtKind(e)
}

// lookAtKind checks what decides whether an event is ours. CloudEvents allows no
// control character in any attribute; with one in these two an order would be passed
// over as somebody else's event, and no trace of it be left.
func lookAtKind(e event.Event) error {
	invalid := &sperr.ValidationError{Subject: sperr.SubjectEvent}
	workflow, _ := e.Extensions()["makoworkflow"].(string)
	for _, attribute := range [][2]string{{"type", e.Type()}, {"makoworkflow", workflow}} {
		if strings.ContainsFunc(attribute[1], unicode.IsControl) {
			invalid.Fields = append(invalid.Fields, sperr.FieldError{Field: attribute[0], Reason: "has a control character"})
		}
	}
	if invalid.Fields == nil {
		return nil
	}
	return invalid
}

// structured reads an event whose attributes and data are one JSON object.
func structured(body []byte) (event.Event, error) {
	value, err := look(body)
	if err != nil {
		return event.Event{}, err
	}
	members, err := objectMembers(value)
	if err != nil {
		return event.Event{}, err
	}
	if err := lookAtAttributes(members); err != nil {
		return event.Event{}, err
	}
	// Null is absent; the SDK knows that of some attributes only.
	maps.DeleteFunc(members, func(name string, v jsontext.Value) bool { return name != "data" && v.Kind() == 'n' })
	if value, err = json.Marshal(members); err != nil {
		return event.Event{}, jsonFault(body, err)
	}
	var e event.Event
	if err := e.UnmarshalJSON(value); err != nil {
		return event.Event{}, eventFault(err)
	}
	e.DataEncoded = withoutMark(e.DataEncoded)
	// Data that came as text or base64 is looked at only now. It need not be JSON:
	// that is for the service to judge, which knows whether the event is its own.
	if _, err := look(e.Data()); errors.Is(err, errInvalidBody) {
		return event.Event{}, err
	}
	return e, nil
}

// eventFault says what the SDK finds wrong with an event.
func eventFault(err error) error {
	invalid, ok := errors.AsType[event.ValidationError](err)
	if !ok {
		// The SDK's own words quote the body.
		return &fault{kind: errInvalidBody, detail: "The body is no CloudEvent: time, source, dataschema or data cannot be read."}
	}
	var fields []sperr.FieldError
	for _, name := range slices.Sorted(maps.Keys(invalid)) {
		fields = append(fields, sperr.FieldError{Field: printable(name, 100), Reason: printable(invalid[name].Error(), 200)})
	}
	return &fault{kind: errInvalidBody, detail: "The body is no CloudEvent: " + sentence(fields), fields: fields}
}

// attributeText are the attributes that are text and nothing else. The SDK would
// print another JSON value, and a makoworkflow of true would make the event "not ours".
var attributeText = []string{
	"specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema",
	"makoworkflow", "data_base64",
}

// lookAtAttributes checks the members of a structured event: version, names as
// CloudEvents allows them, values of the right kind, makopid a whole number or a text,
// and one data, since readers differ in which of two they take.
func lookAtAttributes(members map[string]jsontext.Value) error {
	if version := string(members["specversion"]); version != `"`+event.CloudEventsVersionV1+`"` {
		return fieldFault(errInvalidBody, "specversion", "must be "+event.CloudEventsVersionV1)
	}
	_, plain := members["data"]
	if encoded, given := members["data_base64"]; plain && given && encoded.Kind() != 'n' {
		return fieldFault(errInvalidBody, "data_base64", "stands beside data: an event has one of them")
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		v := members[name]
		switch {
		case name == "data":
		case name != "data_base64" && !isAttributeName(name):
			return fieldFault(errInvalidBody, name, "is no attribute name: those are lower-case letters and digits")
		case v.Kind() == 'n' && name != "data_base64": // null is absent
		case slices.Contains(attributeText, name) && v.Kind() != '"':
			return fieldFault(errInvalidBody, name, "must be a string")
		case isDigits(string(v)) && !fitsInt32(string(v)):
			return fieldFault(errInvalidBody, name, "must be a whole number of 32 bits, or a string")
		case name == "makopid" && v.Kind() != '"' && !isDigits(string(v)):
			return fieldFault(errInvalidBody, name, "must be a whole number or a string of digits")
		case v.Kind() == '{' || v.Kind() == '[':
			return fieldFault(errInvalidBody, name, "must be a string, a number or a boolean")
		}
	}
	return nil
}

func isAttributeName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
}

// fitsInt32 reports whether digits are an Integer as CloudEvents has it.
func fitsInt32(digits string) bool {
	_, err := strconv.ParseInt(digits, 10, 32)
	return err == nil
}

func isDigits(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}
