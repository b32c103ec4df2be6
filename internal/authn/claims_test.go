package authn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/authn/authntest"
)

func TestAuthenticate_good_token_says_who_calls(t *testing.T) {
	t.Parallel()
	b := newReadyBench(t)
	got := b.mustPass(t, b.issuer.Token(t, nil))
	want := Claims{Issuer: b.issuer.URL(), Subject: authntest.Subject, Tenant: authntest.Tenant, Roles: []string{authntest.Role}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAuthenticate_audience(t *testing.T) {
	t.Parallel()
	b := newReadyBench(t)
	for _, aud := range []any{"sperrd", []string{"sperrd"}, []string{"account", "sperrd"}, []string{"sperrd", "account"}} {
		b.mustPass(t, b.issuer.Token(t, map[string]any{"aud": aud}))
	}
	for _, aud := range []any{
		"account", nil, "", "Sperrd", "sperrd ", "sperrd/", "sperrd account", []string{}, []string{"account", "sperrd2"},
	} {
		// azp is who asked for the token, and for whom it is meant it does not say.
		token := b.issuer.Token(t, map[string]any{"aud": aud, "azp": "sperrd", "client_id": "sperrd"})
		b.mustRefuse(t, token, `audience mapper: oidc: expected audience "sperrd" got [`)
	}
	b.mustRefuse(t, b.issuer.Token(t, map[string]any{"aud": "account"}), `got ["account"]`)
	for _, aud := range []any{7, true, map[string]any{"sperrd": 1}, []any{"sperrd", 7}, []any{[]string{"sperrd"}}, json.RawMessage("null")} {
		b.mustRefuse(t, b.issuer.Token(t, map[string]any{"aud": aud}), "")
	}
}

func TestAuthenticate_issuer_must_be_the_same_to_the_letter(t *testing.T) {
	t.Parallel()
	b := newReadyBench(t)
	other := "https://idp.example/realms/other"
	reason := b.refusal(t, b.issuer.Token(t, map[string]any{"iss": other}), other)
	if !strings.Contains(reason.Error(), b.issuer.URL()) {
		t.Errorf("the reason %q does not name both", reason)
	}
	for _, iss := range []any{nil, "", b.issuer.URL() + "/", strings.ToUpper(b.issuer.URL()), []string{b.issuer.URL()}, 1} {
		b.mustRefuse(t, b.issuer.Token(t, map[string]any{"iss": iss}), "")
	}
	// Whose token it is matters more than for whom it is meant.
	foreign := b.refusal(t, b.issuer.Token(t, map[string]any{"iss": other, "aud": "account"}), other)
	if strings.Contains(foreign.Error(), "mapper") {
		t.Errorf("a mapper is no remedy: %v", foreign)
	}
}

func TestAuthenticate_time_has_a_leeway_of_60_s(t *testing.T) {
	t.Parallel()
	b := newReadyBench(t)
	now := b.Now().Unix()
	token := func(claim string, offset float64) string {
		return b.issuer.Token(t, map[string]any{claim: float64(now) + offset})
	}
	for _, offset := range []float64{1, 0, -1, -59, -59.5, 1e9} {
		b.mustPass(t, token("exp", offset))
	}
	for _, offset := range []float64{-60, -61, -60.5, -3600, -float64(now)} {
		if refused := b.refusal(t, token("exp", offset), "expired at"); !refused.Expired {
			t.Errorf("exp %v: not marked as expired", offset)
		}
	}
	for _, offset := range []float64{-1e9, 0, 59, 60} {
		b.mustPass(t, token("nbf", offset))
	}
	for _, offset := range []float64{60.5, 61, 3600, 1e9} {
		if refused := b.refusal(t, token("nbf", offset), "not valid before"); refused.Expired {
			t.Errorf("nbf %v: marked as expired", offset)
		}
	}
	for _, offset := range []float64{-1e9, 1e9} {
		b.mustPass(t, token("iat", offset))
	}
	b.mustPass(t, b.issuer.Token(t, map[string]any{"iat": nil}))
}

func TestAuthenticate_time_must_be_a_sane_number(t *testing.T) {
	t.Parallel()
	b := newReadyBench(t)
	in5Minutes := b.Now().Add(5 * time.Minute).Unix()
	for name, exp := range map[string]string{
		"string": fmt.Sprintf(`"%d"`, in5Minutes), "negative": `-1`, "huge": `1e300`, "too huge for a float": `1e999`, "after year 9999": `253402300800`,
		"milliseconds": fmt.Sprintf(`%d000`, in5Minutes), "NaN": `NaN`, "Infinity": `Infinity`, "NaN as text": `"NaN"`, "null": `null`, "true": `true`,
		"object": `{}`, "array": fmt.Sprintf(`[%d]`, in5Minutes), "hexadecimal": `0x7fffffff`, "leading zero": fmt.Sprintf(`0%d`, in5Minutes),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, claim := range []string{"exp", "nbf"} {
				payload := b.issuer.Claims(map[string]any{claim: "@"})
				payload = bytes.ReplaceAll(payload, []byte(`"@"`), []byte(exp))
				refused := b.refusal(t, b.issuer.Sign(t, b.issuer.Key(), nil, payload), "")
				if refused.Expired {
					t.Errorf("%s: marked as expired", claim)
				}
			}
		})
	}
	b.mustRefuse(t, b.issuer.Token(t, map[string]any{"exp": nil}), "exp is missing")
	b.mustRefuse(t, b.issuer.Token(t, map[string]any{"exp": fmt.Sprint(in5Minutes)}), "exp is not a number")
	b.mustRefuse(t, b.issuer.Token(t, map[string]any{"nbf": "0"}), "nbf is not a number")
	b.mustPass(t, b.issuer.Token(t, map[string]any{"exp": 253402300799}))
	b.mustPass(t, b.issuer.Token(t, map[string]any{"exp": json.RawMessage("2e9"), "nbf": 0}))
}

// Only the owner of a good token is to be told that it has run out.
func TestAuthenticate_expired_is_said_of_well_signed_tokens_alone(t *testing.T) {
	t.Parallel()
	b := newReadyBench(t)
	payload := b.issuer.Claims(map[string]any{"exp": 1})
	forged := b.issuer.Sign(t, authntest.NewKey(t, "RS256"), map[string]any{"kid": b.issuer.Key().ID}, payload)
	if b.refusal(t, forged, errSignature.Error()).Expired {
		t.Error("marked as expired")
	}
}

func TestAuthenticate_claims_are_read_strictly(t *testing.T) {
	t.Parallel()
	b := newReadyBench(t)
	sign := func(payload string) string {
		return b.issuer.Sign(t, b.issuer.Key(), nil, []byte(payload))
	}
	good := strings.TrimSuffix(string(b.issuer.Claims(nil)), "}")
	b.mustPass(t, sign(good+`,"scope":"openid","Scope":"x"}`))
	for name, payload := range map[string]string{
		"null": `null`, "array": `[]`, "broken": good, "two values": good + `} {}`, "not UTF-8": good + ",\"x\":\"\xff\"}", "half a character": good + `,"x":"\ud800"}`,
		"aud twice": good + `,"aud":"sperrd"}`, "sub twice": good + `,"sub":"admin"}`, "roles twice": good + `,"mako_roles":["NB"]}`,
		"another claim twice": good + `,"x":1,"x":2}`, "twice further in": good + `,"x":{"y":1,"y":2}}`, "twice by an escape": good + `,"s\u0075b":"admin"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b.mustRefuse(t, sign(payload), "")
		})
	}
	for _, c := range []string{
		`"AUD":"sperrd"`, `"Iss":"` + b.issuer.URL() + `"`, `"sUb":"a"`, "\"\u017fub\":\"a\"", `"EXP":4e9`, `"Nbf":1`, `"Typ":"Bearer"`,
		`"NONCE":"a"`, `"At_Hash":"a"`, `"Mako_Tenant":"a"`, `"Mako_Roles":[]`, `"MAKO_ROLES":["NB"]`,
	} {
		t.Run("in another case "+c[:5], func(t *testing.T) {
			t.Parallel()
			b.mustRefuse(t, sign(good+","+c+"}"), "in case only")
		})
	}
}

func TestAuthenticate_subject_must_be_fit_for_the_history(t *testing.T) {
	t.Parallel()
	b := newReadyBench(t)
	for _, sub := range []string{"a", "f:8c1b:Müller", "team 7", strings.Repeat("ü", 255)} {
		if got := b.mustPass(t, b.issuer.Token(t, map[string]any{"sub": sub})).Subject; got != sub {
			t.Errorf("subject %q becomes %q", sub, got)
		}
	}
	for _, sub := range []any{
		nil, "", 7, true,
		[]string{"a"},
		map[string]any{"a": 1},
		json.RawMessage("null"),
		strings.Repeat("a", 256), "a\x00b", "a\nb", "a\u0085b", "a\x1b[31m", "\t",
		" a", "a ", "   ", "a\u202eb", "a\u200bb", "a\u00a0b", "a\ufeff",
	} {
		b.mustRefuse(t, b.issuer.Token(t, map[string]any{"sub": sub}), "sub")
	}
}

// None of these is a reason to refuse the token: who it is, is proven. What he may do
// is for the policy to deny.
func TestAuthenticate_odd_tenant_and_roles_do_not_count(t *testing.T) {
	t.Parallel()
	b := newReadyBench(t)
	const noRoles, noStrings = "mako_roles is %s, not an array of strings", "mako_roles does not hold strings alone"
	for name, c := range map[string]struct {
		claims  map[string]any
		roles   []string
		ignored string
	}{
		"right":              {map[string]any{"mako_roles": []string{"NB"}}, []string{"NB"}, ""},
		"lower case":         {map[string]any{"mako_roles": []string{"nb"}}, []string{"nb"}, ""},
		"several":            {map[string]any{"mako_roles": []string{"LF", "NB", ""}}, []string{"LF", "NB", ""}, ""},
		"empty":              {map[string]any{"mako_roles": []string{}}, nil, ""},
		"missing":            {map[string]any{"mako_roles": nil}, nil, ""},
		"bare string":        {map[string]any{"mako_roles": "NB"}, nil, fmt.Sprintf(noRoles, "a string")},
		"object":             {map[string]any{"mako_roles": map[string]any{"type": "NB", "id": "x"}}, nil, fmt.Sprintf(noRoles, "an object")},
		"null":               {map[string]any{"mako_roles": json.RawMessage("null")}, nil, fmt.Sprintf(noRoles, "null")},
		"number":             {map[string]any{"mako_roles": 1}, nil, fmt.Sprintf(noRoles, "a number")},
		"boolean":            {map[string]any{"mako_roles": true}, nil, fmt.Sprintf(noRoles, "a boolean")},
		"array in array":     {map[string]any{"mako_roles": [][]string{{"NB"}}}, nil, noStrings},
		"one number":         {map[string]any{"mako_roles": []any{"NB", 1}}, nil, noStrings},
		"one null":           {map[string]any{"mako_roles": []any{"NB", nil}}, nil, noStrings},
		"an object inside":   {map[string]any{"mako_roles": []any{map[string]any{"type": "NB"}, "NB"}}, nil, noStrings},
		"roles of elsewhere": {map[string]any{"mako_roles": nil, "roles": []string{"NB"}}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := Claims{Issuer: b.issuer.URL(), Subject: authntest.Subject, Tenant: authntest.Tenant, Roles: c.roles, Ignored: c.ignored}
			if diff := cmp.Diff(want, b.mustPass(t, b.issuer.Token(t, c.claims))); diff != "" {
				t.Error(diff)
			}
		})
	}
	for kind, tenant := range map[string]any{
		"a number": 9900357000004, "an array": []string{authntest.Tenant}, "an object": map[string]any{"id": authntest.Tenant},
		"null": json.RawMessage("null"), "a boolean": true,
	} {
		got := b.mustPass(t, b.issuer.Token(t, map[string]any{"mako_tenant": tenant}))
		want := Claims{Issuer: b.issuer.URL(), Subject: authntest.Subject, Roles: []string{"NB"}, Ignored: "mako_tenant is " + kind + ", not a string"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if got := b.mustPass(t, b.issuer.Token(t, map[string]any{"mako_tenant": nil})); got.Tenant != "" || got.Ignored != "" {
		t.Errorf("without a tenant: %+v", got)
	}
	both := b.mustPass(t, b.issuer.Token(t, map[string]any{"mako_tenant": 1, "mako_roles": "NB"}))
	if want := "mako_tenant is a number, not a string; mako_roles is a string, not an array of strings"; both.Ignored != want {
		t.Errorf("ignored: %q", both.Ignored)
	}
}

func TestAuthenticate_ten_thousand_roles_are_fine(t *testing.T) {
	t.Parallel()
	b := newReadyBench(t)
	var roles []string
	for i := range 10_000 {
		roles = append(roles, fmt.Sprintf("R%04d", i))
	}
	got := b.mustPass(t, b.issuer.Token(t, map[string]any{"mako_roles": append(roles, "NB")}))
	if diff := cmp.Diff(append(roles, "NB"), got.Roles); diff != "" {
		t.Error(diff)
	}
}
