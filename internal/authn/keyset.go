package authn

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"fmt"
	"slices"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// minRSABits is what RFC 7518, 3.3 and 3.5 demand.
const minRSABits = 2048

// key is one public key of the provider.
type key struct {
	public     any
	algorithms []jose.SignatureAlgorithm // those that the key can verify and may
	thumbprint string
}

// keySet is the provider's keys by their id. Several keys may share one. It is never
// changed once it is built; a newer one takes its place.
type keySet struct {
	byID     map[string][]key
	count    int
	unusable []string // why each entry that was skipped was
}

// readKeySet reads a JSON Web Key Set (RFC 7517, 5). Entries are read one by one,
// and those of no use here are skipped: a provider may have keys for encryption or
// of a kind that is newer than this program. A set with nothing usable is an error.
func readKeySet(body []byte) (*keySet, error) {
	var document struct {
		Keys []jsontext.Value `json:"keys"`
	}
	// The faults of one entry are not those of the others.
	lenient := json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err := json.Unmarshal(body, &document, lenient); err != nil {
		return nil, fmt.Errorf("no JSON Web Key Set: %w", err)
	}
	set := &keySet{byID: map[string][]key{}}
	var skipped error
	for _, entry := range document.Keys {
		id, k, err := readKey(entry)
		if err != nil {
			skipped = err
			set.unusable = append(set.unusable, err.Error())
			continue
		}
		set.byID[id] = append(set.byID[id], k)
		set.count++
	}
	switch {
	case set.count > 0:
		return set, nil
	case skipped != nil:
		return nil, fmt.Errorf("none of %d keys is usable, the last because: %w", len(document.Keys), skipped)
	}
	return nil, errors.New("a key set without keys")
}

// secretMembers are those of private and symmetric keys. A key that the whole world
// can read with them is nobody's proof.
var secretMembers = []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"}

func readKey(entry jsontext.Value) (id string, k key, err error) {
	members, err := readObject(entry)
	if err != nil {
		return "", key{}, err
	}
	for _, name := range secretMembers {
		if _, present := members[name]; present {
			return "", key{}, errors.New("a private or symmetric key")
		}
	}
	if operations, present := members["key_ops"]; present {
		if list, ok := texts(operations); !ok || !slices.Contains(list, "verify") {
			return "", key{}, errors.New("a key for other operations than verify")
		}
	}
	// Certificates are not used, so a flaw of theirs must not cost the key.
	for _, name := range []string{"x5c", "x5u", "x5t", "x5t#S256"} {
		delete(members, name)
	}
	plain, err := json.Marshal(members)
	if err != nil {
		return "", key{}, err
	}
	var jwk jose.JSONWebKey
	if err := jwk.UnmarshalJSON(plain); err != nil {
		return "", key{}, err
	}
	if jwk.KeyID == "" {
		return "", key{}, errors.New("a key without an id (kid)")
	}
	if jwk.Use != "" && jwk.Use != "sig" {
		return "", key{}, fmt.Errorf("a key for the use %q", jwk.Use)
	}
	k, err = newKey(jwk)
	return jwk.KeyID, k, err
}

func newKey(jwk jose.JSONWebKey) (key, error) {
	k := key{public: jwk.Key, algorithms: fitting(jwk.Key)}
	if named := jose.SignatureAlgorithm(jwk.Algorithm); named != "" {
		k.algorithms = slices.DeleteFunc(k.algorithms, func(a jose.SignatureAlgorithm) bool { return a != named })
	}
	if len(k.algorithms) == 0 {
		return key{}, errors.New("a key that is too short, or of a kind or for an algorithm that is not accepted")
	}
	sum, err := jwk.Thumbprint(crypto.SHA256)
	if err != nil {
		return key{}, err
	}
	k.thumbprint = string(sum)
	return k, nil
}

// fitting are the algorithms for which a public key is made; none for one that is
// too short or of a kind that is not accepted.
func fitting(public any) []jose.SignatureAlgorithm {
	switch public := public.(type) {
	case *rsa.PublicKey:
		if public.N.BitLen() >= minRSABits {
			return []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512}
		}
	case *ecdsa.PublicKey:
		switch public.Curve {
		case elliptic.P256():
			return []jose.SignatureAlgorithm{jose.ES256}
		case elliptic.P384():
			return []jose.SignatureAlgorithm{jose.ES384}
		case elliptic.P521():
			return []jose.SignatureAlgorithm{jose.ES512}
		}
	case ed25519.PublicKey:
		return []jose.SignatureAlgorithm{jose.EdDSA}
	}
	return nil
}

// history remembers keys by their thumbprints under their id. A provider whose nodes
// disagree shows the same keys again and again, and none of that is news.
type history map[string]bool

// longestHistory is so many that no provider gets there by rotating.
const longestHistory = 10_000

// learn reports whether s has a key that was never seen before.
func (h history) learn(s *keySet) (news bool) {
	names := s.names()
	for _, name := range names {
		news = news || !h[name]
	}
	if news && len(h)+len(names) > longestHistory {
		clear(h)
	}
	for _, name := range names {
		h[name] = true
	}
	return news
}

// names are the thumbprints under their ids.
func (s *keySet) names() (all []string) {
	for id, keys := range s.byID {
		for _, k := range keys {
			all = append(all, id+" "+k.thumbprint)
		}
	}
	return all
}
