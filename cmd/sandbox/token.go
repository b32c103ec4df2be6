package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// tokenMargin is how long before its end a token is not shown any more.
const tokenMargin = 5 * time.Minute

// tokens are those of one account. The provider is asked for one when it is needed, over
// HTTP as any client does. It is safe for concurrent use.
type tokens struct {
	issuer, account string
	http            *http.Client

	mu      sync.Mutex
	token   string
	renewAt time.Time
}

func newTokens(issuer, account string, client *http.Client) *tokens {
	return &tokens{issuer: issuer, account: account, http: client}
}

// get returns a token that is good for some minutes at least.
func (t *tokens) get(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Now().Before(t.renewAt) {
		return t.token, nil
	}
	asked := time.Now()
	given, err := t.ask(ctx)
	if err != nil {
		return "", fmt.Errorf("get a token for %s: %w", t.account, err)
	}
	t.token, t.renewAt = given.Token, asked.Add(time.Duration(given.ExpiresIn)*time.Second-tokenMargin)
	return t.token, nil
}

// givenToken is what the provider answers.
type givenToken struct {
	Token     string `json:"access_token"`
	ExpiresIn int    `json:"expires_in"` // seconds
}

func (t *tokens) ask(ctx context.Context) (givenToken, error) {
	form := url.Values{"grant_type": {clientCredentials}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.issuer+tokenPath, strings.NewReader(form))
	if err != nil {
		return givenToken{}, err
	}
	request.SetBasicAuth(t.account, accountSecret)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := t.http.Do(request)
	if err != nil {
		return givenToken{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return givenToken{}, err
	}
	if response.StatusCode != http.StatusOK { // no token in it, so it may be shown
		return givenToken{}, fmt.Errorf("the provider answers %d %s", response.StatusCode, body)
	}
	return decode[givenToken](answer{body: body})
}

// forge is a token whose holder has written something else into its claims. The
// signature is still the one of what stood there before.
func forge(token, before, after string) (string, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", fmt.Errorf("a token of %d parts", len(parts))
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", fmt.Errorf("the claims of a token: %w", err)
	}
	if !strings.Contains(string(claims), before) {
		return "", fmt.Errorf("the claims of a token lack %s", before)
	}
	parts[1] = base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(claims), before, after, 1)))
	return strings.Join(parts, "."), nil
}
