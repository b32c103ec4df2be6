package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"sperrd/internal/authn/authntest"
	"sperrd/internal/postgres/postgrestest"
)

const ordersRoute = "/api/v1/sperr-orders"

// guardedTOML is the configuration of a sperrd that asks for the tokens of an issuer.
func guardedTOML(s setup, issuer string) string {
	s.more = fmt.Sprintf("[oidc]\nissuer = %q\naudience = %q\n%s", issuer, authntest.Audience, s.more)
	return with(s.toml(), "allow_insecure_no_auth", "")
}

// list asks for the queue with a token of the tenant of these tests.
func (i *instance) list(t *testing.T, issuer *authntest.Issuer) (status int, answer string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, i.base+ordersRoute, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+issuer.Token(t, map[string]any{"mako_tenant": tenant}))
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(read)
}

func TestServe_asks_for_tokens_and_takes_a_new_key_of_the_issuer_at_once(t *testing.T) {
	t.Parallel()
	issuer := authntest.Start(t)
	s := setup{port: freePort(t), database: postgrestest.NewURL(t), makod: newMarket(t).url}
	i := startTOML(t, s.port, guardedTOML(s, issuer.URL()))
	i.awaitReady(t)
	if status, body := i.list(t, issuer); status != http.StatusOK {
		t.Errorf("with a token: %d %s", status, body)
	}
	if status, body, err := i.get(t, ordersRoute); err != nil || status != http.StatusUnauthorized {
		t.Errorf("without a token: %d %s, %v", status, body, err)
	}
	if _, body, _ := i.get(t, "/health/ready"); body != `{"ready":true,"warnings":[]}` {
		t.Errorf("readiness %s", body)
	}
	issuer.Rotate(t)
	if status, body := i.list(t, issuer); status != http.StatusOK {
		t.Errorf("with a token of the new key: %d %s", status, body)
	}
	issuer.SetDown(true) // which makes nothing unready
	if status, body := i.list(t, issuer); status != http.StatusOK {
		t.Errorf("while the issuer is away: %d %s", status, body)
	}
	i.awaitReady(t)
	i.awaitStatus(t, "/health/live", http.StatusOK)
	if log := i.log.String(); strings.Contains(log, "INSECURE") || !strings.Contains(log, `"audience":"sperrd"`) || !strings.Contains(log, "audience mapper") {
		t.Errorf("log:\n%s", log)
	}
}

func TestServe_has_the_keys_before_the_first_request_can_come(t *testing.T) {
	t.Parallel()
	issuer := authntest.Start(t)
	hold := issuer.Hang(authntest.KeySet)
	s := setup{port: freePort(t), database: postgrestest.NewURL(t), makod: newMarket(t).url}
	i := startTOML(t, s.port, guardedTOML(s, issuer.URL()))
	<-hold.Reached()
	if _, _, err := i.get(t, "/health/live"); !refused(err) {
		t.Errorf("somebody listens before the keys are asked for: %v", err)
	}
	hold.Release()
	i.awaitReady(t)
	if status, body := i.list(t, issuer); status != http.StatusOK {
		t.Errorf("the first request: %d %s", status, body)
	}
}

func TestMCP_gets_a_part_of_the_pool(t *testing.T) {
	t.Parallel()
	for pool, want := range map[int]int{1: 1, 4: 1, 8: 2, 10: 2, 16: 4, 1000: 4} {
		if got := mcpParallel(pool); got != want {
			t.Errorf("%d of a pool of %d, want %d", got, pool, want)
		}
	}
}

func TestServe_open_to_everybody_refuses_a_name_that_is_not_its_own_at_MCP(t *testing.T) {
	t.Parallel()
	s := setup{port: freePort(t), database: postgrestest.NewURL(t), makod: newMarket(t).url}
	open := startTOML(t, s.port, s.toml())
	open.awaitReady(t)
	if status := open.mcp(t, "evil.example", ""); status != http.StatusForbidden {
		t.Errorf("a page that has rebound its name to this address gets %d", status)
	}
	if status := open.mcp(t, "localhost", ""); status != http.StatusOK {
		t.Errorf("this machine gets %d", status)
	}
	s.port, s.more = freePort(t), "[mcp]\napi_key = \"mcp-0123456789-0123456789\"\n"
	keyed := startTOML(t, s.port, s.toml())
	keyed.awaitReady(t)
	if status := keyed.mcp(t, "sperrd.example", "mcp-0123456789-0123456789"); status != http.StatusOK {
		t.Errorf("a client with the key, through a proxy on this machine, gets %d", status)
	}
}

// mcp lists the tools, under a Host and with a key that may be empty.
func (i *instance) mcp(t *testing.T, host, key string) (status int) {
	t.Helper()
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, i.base+"/mcp", strings.NewReader(list))
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

func TestServe_starts_without_its_issuer_and_recovers_by_itself(t *testing.T) {
	t.Parallel()
	issuer := authntest.Start(t)
	issuer.SetDown(true)
	m := newMarket(t)
	s := setup{port: freePort(t), database: postgrestest.NewURL(t), makod: m.url}
	i := startTOML(t, s.port, guardedTOML(s, issuer.URL()))
	i.awaitReady(t)
	status, body := i.list(t, issuer)
	if status != http.StatusServiceUnavailable || !strings.Contains(body, `"code":"unavailable"`) {
		t.Errorf("without keys: %d %s", status, body)
	}
	if _, body, _ := i.get(t, "/health/ready"); !strings.Contains(body, "tokens cannot be checked yet") {
		t.Errorf("readiness %s", body)
	}
	m.order(t, i, maloID(1)) // the market needs no token
	issuer.SetDown(false)
	await(t, func() (bool, string) {
		status, body := i.list(t, issuer)
		return status == http.StatusOK, fmt.Sprintf("%d %s", status, body)
	})
	if log := i.log.String(); !strings.Contains(log, `"level":"WARN","msg":"keys of the OIDC provider could not be fetched"`) {
		t.Errorf("log:\n%s", log)
	}
}

func TestServe_tells_both_names_of_an_issuer_that_calls_itself_something_else(t *testing.T) {
	t.Parallel()
	issuer := authntest.Start(t)
	issuer.SetIssuer("https://keycloak.example/realms/other")
	s := setup{port: freePort(t), database: postgrestest.NewURL(t), makod: newMarket(t).url}
	i := startTOML(t, s.port, guardedTOML(s, issuer.URL()))
	await(t, func() (bool, string) {
		log := i.log.String()
		return strings.Contains(log, issuer.URL()) && strings.Contains(log, "https://keycloak.example/realms/other"), log
	})
	i.awaitReady(t)
	if status, _ := i.list(t, issuer); status != http.StatusServiceUnavailable {
		t.Errorf("status %d", status)
	}
}

func TestServe_open_to_everybody_says_so_at_start_and_in_readiness(t *testing.T) {
	t.Parallel()
	s := setup{port: freePort(t), database: postgrestest.NewURL(t), makod: newMarket(t).url}
	i := startTOML(t, s.port, with(s.toml(), "inbound_hmac_secret", ""))
	i.awaitReady(t)
	_, body, err := i.get(t, "/health/ready")
	for _, open := range []string{"INSECURE: allow_insecure_no_auth", "INSECURE: inbound_hmac_secret"} {
		if err != nil || !strings.Contains(body, open) || !strings.Contains(i.log.String(), open) {
			t.Errorf("readiness %s, %v, log:\n%s\nwant both to say %s", body, err, i.log.String(), open)
		}
	}
}

func TestCheck_asks_the_issuer_for_its_keys(t *testing.T) {
	t.Parallel()
	issuer := authntest.Start(t)
	m := newMarket(t)
	s := setup{port: 8780, database: postgrestest.NewURL(t), makod: m.url, erp: m.url}
	_, stdout, _ := command(t, guardedTOML(s, issuer.URL()), "check")
	if !regexp.MustCompile(`(?m)^ok    oidc .*: 1 \(RS256\); a token counts with "sperrd" in aud`).MatchString(stdout) {
		t.Errorf("findings:\n%s", stdout)
	}
	jwk, err := json.Marshal(issuer.Key().JWK())
	if err != nil {
		t.Fatal(err)
	}
	issuer.SetKeySet(fmt.Appendf(nil, `{"keys":[%s,{"kty":"oct","kid":"o","k":"AAAA"}]}`, jwk))
	if _, stdout, _ := command(t, guardedTOML(s, issuer.URL()), "check"); !strings.Contains(stdout, "and 1 of no use here, the first because: a private or symmetric key") {
		t.Errorf("a key of no use is not told:\n%s", stdout)
	}
	issuer.SetDown(true)
	code, stdout, _ := command(t, guardedTOML(s, issuer.URL()), "check")
	if code != exitFailure || !strings.Contains(stdout, "fail  oidc ") {
		t.Errorf("exit code %d, findings:\n%s", code, stdout)
	}
}
