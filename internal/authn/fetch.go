package authn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/coreos/go-oidc/v3/oidc"
)

// discover asks the issuer where its keys are.
func (a *Authenticator) discover(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, a.client), a.issuer)
	if err != nil {
		return "", fetchFailed("discovery", err)
	}
	var document struct {
		KeysURL string `json:"jwks_uri"`
	}
	if err := provider.Claims(&document); err != nil {
		return "", fetchFailed("discovery", err)
	}
	if err := checkKeysURL(a.issuer, document.KeysURL); err != nil {
		return "", fetchFailed("discovery", err)
	}
	return document.KeysURL, nil
}

// checkKeysURL keeps an issuer that is asked by https from handing out keys that
// anybody on the way can replace.
func checkKeysURL(issuer, keysURL string) error {
	from, err := url.Parse(issuer)
	if err != nil {
		return err
	}
	to, err := url.Parse(keysURL)
	switch {
	case err != nil:
		return fmt.Errorf("jwks_uri: %w", err)
	case to.Host == "" || to.Scheme != "https" && to.Scheme != "http":
		return fmt.Errorf("jwks_uri %q is no URL of keys", keysURL)
	case from.Scheme == "https" && to.Scheme != "https":
		return fmt.Errorf("jwks_uri %q is not https, but the issuer is", keysURL)
	}
	return nil
}

// fetchKeys fetches the keys and installs them. news says whether a key is among
// them that was never seen. Whoever calls it has acquired the right to.
func (a *Authenticator) fetchKeys(ctx context.Context) (news bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	body, err := a.get(ctx, a.keysURL)
	if err != nil {
		return false, fetchFailed("keys", err)
	}
	set, err := readKeySet(body)
	if err != nil {
		return false, fetchFailed("keys", err)
	}
	a.keys.Store(set)
	return a.seen.learn(set), nil
}

func (a *Authenticator) get(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := a.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New("the provider answers " + resp.Status)
	}
	return io.ReadAll(resp.Body)
}
