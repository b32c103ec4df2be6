package authntest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha256" // SHA256
	_ "crypto/sha512" // SHA384 and SHA512
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"
	"sync"
	"testing"
)

// Key is a key pair of a provider. Its fields may be changed before it is used.
type Key struct {
	ID        string // kid
	Algorithm string // the one by which it signs, as a JWS names it
	signer    crypto.Signer
}

// sharedRSA is where an RSA key is needed and not a particular one.
var sharedRSA = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// NewKey returns a new key for RS, PS or ES with 256, 384 or 512, or for EdDSA, under
// an id of its own. RSA keys have 2048 bits and take a while.
func NewKey(tb testing.TB, algorithm string) *Key {
	tb.Helper()
	var signer crypto.Signer
	var err error
	switch algorithm {
	case "RS256", "RS384", "RS512", "PS256", "PS384", "PS512":
		signer, err = rsa.GenerateKey(rand.Reader, 2048)
	case "ES256":
		signer, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "ES384":
		signer, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "ES512":
		signer, err = ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	case "EdDSA":
		_, signer, err = ed25519.GenerateKey(rand.Reader)
	default:
		tb.Fatalf("no key for the algorithm %q", algorithm)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return &Key{ID: newID(), Algorithm: algorithm, signer: signer}
}

// SharedRSA returns the RSA key that all tests of the binary share, under an id of
// its own, for one of the algorithms RS and PS.
func SharedRSA(tb testing.TB, algorithm string) *Key {
	tb.Helper()
	private, err := sharedRSA()
	if err != nil {
		tb.Fatal(err)
	}
	return &Key{ID: newID(), Algorithm: algorithm, signer: private}
}

func newID() string { return strings.ToLower(rand.Text()[:12]) }

// Public is the public key.
func (k *Key) Public() crypto.PublicKey { return k.signer.Public() }

// DER is the public key as X.509 has it (SubjectPublicKeyInfo). Like [Key.PEM] and
// [Key.Modulus] a forger may take it for the secret of an HMAC.
func (k *Key) DER(tb testing.TB) []byte {
	tb.Helper()
	der, err := x509.MarshalPKIXPublicKey(k.Public())
	if err != nil {
		tb.Fatal(err)
	}
	return der
}

// PEM is [Key.DER] as a text.
func (k *Key) PEM(tb testing.TB) []byte {
	tb.Helper()
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: k.DER(tb)})
}

// Modulus is the number of an RSA key, nil for another one.
func (k *Key) Modulus() []byte {
	if public, ok := k.Public().(*rsa.PublicKey); ok {
		return public.N.Bytes()
	}
	return nil
}

// JWK are the members of the public key as a JSON Web Key.
func (k *Key) JWK() map[string]any {
	jwk := map[string]any{"kid": k.ID, "alg": k.Algorithm, "use": "sig"}
	switch public := k.Public().(type) {
	case *rsa.PublicKey:
		jwk["kty"], jwk["n"] = "RSA", encodePart(public.N.Bytes())
		jwk["e"] = encodePart(big.NewInt(int64(public.E)).Bytes())
	case *ecdsa.PublicKey:
		size := (public.Curve.Params().BitSize + 7) / 8
		point, _ := public.Bytes() // 4, x and y; no error for a key that was generated
		jwk["kty"], jwk["crv"] = "EC", public.Curve.Params().Name
		jwk["x"], jwk["y"] = encodePart(point[1:1+size]), encodePart(point[1+size:])
	case ed25519.PublicKey:
		jwk["kty"], jwk["crv"], jwk["x"] = "OKP", "Ed25519", encodePart(public)
	}
	return jwk
}

// sign is the signature of a JWS by the key's own algorithm.
func (k *Key) sign(tb testing.TB, input []byte) []byte {
	tb.Helper()
	if private, ok := k.signer.(ed25519.PrivateKey); ok {
		return ed25519.Sign(private, input)
	}
	hash := map[string]crypto.Hash{"256": crypto.SHA256, "384": crypto.SHA384, "512": crypto.SHA512}[k.Algorithm[2:]]
	h := hash.New()
	h.Write(input)
	sum := h.Sum(nil)
	if private, ok := k.signer.(*ecdsa.PrivateKey); ok {
		return signEC(tb, private, sum)
	}
	var options crypto.SignerOpts = hash
	if strings.HasPrefix(k.Algorithm, "PS") {
		options = &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: hash}
	}
	signature, err := k.signer.Sign(rand.Reader, sum, options)
	if err != nil {
		tb.Fatal(err)
	}
	return signature
}

// signEC returns r and s side by side, each as long as the curve (RFC 7518, 3.4).
func signEC(tb testing.TB, private *ecdsa.PrivateKey, sum []byte) []byte {
	tb.Helper()
	r, s, err := ecdsa.Sign(rand.Reader, private, sum)
	if err != nil {
		tb.Fatal(err)
	}
	size := (private.Curve.Params().BitSize + 7) / 8
	return append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...)
}

func encodePart(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }
