package webhook

import (
	"encoding/base64"
	"errors"
	"strings"
)

// secretPrefix marks a secret written in the form of the Standard Webhooks
// libraries: what follows is the key in base64.
const secretPrefix = "whsec_"

// The two ways in which a secret is no secret. Their texts never hold it.
var (
	errBlankSecret      = errors.New("webhook secret is blank")
	errUndecodableAfter = errors.New("webhook secret has nothing decodable after " + secretPrefix)
)

// rawKey returns the secret's UTF-8 bytes as they stand. A blank secret is
// refused: with an empty key everybody could sign.
func rawKey(secret string) ([]byte, error) {
	if strings.TrimSpace(secret) == "" {
		return nil, errBlankSecret
	}

	return []byte(secret), nil
}

// decodedKey returns the key that the base64 text after the prefix stands for;
// ok is false for a secret without the prefix.
func decodedKey(secret string) (key []byte, ok bool, err error) {
	encoded, ok := strings.CutPrefix(secret, secretPrefix)
	if !ok {
		return nil, false, nil
	}
	key, err = base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) == 0 {
		return nil, true, errUndecodableAfter
	}

	return key, true, nil
}
