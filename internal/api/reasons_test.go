package api_test

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"sperrd/internal/authn/authntest"
)

// What an operator looks up at night is found in the log word for word.
func TestReasons_of_the_runbook_are_those_of_the_log(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	runbook, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	token := func(c claims) string { return "Bearer " + g.issuer.Token(t, c) }
	signed := func(header claims) string {
		return "Bearer " + g.issuer.Sign(t, g.issuer.Key(), header, g.issuer.Claims(nil))
	}
	stranger := authntest.NewKey(t, "RS256")
	stranger.ID = g.issuer.Key().ID
	elliptic := authntest.NewKey(t, "ES256")
	elliptic.ID = g.issuer.Key().ID
	for reason, authorization := range map[string]string{
		"bearer token is needed":               "",
		"expired at":                           token(claims{"exp": now.Add(-time.Hour).Unix()}),
		"wrong audience":                       token(claims{"aud": "account"}),
		"issued by a different provider":       token(claims{"iss": "https://keycloak/realms/other"}),
		"the key is not among the known ones":  signed(claims{"kid": "another"}),
		"header without a key id":              signed(claims{"kid": nil}),
		"the signature is not by the key":      "Bearer " + g.issuer.Sign(t, stranger, nil, g.issuer.Claims(nil)),
		"is not that of the key it names":      "Bearer " + g.issuer.Sign(t, elliptic, nil, g.issuer.Claims(nil)),
		`algorithm "HS256" is not accepted`:    "Bearer " + authntest.HS256(g.issuer.Key(), []byte("x"), g.issuer.Claims(nil)),
		"an ID token":                          token(claims{"typ": nil, "nonce": "n"}),
		"is not that of an access token":       token(claims{"typ": "Refresh"}),
		"not valid before":                     token(claims{"nbf": now.Add(time.Hour).Unix()}),
		"sub is missing":                       token(claims{"sub": nil}),
		"exp is missing":                       token(claims{"exp": nil}),
		"in case only":                         token(claims{"MAKO_ROLES": []string{"NB"}}),
		"not three parts":                      "Bearer opaque",
		"is not base64url":                     token(nil) + "=",
		"sub is a name that the history":       token(claims{"sub": "sperrd"}),
		"no policy permits read-sperr-order":   token(claims{"mako_roles": "NB"}),
		"Exactly one Authorization header":     "twice",
		"which is not accepted":                signed(claims{"crit": []string{"exp"}}),
		"mako_roles is a string, not an array": token(claims{"mako_roles": "NB"}),
	} {
		before := len(g.log.requests(t))
		header := http.Header{}
		switch authorization {
		case "":
		case "twice":
			header["Authorization"] = []string{token(nil), token(nil)}
		default:
			header.Set("Authorization", authorization)
		}
		a := g.send(t, http.MethodGet, orders, http.NoBody, header)
		line := g.log.requests(t)[before]
		said, _ := line["reason"].(string)
		ignored, _ := line["ignored"].(string)
		if a.status/100 != 4 || !strings.Contains(said+ignored, reason) {
			t.Errorf("%d, reason %q %q; want it to say %q", a.status, said, ignored, reason)
		}
		if !strings.Contains(string(runbook), reason) {
			t.Errorf("docs/operations.md does not explain %q", reason)
		}
	}
}
