package authntest

import (
	"crypto/hmac"
	"crypto/sha256"
	"maps"
	"testing"
	"time"
)

// lifetime is that of a token unless its claims say otherwise.
const lifetime = 5 * time.Minute

// Token returns an access token like those of Keycloak, signed by the current key:
// of this issuer, for [Audience], about [Subject], with [Tenant] and [Role], issued
// now and good for five minutes. claims are put on top; a nil value removes one.
func (i *Issuer) Token(tb testing.TB, claims map[string]any) string {
	tb.Helper()
	return i.Sign(tb, i.Key(), nil, i.Claims(claims))
}

// Claims is the payload of such a token.
func (i *Issuer) Claims(claims map[string]any) []byte {
	now := i.Now()
	return encode(put(map[string]any{
		"iss": i.URL(), "sub": Subject, "aud": Audience, "typ": "Bearer",
		"iat": now.Unix(), "exp": now.Add(lifetime).Unix(),
		"mako_tenant": Tenant, "mako_roles": []string{Role},
	}, claims))
}

// Sign signs any payload by the algorithm of the key. The header names that
// algorithm, the key's id and the type JWT; header is put on top, true or not, and
// a nil value removes a member.
func (i *Issuer) Sign(tb testing.TB, key *Key, header map[string]any, payload []byte) string {
	tb.Helper()
	members := put(map[string]any{"alg": key.Algorithm, "kid": key.ID, "typ": "JWT"}, header)
	return i.SignRaw(tb, key, encode(members), payload)
}

// SignRaw signs any bytes as header and payload.
func (i *Issuer) SignRaw(tb testing.TB, key *Key, header, payload []byte) string {
	tb.Helper()
	input := encodePart(header) + "." + encodePart(payload)
	return input + "." + encodePart(key.sign(tb, []byte(input)))
}

// None returns a token with the algorithm none and an empty signature.
func None(key *Key, payload []byte) string {
	header := encode(map[string]any{"alg": "none", "kid": key.ID, "typ": "JWT"})
	return encodePart(header) + "." + encodePart(payload) + "."
}

// HS256 returns a token that names the key but is signed with an HMAC over a secret
// of the forger's choice, such as the public key itself.
func HS256(key *Key, secret, payload []byte) string {
	header := encode(map[string]any{"alg": "HS256", "kid": key.ID, "typ": "JWT"})
	input := encodePart(header) + "." + encodePart(payload)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(input))
	return input + "." + encodePart(mac.Sum(nil))
}

// put lays some members over others.
func put(members, over map[string]any) map[string]any {
	maps.Copy(members, over)
	maps.DeleteFunc(members, func(_ string, value any) bool { return value == nil })
	return members
}
