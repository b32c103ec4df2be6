package authn

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"

	"sperrd/internal/authn/authntest"
)

// with is a JWK with some members changed; a nil value removes one.
func with(jwk, changes map[string]any) map[string]any {
	changed := maps.Clone(jwk)
	maps.Copy(changed, changes)
	maps.DeleteFunc(changed, func(_ string, value any) bool { return value == nil })
	return changed
}

func keySetOf(t *testing.T, entries ...any) []byte {
	t.Helper()
	body, err := json.Marshal(map[string]any{"keys": entries})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestKeySet_entries_of_no_use_are_skipped(t *testing.T) {
	t.Parallel()
	key, ec := authntest.SharedRSA(t, "RS256"), authntest.NewKey(t, "ES256")
	good, point := key.JWK(), ec.JWK()
	short := base64.RawURLEncoding.EncodeToString(key.Modulus()[:128])
	for name, entry := range map[string]any{
		"for encryption":           with(good, map[string]any{"use": "enc"}),
		"encryption by operation":  with(good, map[string]any{"use": nil, "key_ops": []string{"encrypt"}}),
		"no operation":             with(good, map[string]any{"key_ops": []string{}}),
		"encryption by algorithm":  with(good, map[string]any{"use": nil, "alg": "RSA-OAEP"}),
		"HMAC over a public key":   with(good, map[string]any{"alg": "HS256"}),
		"algorithm of another key": with(good, map[string]any{"alg": "ES256"}),
		"symmetric":                map[string]any{"kty": "oct", "kid": "a", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldA", "alg": "HS256"},
		"private":                  with(good, map[string]any{"d": "AQAB"}),
		"private in part":          with(good, map[string]any{"p": "AQAB"}),
		"RSA of 1024 bits":         with(good, map[string]any{"n": short}),
		"no id":                    with(good, map[string]any{"kid": nil}),
		"empty id":                 with(good, map[string]any{"kid": ""}),
		"id is a number":           with(good, map[string]any{"kid": 1}),
		"no type":                  with(good, map[string]any{"kty": nil}),
		"unknown type":             with(good, map[string]any{"kty": "LMS"}),
		"unknown curve":            with(point, map[string]any{"crv": "secp256k1"}),
		"not on the curve":         with(point, map[string]any{"x": point["y"]}),
		"for key agreement":        map[string]any{"kty": "OKP", "crv": "X25519", "kid": "a", "x": "AAAA"},
		"no modulus":               with(good, map[string]any{"n": nil}),
		"no base64":                with(good, map[string]any{"n": "%%%"}),
		"a member twice":           json.RawMessage(`{"kty":"RSA","kty":"RSA"}`),
		"null":                     nil, "text": "key", "number": 1, "array": []any{},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := readKeySet(keySetOf(t, entry, good, entry))
			if err != nil {
				t.Fatal(err)
			}
			if set.count != 1 || len(set.byID[key.ID]) != 1 {
				t.Errorf("%d keys, %d under the id of the good one", set.count, len(set.byID[key.ID]))
			}
			if _, err := readKeySet(keySetOf(t, entry)); err == nil || !strings.Contains(err.Error(), "none of 1 keys is usable") {
				t.Errorf("alone: %v", err)
			}
		})
	}
}

func TestKeySet_what_is_none_is_an_error(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "null", "[]", "{}", `{"keys":null}`, `{"keys":[]}`, `{"keys":{}}`, `{"KEYS":[{}]}`, `{"keys":[`, "<html>", `{"keys":[]} x`} {
		if set, err := readKeySet([]byte(body)); err == nil {
			t.Errorf("%s: %+v", body, set)
		}
	}
}

// What is wrong with a certificate, or with another entry, is not wrong with the key.
func TestKeySet_a_key_counts_for_itself(t *testing.T) {
	t.Parallel()
	good := authntest.SharedRSA(t, "RS256").JWK()
	for name, body := range map[string][]byte{
		"certificate":   keySetOf(t, with(good, map[string]any{"x5c": []string{"bm90IGEgY2VydGlmaWNhdGU="}, "x5t": "AAAA"})),
		"no algorithm":  keySetOf(t, with(good, map[string]any{"alg": nil})),
		"no use":        keySetOf(t, with(good, map[string]any{"use": nil})),
		"not UTF-8":     bytes.Replace(keySetOf(t, map[string]any{"kid": "@"}, good), []byte("@"), []byte("\xff"), 1),
		"extra members": bytes.Replace(keySetOf(t, good), []byte(`{"keys"`), []byte(`{"x":1,"x":2,"keys"`), 1),
	} {
		if set, err := readKeySet(body); err != nil || set.count != 1 {
			t.Errorf("%s: %+v, %v", name, set, err)
		}
	}
}

func TestAuthenticate_all_keys_of_an_id_are_tried(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	keys := []*authntest.Key{authntest.NewKey(t, "ES256"), authntest.NewKey(t, "ES256"), authntest.NewKey(t, "EdDSA")}
	for _, key := range keys {
		key.ID = "same"
		b.issuer.Add(key)
	}
	b.refresh(t)
	if got := b.authn.Keys(); got != 4 {
		t.Errorf("%d keys", got)
	}
	for _, key := range keys {
		b.mustPass(t, b.issuer.Sign(t, key, nil, b.issuer.Claims(nil)))
	}
}

// The last good keys are better than none, however long the provider has trouble.
func TestRefresh_failure_leaves_the_keys_as_they_are(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*authntest.Issuer){
		"down":                   func(i *authntest.Issuer) { i.SetDown(true) },
		"discovery 500":          func(i *authntest.Issuer) { i.Answer(authntest.Discovery, 500) },
		"keys 500":               func(i *authntest.Issuer) { i.Answer(authntest.KeySet, 500) },
		"keys 404":               func(i *authntest.Issuer) { i.Answer(authntest.KeySet, 404) },
		"keys 204":               func(i *authntest.Issuer) { i.Answer(authntest.KeySet, 204) },
		"keys 203":               func(i *authntest.Issuer) { i.Answer(authntest.KeySet, 203) },
		"no body":                func(i *authntest.Issuer) { i.SetKeySet([]byte{}) },
		"no keys":                func(i *authntest.Issuer) { i.SetKeySet([]byte(`{"keys":[]}`)) },
		"garbage":                func(i *authntest.Issuer) { i.SetKeySet([]byte(`<html>\x00`)) },
		"unusable":               func(i *authntest.Issuer) { i.SetKeySet([]byte(`{"keys":[{"kty":"oct","k":"AAAA","kid":"a"}]}`)) },
		"another issuer":         func(i *authntest.Issuer) { i.SetIssuer("https://other.example") },
		"no place of the keys":   func(i *authntest.Issuer) { i.SetKeysURL("") },
		"keys in a file":         func(i *authntest.Issuer) { i.SetKeysURL("file:///etc/passwd") },
		"keys at a place inside": func(i *authntest.Issuer) { i.SetKeysURL("/certs") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newReadyBench(t)
			token := b.issuer.Token(t, nil)
			fail(b.issuer)
			if err := b.authn.Refresh(t.Context()); err == nil {
				t.Error("no error")
			}
			if got := b.authn.Keys(); got != 1 {
				t.Errorf("%d keys", got)
			}
			b.mustPass(t, token)
		})
	}
}

func TestRefresh_a_withdrawn_key_is_gone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	old := b.issuer.Key()
	b.issuer.Add(authntest.NewKey(t, "ES256"))
	b.refresh(t)
	token := b.issuer.Sign(t, old, nil, b.issuer.Claims(nil))
	b.mustPass(t, token)
	b.issuer.Remove(old)
	b.mustPass(t, token)
	b.refresh(t)
	b.mustRefuse(t, token, "the key is not among the known ones")
	b.mustPass(t, b.issuer.Token(t, nil))
}

func TestRefresh_names_both_issuers_when_they_differ(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.issuer.SetIssuer("https://keycloak:8080/realms/mako")
	err := b.authn.Refresh(t.Context())
	var mismatch *oidc.IssuerMismatchError
	if !errors.As(err, &mismatch) {
		t.Fatalf("error %v", err)
	}
	for _, name := range []string{"https://keycloak:8080/realms/mako", b.issuer.URL()} {
		if !strings.Contains(err.Error(), fmt.Sprintf("%q", name)) {
			t.Errorf("%q does not name %q", err, name)
		}
	}
}

// The first answer is held back until the second one would be there.
func TestRefresh_one_after_the_other(t *testing.T) {
	t.Parallel()
	b := newReadyBench(t)
	hold := b.issuer.Hang(authntest.KeySet)
	var refreshes sync.WaitGroup
	refreshes.Go(func() { b.refresh(t) })
	<-hold.Reached()
	b.issuer.Rotate(t)
	second, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.authn.Refresh(second); !errors.Is(err, context.Canceled) || b.issuer.KeyFetches() != 2 {
		t.Errorf("a second fetch goes on beside the first: %v, %d fetches", err, b.issuer.KeyFetches())
	}
	refreshes.Go(func() { b.refresh(t) })
	hold.Release()
	refreshes.Wait()
	b.mustPass(t, b.issuer.Token(t, nil))
}

func TestHistory_does_not_grow_for_ever(t *testing.T) {
	t.Parallel()
	h := history{}
	set := func(i int) *keySet {
		id := strconv.Itoa(i)
		return &keySet{byID: map[string][]key{id: {{thumbprint: id}}}}
	}
	for i := range longestHistory + 2 {
		if !h.learn(set(i)) {
			t.Fatalf("key %d is no news", i)
		}
		if h.learn(set(i)) {
			t.Fatalf("key %d is news twice", i)
		}
	}
	if len(h) > longestHistory {
		t.Errorf("%d keys are remembered", len(h))
	}
}
