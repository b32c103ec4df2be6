package api

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"sperrd/internal/transaction"
)

const maxIdempotencyKey = 255 // characters

// key is the Idempotency-Key as an id: a UUID is a transactionId under another name.
func (r *headerReader) key(name string) string {
	text, ok := r.one(name)
	if !ok {
		return ""
	}
	key, ok := unquoted(text)
	id, isUUID := parseUUID(key)
	switch {
	case !ok || key == "" || len(key) > maxIdempotencyKey || strings.ContainsFunc(key, invisible):
		r.refuse(name, fmt.Sprintf(`must be one key of 1 to %d visible ASCII characters, bare, or in double quotes where it has a comma or a quote (written \")`, maxIdempotencyKey))
	case !isUUID:
		return transaction.KeyPrefix + key
	case id == uuid.Nil:
		r.refuse(name, "must not be the nil UUID")
	default:
		return id.String()
	}
	return ""
}

func invisible(r rune) bool { return r <= ' ' || r > '~' }

// unquoted is the key that text holds: a string of RFC 8941, without parameters, or a
// bare word, which has no quotes and is no list.
func unquoted(text string) (string, bool) {
	rest, quoted := strings.CutPrefix(text, `"`)
	if !quoted {
		return text, !strings.ContainsAny(text, `",`)
	}
	var key strings.Builder
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '"':
			return key.String(), i == len(rest)-1
		case '\\':
			i++
			if i == len(rest) || (rest[i] != '"' && rest[i] != '\\') {
				return "", false
			}
		}
		key.WriteByte(rest[i])
	}
	return "", false
}
