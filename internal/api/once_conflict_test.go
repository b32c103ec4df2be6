package api_test

import (
	"net/http"
	"strings"
	"testing"

	"sperrd/internal/authn/authntest"
)

// wantConflict fails unless a refuses the call id, which names reference as its first,
// without a word of hidden.
func wantConflict(t *testing.T, a answer, id, reference string, hidden ...string) problem {
	t.Helper()
	p := wantProblem(t, a, http.StatusConflict, "transaction_conflict")
	wantFirst(t, a, http.StatusConflict, id, reference)
	for _, name := range []string{"Retry-After", contentLocation, "Location"} {
		if got, there := a.header[name]; there {
			t.Errorf("%s %q in a conflict", name, got)
		}
	}
	for _, secret := range hidden {
		if strings.Contains(string(a.body), secret) {
			t.Errorf("the conflict tells %s: %s", secret, a.body)
		}
	}
	return p
}

const (
	somebody = "disponent-1"
	stranger = "disponent-2"
	refR     = "0a5e7c10-0000-4000-8000-000000000777"
)

func sub(subject string) claims { return claims{"sub": subject} }

func TestConflict_of_another_call_under_a_known_transaction(t *testing.T) {
	t.Parallel()
	const same = `{"reason":"x"}`
	for name, c := range map[string]struct {
		who       string
		verb      string
		elsewhere bool // on the other order
		body      string
		reference string
		detail    string
	}{
		"another caller":                         {who: stranger, verb: "fail", body: same, reference: refR, detail: "The transaction id is taken."},
		"another caller with all else different": {who: stranger, verb: "cancel", elsewhere: true, detail: "The transaction id is taken."},
		"another route":                          {who: somebody, verb: "cancel", body: same, reference: refR, detail: "another route or order"},
		"another order":                          {who: somebody, verb: "fail", elsewhere: true, body: same, reference: refR, detail: "another route or order"},
		"another body":                           {who: somebody, verb: "fail", body: `{"reason":"y"}`, reference: refR, detail: "another body or referenceId"},
		"a member more":                          {who: somebody, verb: "fail", body: `{"reason":"x","endgueltig":false}`, reference: refR, detail: "another body or referenceId"},
		"another referenceId":                    {who: somebody, verb: "fail", body: same, reference: callZ, detail: "another body or referenceId"},
		"no referenceId":                         {who: somebody, verb: "fail", body: same, detail: "another body or referenceId"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGuarded(t)
			id, other := g.create(t, minimal("sperrung")), g.create(t, minimal("entsperrung"))
			path := func(order, verb string) string { return orders + "/" + order + "/" + verb }
			with := func(header []string, reference string) []string {
				if reference != "" {
					header = append(header, "referenceId", reference)
				}
				return header
			}
			first := g.asCalled(t, sub(somebody), http.MethodPut, path(id, "fail"), same, with(called(callA), refR))
			wantFirst(t, first, http.StatusAccepted, callA, callA)
			before := g.traces(t)
			target := id
			if c.elsewhere {
				target = other
			}
			for _, call := range [][]string{{callA}, {callB, callA}, {callB, callA}} {
				a := g.asCalled(t, sub(c.who), http.MethodPut, path(target, c.verb), c.body, with(called(call[0], call[1:]...), c.reference))
				p := wantConflict(t, a, call[0], callA, id, somebody, string(first.body), "niemand", "pending", "sperrversuche")
				if !strings.Contains(p.Detail, c.detail) {
					t.Errorf("detail %q, want %q in it", p.Detail, c.detail)
				}
			}
			g.wantTraces(t, before)

			// The id of the refused call is free, and the transaction is what it was.
			fresh := g.asCalled(t, sub(c.who), http.MethodPut, path(other, "cancel"), "", called(callB))
			wantFirst(t, fresh, http.StatusNoContent, callB, callB)
			wantReplay(t, g.asCalled(t, sub(somebody), http.MethodPut, path(id, "fail"), same, with(called(callC, callA), refR)), first, callC, callA)
		})
	}
}

func TestConflict_of_an_id_that_belongs_to_another_transaction(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	cancel := func(id string) string { return orders + "/" + id + "/cancel" }
	one, two := g.create(t, minimal("sperrung")), g.create(t, minimal("sperrung"))
	wantFirst(t, g.asCalled(t, sub(somebody), http.MethodPut, cancel(one), "", called(callA)), http.StatusNoContent, callA, callA)
	wantFirst(t, g.asCalled(t, sub(somebody), http.MethodPut, cancel(two), "", called(callB)), http.StatusNoContent, callB, callB)
	before := g.traces(t)
	for name, c := range map[string]struct {
		who, id, initial, detail string
	}{
		"of the same caller":                     {somebody, callB, callA, "another operation than initialTransactionId names"},
		"of the same caller, the other way":      {somebody, callA, callB, "another operation than initialTransactionId names"},
		"that names what nobody knows":           {somebody, callB, callZ, "another operation than initialTransactionId names"},
		"of another caller":                      {stranger, callB, callA, "The transaction id is taken."},
		"of another caller, who names the stars": {stranger, callB, callZ, "The transaction id is taken."},
	} {
		a := g.asCalled(t, sub(c.who), http.MethodPut, cancel(one), "", called(c.id, c.initial))
		if p := wantConflict(t, a, c.id, c.initial, one, two); !strings.Contains(p.Detail, c.detail) {
			t.Errorf("%s: detail %q, want %q in it", name, p.Detail, c.detail)
		}
	}
	g.wantTraces(t, before)
	// What a conflict named is not known by that.
	three := g.create(t, minimal("sperrung"))
	wantFirst(t, g.asCalled(t, sub(somebody), http.MethodPut, cancel(three), "", called(callZ)), http.StatusNoContent, callZ, callZ)
}

func TestSame_caller_with_a_fresh_token_is_the_same_caller(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	first := g.asCalled(t, sub(somebody), http.MethodPost, orders, fullOrder, called(callA))
	wantFirst(t, first, http.StatusCreated, callA, callA)
	for i, who := range []claims{
		{"sub": somebody, "jti": "another"},
		{"sub": somebody, "iat": now.Unix() - 5, "exp": now.Unix() + 300, "azp": "tablet"},
		{"sub": somebody, "mako_roles": []string{"LF", "NB"}},
	} {
		id := []string{callB, callC, callD}[i]
		wantReplay(t, g.asCalled(t, who, http.MethodPost, orders, fullOrder, called(id, callA)), first, id, callA)
	}
	if n := g.orderCount(t); n != 1 {
		t.Errorf("%d orders, want 1", n)
	}
}

func TestCaller_who_may_no_more_gets_no_answer_of_when_he_might(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	first := g.asCalled(t, sub(somebody), http.MethodPost, orders, fullOrder, called(callA))
	id := decode[order](t, first, http.StatusCreated).ID
	before := g.traces(t)
	for _, revoked := range []claims{
		{"sub": somebody, "mako_roles": []string{"LF"}}, {"sub": somebody, "mako_roles": nil}, {"sub": somebody, "mako_tenant": lf},
	} {
		for _, header := range [][]string{called(callA), called(callB, callA)} {
			a := g.asCalled(t, revoked, http.MethodPost, orders, fullOrder, header)
			wantProblem(t, a, http.StatusForbidden, "forbidden")
			if a.header.Get(replayMark) != "" || a.header.Get(contentLocation) != "" || strings.Contains(string(a.body), id) {
				t.Errorf("the refusal tells of the order: %v %s", a.header, a.body)
			}
		}
	}
	expired := g.asCalled(t, claims{"sub": somebody, "exp": now.Unix() - 3600}, http.MethodPost, orders, fullOrder, called(callB, callA))
	wantProblem(t, expired, http.StatusUnauthorized, "unauthenticated")
	g.wantTraces(t, before)
	wantReplay(t, g.asCalled(t, sub(somebody), http.MethodPost, orders, fullOrder, called(callB, callA)), first, callB, callA)
	if authntest.Subject == somebody {
		t.Error("the caller of these tests is the one of all others")
	}
}

// What a serialiser is free to do makes no other call.
func TestBody_that_says_the_same_in_another_way_is_the_same(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.createCalled(t, fullOrder, append(called(callA), "Content-Type", "application/json"))
	wantFirst(t, first, http.StatusCreated, callA, callA)
	for name, c := range map[string]struct{ body, contentType string }{
		"order of members": {`{"hinweis":"Hof links","treffpunkt":{"land":"DE","ort":"Berlin","plz":"10115","strasse":"Lindenallee 7"},
			"ausfuehrung_am":"2026-09-07","order_type":"sperrung","lf_mp_id":"9900012345678","malo_id":"51238696012"}`, "application/json"},
		"no white space": {strings.NewReplacer("\n", "", "\t", "").Replace(fullOrder), "application/json"},
		"more of it":     {"\r\n\t " + strings.ReplaceAll(fullOrder, ",", " ,\r\n ") + " ", "application/json"},
		"no nulls": {`{"malo_id":"51238696012","lf_mp_id":"9900012345678","order_type":"sperrung","ausfuehrung_am":"2026-09-07",
			"treffpunkt":{"strasse":"Lindenallee 7","plz":"10115","ort":"Berlin","land":"DE"},"hinweis":"Hof links"}`, "application/json"},
		"escapes":                {strings.Replace(fullOrder, "Hof links", `\u0048of\u0020links`, 1), "application/json"},
		"a charset":              {fullOrder, "application/json; charset=utf-8"},
		"a charset in capitals":  {fullOrder, `Application/JSON;Charset="UTF-8"`},
		"a parameter of nothing": {fullOrder, "application/json; version=2"},
	} {
		a := b.createCalled(t, c.body, append(called(callB, callA), "Content-Type", c.contentType))
		if a.status != http.StatusCreated {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
		wantReplay(t, a, first, callB, callA)
	}
	b.wantTraces(t, oneCreated(2))
}

func TestBody_that_is_absent_is_an_empty_object(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create(t, minimal("sperrung")).ID
	first := b.change(t, id, "cancel", "", called(callA))
	wantFirst(t, first, http.StatusNoContent, callA, callA)
	for _, body := range []string{"{}", ` { } `, `{"reason":null}`} {
		wantReplay(t, b.change(t, id, "cancel", body, called(callB, callA)), first, callB, callA)
	}
	wantConflict(t, b.change(t, id, "cancel", `{"reason":""}`, called(callC, callA)), callC, callA, id)
}
