package authntest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client keeps no connection, so that none is left over.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// What a client that is nobody's part thinks of the provider.
func verifier(t *testing.T, i *Issuer) *oidc.IDTokenVerifier {
	t.Helper()
	provider, err := oidc.NewProvider(oidc.ClientContext(context.Background(), client), i.URL())
	if err != nil {
		t.Fatal(err)
	}
	return provider.Verifier(&oidc.Config{ClientID: Audience, Now: i.Now, SupportedSigningAlgs: []string{
		"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
	}})
}

func TestIssuer_tokens_pass_a_stock_client(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{
		"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
	} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			i := Start(t)
			if algorithm[0] == 'E' {
				i.Add(NewKey(t, algorithm))
			} else {
				i.Add(SharedRSA(t, algorithm))
			}
			token, err := verifier(t, i).Verify(t.Context(), i.Token(t, nil))
			if err != nil {
				t.Fatal(err)
			}
			if token.Subject != Subject || token.Audience[0] != Audience || token.Expiry.Sub(token.IssuedAt) != 5*time.Minute {
				t.Errorf("token %+v", token)
			}
		})
	}
}

func TestIssuer_forgeries_do_not(t *testing.T) {
	t.Parallel()
	i := Start(t)
	v, key, payload := verifier(t, i), i.Key(), i.Claims(nil)
	for name, token := range map[string]string{
		"none":         None(key, payload),
		"HMAC":         HS256(key, key.DER(t), payload),
		"a stranger's": i.Sign(t, NewKey(t, "RS256"), map[string]any{"kid": key.ID}, payload),
		"no audience":  i.Token(t, map[string]any{"aud": nil}),
		"old":          i.Token(t, map[string]any{"exp": 1}),
	} {
		if _, err := v.Verify(t.Context(), token); err == nil {
			t.Errorf("%s: passes", name)
		}
	}
}

func TestIssuer_keys_come_and_go(t *testing.T) {
	t.Parallel()
	i := Start(t)
	first, second := i.Key(), NewKey(t, "ES256")
	i.Add(second)
	if i.Key() != second {
		t.Error("the key added is not the current one")
	}
	i.Remove(second)
	i.Remove(first)
	if i.Key() != first {
		t.Error("the last key has gone")
	}
	rotated := i.Rotate(t)
	_, body := get(t, i, KeySet)
	if i.Key() != rotated || !strings.Contains(body, rotated.ID) || strings.Contains(body, first.ID) {
		t.Errorf("after the rotation: %s", body)
	}
}

// get returns status and body, 0 for no answer.
func get(t *testing.T, i *Issuer, name Endpoint) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(i.URL(), realm)+string(name), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if errors.Is(err, io.EOF) {
		return 0, ""
	}
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestIssuer_fails_on_demand(t *testing.T) {
	t.Parallel()
	i := Start(t)
	i.Answer(KeySet, http.StatusServiceUnavailable)
	if status, _ := get(t, i, KeySet); status != http.StatusServiceUnavailable {
		t.Errorf("status %d", status)
	}
	if status, _ := get(t, i, Discovery); status != http.StatusOK {
		t.Errorf("the other document: status %d", status)
	}
	i.Answer(KeySet, 0)
	i.SetDown(true)
	if status, _ := get(t, i, KeySet); status != 0 {
		t.Errorf("down: status %d", status)
	}
	i.SetDown(false)
	i.SetKeySet([]byte("garbage"))
	if status, body := get(t, i, KeySet); status != http.StatusOK || body != "garbage" {
		t.Errorf("status %d, %s", status, body)
	}
	i.SetIssuer("https://other.example")
	i.SetKeysURL("https://keys.example")
	if _, body := get(t, i, Discovery); !strings.Contains(body, "https://other.example") || !strings.Contains(body, "https://keys.example") {
		t.Errorf("discovery document %s", body)
	}
	if i.KeyFetches() != 3 || i.Discoveries() != 2 {
		t.Errorf("%d fetches of the keys, %d of the discovery document", i.KeyFetches(), i.Discoveries())
	}
}

func TestIssuer_hangs_until_it_is_released(t *testing.T) {
	t.Parallel()
	i := Start(t)
	hold := i.Hang(KeySet)
	answered := make(chan int)
	go func() {
		status, _ := get(t, i, KeySet)
		answered <- status
	}()
	<-hold.Reached()
	select {
	case <-answered:
		t.Error("answered")
	default:
	}
	hold.Release()
	hold.Release()
	if status := <-answered; status != http.StatusOK {
		t.Errorf("status %d", status)
	}
}
