package api

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cloudevents/sdk-go/v2/event"
)

// binary reads an event whose attributes are headers and whose data is the body.
func binary(contentType string, attributes map[string]string, body []byte) (event.Event, error) {
	data, err := look(body)
	if err != nil {
		return event.Event{}, err
	}
	if pid, given := attributes["makopid"]; given && !isDigits(pid) {
		return event.Event{}, fieldFault(errInvalidBody, "ce-makopid", "must be digits")
	}
	if attributes["specversion"] != event.CloudEventsVersionV1 {
		return event.Event{}, fieldFault(errInvalidBody, "ce-specversion", "must be "+event.CloudEventsVersionV1)
	}
	e := event.New()
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		value := attributes[name]
		switch name {
		case "specversion":
		case "id":
			e.SetID(value)
		case "source":
			e.SetSource(value)
		case "type":
			e.SetType(value)
		case "subject":
			e.SetSubject(value)
		case "dataschema":
			e.SetDataSchema(value)
		case "time":
			at, err := time.Parse(time.RFC3339, value)
			if err != nil {
				return event.Event{}, fieldFault(errInvalidBody, "ce-time", "must be RFC 3339")
			}
			e.SetTime(at)
		default:
			e.SetExtension(name, value)
		}
	}
	e.SetDataContentType(contentType)
	e.DataEncoded = data
	return e, nil
}

// attributeHeaders are the attributes of an event in binary mode: its ce-* headers,
// by attribute name and decoded.
func attributeHeaders(h http.Header) (map[string]string, error) {
	attributes := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		attribute, is := strings.CutPrefix(strings.ToLower(name), "ce-")
		if !is {
			continue
		}
		if len(h[name]) > 1 {
			return nil, fieldFault(errInvalidBody, "ce-"+attribute, "is given more than once")
		}
		value, err := decodeHeader(h[name][0])
		if err != nil {
			return nil, fieldFault(errInvalidBody, "ce-"+attribute, err.Error())
		}
		attributes[attribute] = value
	}
	return attributes, nil
}

// decodeHeader reads the value of a ce-* header as the HTTP binding of CloudEvents
// (version 1.0.2, section 3.1.3.2) has it: unquoted, percent-decoded once, UTF-8.
func decodeHeader(value string) (string, error) {
	if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
		var b strings.Builder
		for quoted := value[1 : len(value)-1]; quoted != ""; quoted = quoted[1:] {
			if quoted[0] == '\\' && len(quoted) > 1 {
				quoted = quoted[1:]
			}
			b.WriteByte(quoted[0])
		}
		value = b.String()
	}
	decoded, err := url.PathUnescape(value)
	if err != nil {
		return "", errors.New("has a percent sign that escapes nothing")
	}
	if !utf8.ValidString(decoded) {
		return "", errors.New("is not UTF-8")
	}
	return decoded, nil
}
