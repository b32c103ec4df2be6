package authn

import (
	"encoding/json"
	"strings"
	"testing"

	"sperrd/internal/authn/authntest"
)

func TestAuthenticate_every_asymmetric_algorithm_passes(t *testing.T) {
	t.Parallel()
	for _, algorithm := range algorithms {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if strings.HasPrefix(algorithm, "E") {
				b.issuer.Add(authntest.NewKey(t, algorithm))
			} else {
				b.issuer.Add(authntest.SharedRSA(t, algorithm))
			}
			b.refresh(t)
			if got := b.mustPass(t, b.issuer.Token(t, nil)).Subject; got != authntest.Subject {
				t.Errorf("subject %q", got)
			}
		})
	}
}

func TestAuthenticate_other_algorithms_are_refused(t *testing.T) {
	t.Parallel()
	b := newReadyBench(t)
	key, payload := b.issuer.Key(), b.issuer.Claims(nil)
	for name, secret := range map[string][]byte{
		"DER": key.DER(t), "PEM": key.PEM(t), "PEM_trimmed": []byte(strings.TrimSpace(string(key.PEM(t)))),
		"modulus": key.Modulus(), "empty": nil,
	} {
		t.Run("HS256_over_the_public_key/"+name, func(t *testing.T) {
			t.Parallel()
			b.mustRefuse(t, authntest.HS256(key, secret, payload), `algorithm "HS256" is not accepted`)
		})
	}
	for _, algorithm := range []any{"none", "None", "nOnE", "HS384", "rs256", "RS1", "ES256K", "ML-DSA-44", "", " RS256", 5, nil, []string{"RS256"}} {
		token := b.issuer.Sign(t, key, map[string]any{"alg": algorithm}, payload)
		b.mustRefuse(t, token, "is not accepted")
	}
	b.mustRefuse(t, authntest.None(key, payload), "the signature is not base64url")
	b.mustRefuse(t, strings.TrimSuffix(authntest.None(key, payload), "."), "not three parts")
}

func TestAuthenticate_algorithm_must_be_that_of_the_key(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p256, p384 := authntest.NewKey(t, "ES256"), authntest.NewKey(t, "ES384")
	rs256 := b.issuer.Key()
	b.issuer.Add(p256)
	b.refresh(t)
	payload := b.issuer.Claims(nil)

	named := map[string]any{"kid": p256.ID}
	b.mustRefuse(t, b.issuer.Sign(t, p384, named, payload), "algorithm is not that of the key")
	named["alg"] = "ES256"
	b.mustRefuse(t, b.issuer.Sign(t, p384, named, payload), errSignature.Error())
	named["alg"] = "RS256"
	b.mustRefuse(t, b.issuer.Sign(t, rs256, named, payload), "algorithm is not that of the key")

	// The same RSA numbers, but the key is published for RS256 alone.
	ps256 := authntest.SharedRSA(t, "PS256")
	b.mustRefuse(t, b.issuer.Sign(t, ps256, map[string]any{"kid": rs256.ID}, payload), "algorithm is not that of the key")
}

func TestAuthenticate_a_changed_token_is_refused(t *testing.T) {
	t.Parallel()
	b := newReadyBench(t)
	good := b.issuer.Token(t, nil)
	b.mustPass(t, good)
	parts := strings.Split(good, ".")
	forged := strings.Split(b.issuer.Token(t, map[string]any{"sub": "somebody-else"}), ".")
	stranger := authntest.NewKey(t, "RS256")
	last := len(good) - 1

	b.mustRefuse(t, parts[0]+"."+forged[1]+"."+parts[2], errSignature.Error())
	b.mustRefuse(t, parts[0]+"."+parts[1]+"."+forged[2], errSignature.Error())
	b.mustRefuse(t, good[:last-10]+flip(good[last-10])+good[last-9:], errSignature.Error())
	b.mustRefuse(t, good[:len(good)-2], errSignature.Error())
	b.mustRefuse(t, b.issuer.Sign(t, stranger, map[string]any{"kid": b.issuer.Key().ID}, b.issuer.Claims(nil)), errSignature.Error())

	// The last character holds bits that stand for nothing. Without a strict decoder
	// the token would be accepted in several spellings.
	b.mustRefuse(t, good[:last]+string(good[last]+1), "the signature is not base64url")
}

func flip(c byte) string {
	if c == 'A' {
		return "B"
	}
	return "A"
}

func TestAuthenticate_what_has_not_the_form_of_a_token_is_refused(t *testing.T) {
	t.Parallel()
	b := newReadyBench(t)
	good := b.issuer.Token(t, nil)
	parts := strings.Split(good, ".")
	jsonForm := `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`
	for name, token := range map[string]string{
		"empty": "", "a word": "secret", "dots": "..", "two parts": parts[0] + "." + parts[1],
		"encrypted": good + ".AAAA.AAAA", "four parts": good + ".AAAA",
		"JSON serialization": jsonForm, "no header": "." + parts[1] + "." + parts[2], "no payload": parts[0] + ".." + parts[2],
		"leading blank": " " + good, "line break": parts[0] + ".\n" + parts[1] + "." + parts[2], "trailing line break": good + "\r\n",
		"padding": good + "=", "plus": parts[0] + "." + parts[1] + ".+" + parts[2][1:], "NUL": good + "\x00", "not ASCII": good + "ä",
		"prefix": "Bearer " + good,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b.mustRefuse(t, token, "")
		})
	}
	if got := b.issuer.KeyFetches(); got != 1 {
		t.Errorf("%d fetches", got)
	}
}

func TestAuthenticate_a_token_has_at_most_256_KiB(t *testing.T) {
	t.Parallel()
	b := newReadyBench(t)
	// Three bytes of a claim are four characters of the token.
	b.mustPass(t, b.issuer.Token(t, map[string]any{"x": strings.Repeat("a", 190<<10)}))
	b.mustRefuse(t, b.issuer.Token(t, map[string]any{"x": strings.Repeat("a", 192<<10)}), "longer than 262144 bytes")
}

func TestAuthenticate_header_is_read_strictly(t *testing.T) {
	t.Parallel()
	b := newReadyBench(t)
	key, payload := b.issuer.Key(), b.issuer.Claims(nil)
	for name, header := range map[string]string{
		"null": `null`, "array": `[]`, "broken": `{"alg":`, "two values": `{"alg":"RS256","kid":"` + key.ID + `"} {}`,
		"twice":     `{"alg":"RS256","kid":"another","kid":"` + key.ID + `"}`,
		"kid null":  `{"alg":"RS256","kid":null}`,
		"not UTF-8": "{\"alg\":\"RS256\",\"kid\":\"" + key.ID + "\",\"x\":\"\xff\"}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b.mustRefuse(t, b.issuer.SignRaw(t, key, []byte(header), payload), "header")
		})
	}
	for _, extension := range []map[string]any{
		{"crit": []string{"exp"}, "exp": 1}, {"crit": []string{}}, {"crit": []string{"b64"}, "b64": true}, {"b64": false},
	} {
		b.mustRefuse(t, b.issuer.Sign(t, key, extension, payload), "which is not accepted")
	}
}

func TestAuthenticate_what_costs_work_before_the_signature_is_short(t *testing.T) {
	t.Parallel()
	b := newReadyBench(t)
	padded := func(n int) string {
		return b.issuer.Sign(t, b.issuer.Key(), map[string]any{"x": strings.Repeat("x", n)}, b.issuer.Claims(nil))
	}
	b.mustPass(t, padded(5_000))
	b.mustRefuse(t, padded(7_000), "too long")
	token := b.issuer.Token(t, nil)
	b.mustRefuse(t, token+strings.Repeat("A", maxSignaturePart), "too long")
	header, rest, _ := strings.Cut(token, ".")
	payload, signature, _ := strings.Cut(rest, ".")
	for _, odd := range []string{"", payload + "=", payload + "\n", payload + " ", "+" + payload, payload + "ü"} {
		b.mustRefuse(t, header+"."+odd+"."+signature, "the payload is not base64url")
	}
}

func TestAuthenticate_key_id_must_be_there_and_known(t *testing.T) {
	t.Parallel()
	b := newReadyBench(t)
	sign := func(kid any) string {
		return b.issuer.Sign(t, b.issuer.Key(), map[string]any{"kid": kid}, b.issuer.Claims(nil))
	}
	for _, kid := range []any{nil, "", 7, []string{b.issuer.Key().ID}} {
		b.mustRefuse(t, sign(kid), "without a key id")
	}
	for _, kid := range []string{
		"unknown", "../../etc/passwd", "/dev/null", strings.ToUpper(b.issuer.Key().ID), b.issuer.Key().ID + "\x00",
		"' OR 1=1 --", "http://127.0.0.1/", strings.Repeat("k", 5_000),
	} {
		refused := b.refusal(t, sign(kid), "is not among the known ones")
		if len(refused.Error()) > 2*maxText {
			t.Errorf("a reason of %d bytes", len(refused.Error()))
		}
	}
}

// A forger brings a key along and signs with it, under an id that is known or not.
func TestAuthenticate_embedded_keys_are_not_followed(t *testing.T) {
	t.Parallel()
	b := newReadyBench(t)
	forger := authntest.Start(t)
	stranger := authntest.NewKey(t, "RS256")
	forger.Add(stranger)
	for name, header := range map[string]map[string]any{
		"jwk": {"jwk": stranger.JWK()},
		"jku": {"jku": forger.URL() + "/protocol/openid-connect/certs"},
		"x5u": {"x5u": forger.URL() + "/protocol/openid-connect/certs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b.mustRefuse(t, b.issuer.Sign(t, stranger, header, b.issuer.Claims(nil)), "is not among the known ones")
			header["kid"] = b.issuer.Key().ID
			b.mustRefuse(t, b.issuer.Sign(t, stranger, header, b.issuer.Claims(nil)), errSignature.Error())
		})
	}
	t.Cleanup(func() {
		if forger.KeyFetches() > 0 {
			t.Error("the forger was asked for keys")
		}
	})
}

func TestAuthenticate_the_type_must_be_that_of_an_access_token(t *testing.T) {
	t.Parallel()
	b := newReadyBench(t)
	sign := func(typ any, claims map[string]any) string {
		return b.issuer.Sign(t, b.issuer.Key(), map[string]any{"typ": typ}, b.issuer.Claims(claims))
	}
	for _, typ := range []any{nil, "JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt"} {
		b.mustPass(t, sign(typ, nil))
		b.mustPass(t, sign(typ, map[string]any{"typ": nil}))
	}
	for _, typ := range []any{"", "logout+jwt", "dpop+jwt", "JOSE", "ID", 1, json.RawMessage("null")} {
		b.mustRefuse(t, sign(typ, nil), "header typ")
	}

	for _, typ := range []any{"Bearer", "bearer", "BEARER"} {
		b.mustPass(t, b.issuer.Token(t, map[string]any{"typ": typ}))
	}
	for _, typ := range []any{"ID", "Refresh", "Offline", "Logout", "", "DPoP", 1, true} {
		b.mustRefuse(t, b.issuer.Token(t, map[string]any{"typ": typ}), "typ")
		b.mustRefuse(t, sign("at+jwt", map[string]any{"typ": typ}), "typ")
	}

	for _, name := range []string{"nonce", "at_hash", "c_hash"} {
		mark := map[string]any{name: "n-0S6_WzA2Mj"}
		b.mustPass(t, b.issuer.Token(t, mark)) // some versions of Keycloak put it there
		mark["typ"] = nil
		b.mustPass(t, sign("at+jwt", mark))
		b.mustRefuse(t, b.issuer.Token(t, mark), "ID token")
		b.mustRefuse(t, sign(nil, mark), "ID token")
	}
}
