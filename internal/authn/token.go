package authn

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The bounds of a token and of its parts, in bytes. Anybody can send one, and what is
// read before its signature is checked must cost next to nothing.
const (
	maxToken         = 256 << 10 // ten thousand roles need less than half of it
	maxHeaderPart    = 8 << 10
	maxSignaturePart = 4 << 10 // more than RSA has with 16384 bits
)

// algorithms are those of RFC 7518 and RFC 8037 with a public key. With a shared
// secret, or with none, anybody who has the provider's public keys could sign.
var algorithms = []string{
	"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
}

// header is what of a token's header counts. An embedded key or the address of one
// (jwk, jku, x5c, x5u) does not: whoever forges a token would bring his own.
type header struct {
	keyID    string
	isAccess bool // its type says that this is an access token (RFC 9068)
}

// readHeader checks the form of a token, so that most of what is none costs no
// cryptography, and returns what its header says.
func readHeader(token string) (header, error) {
	raw, err := checkForm(token)
	if err != nil {
		return header{}, err
	}
	members, err := readObject(raw)
	if err != nil {
		return header{}, refuse("header: %v", err)
	}
	if algorithm, ok := text(members["alg"]); !ok || !slices.Contains(algorithms, algorithm) {
		return header{}, refuse("algorithm %q is not accepted", algorithm)
	}
	// Nothing that changes how a token is to be read is understood here (RFC 7515,
	// 4.1.11, and RFC 7797).
	for _, name := range []string{"crit", "b64"} {
		if _, present := members[name]; present {
			return header{}, refuse("header with %q, which is not accepted", name)
		}
	}
	var h header
	var ok bool
	if h.keyID, ok = text(members["kid"]); !ok || h.keyID == "" {
		return header{}, refuse("header without a key id (kid)")
	}
	if value, present := members["typ"]; present {
		typ, _ := text(value)
		switch strings.ToLower(typ) {
		case "jwt":
		case "at+jwt", "application/at+jwt":
			h.isAccess = true
		default:
			return header{}, refuse("header typ %q is not that of an access token", typ)
		}
	}
	return h, nil
}

// checkForm returns the decoded header of what has the form of a signed token in
// compact serialization.
func checkForm(token string) ([]byte, error) {
	if len(token) > maxToken {
		return nil, refuse("longer than %d bytes", maxToken)
	}
	parts := strings.SplitN(token, ".", 4)
	switch {
	case len(parts) != 3:
		return nil, refuse("not three parts divided by dots")
	case len(parts[0]) > maxHeaderPart || len(parts[2]) > maxSignaturePart:
		return nil, refuse("header or signature is too long")
	}
	raw, ok := decodePart(parts[0])
	if !ok {
		return nil, refuse("the header is not base64url")
	}
	// The signature is over the other parts as they are spelled, but not over itself.
	if _, ok := decodePart(parts[2]); !ok {
		return nil, refuse("the signature is not base64url")
	}
	if payload := parts[1]; payload == "" || strings.ContainsFunc(payload, notBase64URL) {
		return nil, refuse("the payload is not base64url")
	}
	return raw, nil
}

func notBase64URL(r rune) bool {
	return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

// decodePart reads base64url without padding. The decoder would skip line breaks,
// and unless it is strict also bits that stand for nothing; each token would then
// have several spellings.
func decodePart(part string) ([]byte, bool) {
	if part == "" || strings.ContainsAny(part, "\r\n") {
		return nil, false
	}
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(part)
	return decoded, err == nil
}

var errNoObject = errors.New("no JSON object")

// readObject reads the members of one JSON object. A member that is there twice, at
// any depth, is an error: one reader would take the first, another the last.
func readObject(raw []byte) (map[string]jsontext.Value, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	if members == nil { // null
		return nil, errNoObject
	}
	return members, nil
}

// text is the value of a JSON string; not ok for everything else and for nothing.
func text(value jsontext.Value) (s string, ok bool) {
	if value.Kind() != '"' {
		return "", false
	}
	err := json.Unmarshal(value, &s)
	return s, err == nil
}

// texts are the strings of a JSON array; not ok for everything else and for an array
// that holds something else.
func texts(value jsontext.Value) (all []string, ok bool) {
	var entries []jsontext.Value
	if value.Kind() != '[' || json.Unmarshal(value, &entries) != nil {
		return nil, false
	}
	for _, entry := range entries {
		s, ok := text(entry)
		if !ok {
			return nil, false
		}
		all = append(all, s)
	}
	return all, true
}

// nature names what kind of JSON value this is.
func nature(value jsontext.Value) string {
	switch value.Kind() {
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 'n':
		return "null"
	default:
		return "a boolean"
	}
}
