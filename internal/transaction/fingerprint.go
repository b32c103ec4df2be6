package transaction

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Fingerprint tells whether two calls ask for the same. It is comparable.
type Fingerprint [sha256.Size]byte

// FingerprintVersion is part of each Fingerprint and goes up with every change of
// what one is made of. The old form must be kept beside the new one for as long as calls
// are remembered: whoever repeats a call has only the fingerprint of the day.
const FingerprintVersion = 1

var errNoObject = errors.New("the body is not one JSON object")

// NewFingerprint is the SHA-256 of version, operation, body and reference, the
// caller's referenceId. body is one JSON object that has been read strictly already;
// empty stands for {}. What is no such object is an error, and so is a member that
// comes twice. Order of members, white space, the spelling of strings and numbers, and
// members that are null make no difference; all else does.
func NewFingerprint(operation string, body []byte, reference string) (Fingerprint, error) {
	form, err := canonical(body)
	if err != nil {
		return Fingerprint{}, fmt.Errorf("fingerprint a body: %w", err)
	}
	hash := sha256.New()
	hash.Write([]byte{FingerprintVersion})
	for _, part := range [][]byte{[]byte(operation), form, []byte(reference)} {
		// Lengths keep one part from reaching into the next.
		hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		hash.Write(part)
	}
	return Fingerprint(hash.Sum(nil)), nil
}

// canonical is body as RFC 8785 has it, without members that are null.
func canonical(body []byte) (jsontext.Value, error) {
	if len(body) == 0 {
		return jsontext.Value("{}"), nil
	}
	if jsontext.Value(body).Kind() != '{' {
		return nil, errNoObject
	}
	form, err := withoutNulls(body)
	if err != nil {
		return nil, err
	}
	// Numbers have their form already. A second value behind the object fails here.
	if err := form.Format(jsontext.ReorderRawObjects(true)); err != nil {
		return nil, err
	}
	return form, nil
}

// withoutNulls copies body but for the members that are null, at every depth. Elements
// of an array keep their places, null or not.
func withoutNulls(body []byte) (jsontext.Value, error) {
	var out bytes.Buffer
	from, to := jsontext.NewDecoder(bytes.NewReader(body)), jsontext.NewEncoder(&out)
	for {
		token, err := from.ReadToken()
		if errors.Is(err, io.EOF) {
			return out.Bytes(), nil
		}
		if err != nil {
			return nil, err
		}
		token = token.Clone() // looking ahead may overwrite it
		if inside, length := from.StackIndex(from.StackDepth()); inside == '{' && length%2 == 1 && from.PeekKind() == 'n' {
			if err := from.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		if err := write(to, token); err != nil {
			return nil, err
		}
	}
}

func write(to *jsontext.Encoder, token jsontext.Token) error {
	if token.Kind() != '0' {
		return to.WriteToken(token)
	}
	number, err := canonicalNumber(token.String())
	if err != nil {
		return err
	}
	return to.WriteValue(number)
}

// canonicalNumber is text as RFC 8785 spells it, which is the nearest float64. Where
// that is another number, such as that of an integer of 17 digits, it is the exact
// form instead: two numbers must not look like one.
func canonicalNumber(text string) (jsontext.Value, error) {
	number := jsontext.Value(text)
	if err := number.Canonicalize(); err != nil {
		return nil, err
	}
	if form := exact(text); form != exact(string(number)) {
		return jsontext.Value(form), nil
	}
	return number, nil
}

// exact is the one spelling that all spellings of a JSON number share: an integer
// without trailing zeros, and an exponent. An exponent that no int holds stays as it is.
func exact(text string) string {
	unsigned, negative := strings.CutPrefix(text, "-")
	mantissa, power, _ := strings.Cut(strings.ToLower(unsigned), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0"
	}
	exponent, err := strconv.ParseInt(cmp.Or(power, "0"), 10, 32)
	if err != nil {
		return text
	}
	significant := strings.TrimRight(digits, "0")
	exponent += int64(len(digits) - len(significant) - len(fraction))
	if negative {
		significant = "-" + significant
	}
	return significant + "e" + strconv.FormatInt(exponent, 10)
}
