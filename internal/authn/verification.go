package authn

import (
	"context"
	"errors"

	"github.com/go-jose/go-jose/v4"
)

// verification checks the signature of one token with the keys of its key id. It is
// the [oidc.KeySet] of a single call and keeps the payload, since the verifier around
// it does not tell a bad signature from a wrong claim.
type verification struct {
	keys    []key
	payload []byte // nil until a signature was good
}

var errSignature = errors.New("the signature is not by the key that the token names")

// VerifySignature returns the payload when one of the keys has signed it, by an
// algorithm that is the key's.
func (v *verification) VerifySignature(_ context.Context, token string) ([]byte, error) {
	var fits bool
	for _, k := range v.keys {
		jws, err := jose.ParseSignedCompact(token, k.algorithms)
		var other *jose.ErrUnexpectedSignatureAlgorithm
		if errors.As(err, &other) {
			continue
		}
		if err != nil {
			return nil, err
		}
		fits = true
		if payload, err := jws.Verify(k.public); err == nil {
			v.payload = payload
			return payload, nil
		} else if errors.Is(err, jose.ErrUnsupportedCriticalHeader) {
			return nil, err
		}
	}
	if !fits {
		return nil, errors.New("the token's algorithm is not that of the key it names")
	}
	return nil, errSignature
}
