package api

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// look reads raw as one JSON value and returns it without a byte order mark, without
// blanks and with the shortest spelling of each string. Not UTF-8, anything behind the
// value, and an object that has two members of one name, also when only their case
// differs, are faults: one reader would take the first, another the last.
func look(raw []byte) (jsontext.Value, error) {
	raw = withoutMark(raw)
	value := jsontext.Value(bytes.Clone(raw))
	if err := value.Format(); err != nil {
		return nil, jsonFault(raw, err)
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(value))
	for {
		if err := lookAtValue(decoder); errors.Is(err, io.EOF) {
			return value, nil
		} else if err != nil {
			return nil, err
		}
	}
}

// lookAtValue looks at the next value and all in it. It goes as deep as the decoder
// lets it, which is ten thousand levels.
func lookAtValue(decoder *jsontext.Decoder) error {
	token, err := decoder.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case '{':
		return lookAtObject(decoder)
	case '[':
		for decoder.PeekKind() != ']' {
			if err := lookAtValue(decoder); err != nil {
				return err
			}
		}
		_, err = decoder.ReadToken()
	}
	return err
}

func lookAtObject(decoder *jsontext.Decoder) error {
	seen := map[string]bool{}
	for decoder.PeekKind() != '}' {
		name, err := decoder.ReadToken()
		if err != nil {
			return err
		}
		folded := fold(name.String())
		if seen[folded] {
			return fieldFault(errInvalidBody, fieldName(decoder.StackPointer()), "comes twice, in another case")
		}
		seen[folded] = true
		if err := lookAtValue(decoder); err != nil {
			return err
		}
	}
	_, err := decoder.ReadToken()
	return err
}

// fold is the same for two names that differ in case only, as Unicode has it: the
// long s is an s.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, name)
}

// objectMembers are the members of value, which must be an object.
func objectMembers(value jsontext.Value) (map[string]jsontext.Value, error) {
	if value.Kind() != '{' {
		return nil, errNoObject
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(value, &members); err != nil {
		return nil, jsonFault(value, err)
	}
	return members, nil
}
