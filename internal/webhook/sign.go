package webhook

import (
	"net/http"
	"strconv"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Signer signs outgoing messages with one secret. It is safe for concurrent use.
type Signer struct {
	mac *standardwebhooks.Webhook
}

// NewSigner returns a Signer. The key of a secret with the prefix whsec_ is the
// base64 text after it, which is what every Standard Webhooks library on the
// receiving side expects; any other secret is its own UTF-8 bytes. A blank
// secret and a whsec_ secret with nothing decodable are errors.
func NewSigner(secret string) (*Signer, error) {
	key, decoded, err := decodedKey(secret)
	if err != nil {
		return nil, err
	}
	if !decoded {
		if key, err = rawKey(secret); err != nil {
			return nil, err
		}
	}
	mac, err := standardwebhooks.NewWebhookRaw(key)
	if err != nil {
		return nil, err
	}

	return &Signer{mac: mac}, nil
}

// Sign returns the three headers for a message: id names the message and stays
// the same over its retries, at is the moment of this attempt (whole seconds
// are signed), body is exactly what will be sent.
func (s *Signer) Sign(id string, at time.Time, body []byte) http.Header {
	// An HMAC over bytes in memory cannot fail; the library's error is for
	// asymmetric keys, which it does not have.
	signature, _ := s.mac.Sign(id, at, body)
	h := make(http.Header, 3)
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	h.Set(HeaderSignature, signature)

	return h
}
