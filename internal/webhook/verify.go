package webhook

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Window is how far webhook-timestamp may lie from the receiver's clock, in
// both directions. A one-sided window would leave a message dated far ahead
// replayable until that day.
const Window = 300 * time.Second

// maxIDBytes bounds webhook-id: it is logged and kept as the key of a refused
// message, and a longer text fits no index.
const maxIDBytes = 512

// ErrSignature says that a message is not to be believed. The text around it
// says which check failed; it belongs into the log and never into the answer,
// where it would help a forger.
var ErrSignature = errors.New("webhook signature not valid")

// Verifier checks incoming messages against one or more secrets. It is safe
// for concurrent use.
type Verifier struct {
	macs []*standardwebhooks.Webhook
	now  func() time.Time
}

// NewVerifier returns a Verifier that believes a message signed with any of the
// secrets; more than one is for the time in which a sender changes over. A
// secret is its UTF-8 bytes as they stand. One with the prefix whsec_ counts
// under both readings, those bytes and the base64 text after the prefix, since
// senders disagree about it. No secret at all, a blank one, and a whsec_ secret
// with nothing decodable are errors. now is the receiver's clock.
func NewVerifier(secrets []string, now func() time.Time) (*Verifier, error) {
	if len(secrets) == 0 {
		return nil, errBlankSecret
	}
	v := &Verifier{now: now}
	for i, secret := range secrets {
		if err := v.add(secret); err != nil {
			return nil, fmt.Errorf("secret %d of %d: %w", i+1, len(secrets), err)
		}
	}

	return v, nil
}

// add registers every reading of one secret.
func (v *Verifier) add(secret string) error {
	raw, err := rawKey(secret)
	if err != nil {
		return err
	}
	decoded, ok, err := decodedKey(secret)
	if err != nil {
		return err
	}
	keys := [][]byte{raw}
	if ok {
		keys = append(keys, decoded)
	}
	for _, key := range keys {
		mac, err := standardwebhooks.NewWebhookRaw(key)
		if err != nil {
			return err
		}
		v.macs = append(v.macs, mac)
	}

	return nil
}

// Verify returns the id of the message when its headers and the body, taken
// byte for byte as received, carry a good signature that is not older or newer
// than Window. Every error wraps ErrSignature.
//
// Entries of webhook-signature in versions other than v1 are skipped, and one
// good v1 entry is enough wherever it stands. The MAC is computed once for each
// key, so the number of entries costs no more than reading them; comparison is
// in constant time.
func (v *Verifier) Verify(h http.Header, body []byte) (id string, err error) {
	id, err = single(h, HeaderID)
	if err != nil {
		return "", err
	}
	if len(id) > maxIDBytes || !utf8.ValidString(id) {
		return "", refuse("%s is over-long or not UTF-8", HeaderID)
	}
	timestamp, err := single(h, HeaderTimestamp)
	if err != nil {
		return "", err
	}
	if err := v.inWindow(timestamp); err != nil {
		return "", err
	}
	if _, err := single(h, HeaderSignature); err != nil {
		return "", err
	}
	for _, mac := range v.macs {
		if mac.VerifyIgnoringTimestamp(body, h) == nil {
			return id, nil
		}
	}

	return "", refuse("no entry of %s matches", HeaderSignature)
}

// inWindow checks the text of webhook-timestamp: unix seconds in plain digits.
// Only the one canonical spelling passes, because the library signs the number
// it has read and not the text.
func (v *Verifier) inWindow(text string) error {
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(seconds, 10) != text {
		return refuse("%s is not unix seconds in plain digits", HeaderTimestamp)
	}
	// Whole seconds as integers: a time.Time of a hostile number wraps around.
	limit := int64(Window / time.Second)
	now := v.now().Unix()
	switch {
	case seconds < now-limit:
		return refuse("%s is older than %s", HeaderTimestamp, Window)
	case seconds > now+limit:
		return refuse("%s is more than %s ahead", HeaderTimestamp, Window)
	}

	return nil
}

// single returns the value of a header that must be there exactly once: of two,
// a proxy and this service might each believe another one.
func single(h http.Header, name string) (string, error) {
	values := h.Values(name)
	switch {
	case len(values) == 0:
		return "", refuse("%s is missing", name)
	case len(values) > 1:
		return "", refuse("%s is there %d times", name, len(values))
	case values[0] == "":
		return "", refuse("%s is empty", name)
	}

	return values[0], nil
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrSignature}, args...)...)
}
