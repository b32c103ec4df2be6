package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
)

// attempt is a request of somebody who may not, and how it must be refused.
type attempt struct {
	what   string // as a person reads it
	header http.Header
	status int
	code   string // of the problem document
}

// whoMayDoWhat lets others do what the field team may. Each is told why not, and the
// order that they were after stays as it was.
func (s *story) whoMayDoWhat(ctx context.Context) {
	s.chapter("Who may do what: others try to report that an order of the field team was carried out")
	before := s.fetch(ctx, s.fixed.path("")).body
	for _, a := range []attempt{
		{"without a token", nil, http.StatusUnauthorized, "unauthenticated"},
		{"with a token for another service", s.bearerOf(ctx, asOhneAudience), http.StatusUnauthorized, "unauthenticated"},
		{"as a Lieferant", s.bearerOf(ctx, asLieferant), http.StatusForbidden, "forbidden"},
		{"as a Lieferant who writes NB into the token", s.forgedBearer(ctx, asLieferant, `"LF"`, `"NB"`), http.StatusUnauthorized, "unauthenticated"},
		{"as another Netzbetreiber", s.bearerOf(ctx, asFremderNB), http.StatusForbidden, "forbidden"},
	} {
		a.what = "PUT execute " + a.what
		s.refused(ctx, a, http.MethodPut, s.fixed.path("/execute"), nil)
	}
	s.tokenIsNoSignature(ctx)
	after := s.fetch(ctx, s.fixed.path("")).body
	s.expect(bytes.Equal(before, after), "the order was %s and is %s", before, after)
	s.tellHistory(ctx, s.fixed, "created")
	s.expect(len(s.market.commandsFor(s.fixed.MaloID)) == 0, "makod was told of it")
	s.modelsMayRead(ctx)
}

// tokenIsNoSignature delivers an event with a token that may do everything else: of
// events makod's signature alone is believed.
func (s *story) tokenIsNoSignature(ctx context.Context) {
	header := s.bearerOf(ctx, asDisponent)
	if s.done() {
		return
	}
	e := newEvent(fixedDate, s.arrival(s.due, inTimeWT), s.due)
	body, err := e.body()
	s.try(err)
	status, text, err := s.market.makod.Deliver(ctx, s.market.sperrd+"/webhook", body, header)
	s.try(err)
	s.judge(attempt{"POST /webhook with the token of the field team, unsigned", nil, http.StatusUnauthorized, "invalid_signature"},
		answer{status: status, body: text})
	s.expect(len(s.list(ctx, "?malo_id="+e.MaloID)) == 0, "an order came of it")
}

// modelsMayRead asks as the clients of language models do, which have a key of their own.
func (s *story) modelsMayRead(ctx context.Context) {
	body := json.RawMessage(listTools)
	header := http.Header{"Accept": {mcpAccept}}
	s.refused(ctx, attempt{"POST /mcp without a key", header.Clone(), http.StatusUnauthorized, "unauthenticated"}, http.MethodPost, mcpPath, body)
	header.Set("Authorization", "Bearer "+s.mcpKey)
	header.Set("Origin", "https://page.example")
	s.refused(ctx, attempt{"POST /mcp with the key, from a page in a browser", header, http.StatusForbidden, "forbidden"}, http.MethodPost, mcpPath, body)
	counters := s.askOverMCP(ctx, "get_sperr_stats")
	want := s.stats(ctx)["total"]
	s.expect(counters["total"] == float64(want), "MCP counts %v orders, REST %d", counters["total"], want)
}

// refused makes the attempt and tells how it is answered.
func (s *story) refused(ctx context.Context, a attempt, method, path string, body any) {
	if s.done() {
		return
	}
	got, err := s.sperrd.send(ctx, a.header, method, path, body)
	s.try(err)
	s.judge(a, got)
}

func (s *story) judge(a attempt, got answer) {
	s.answered(a.what, got)
	var problem struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal(got.body, &problem) // no problem document has no code
	s.expect(got.status == a.status && problem.Code == a.code, "expected %d %s for %s, got %d %s", a.status, a.code, a.what, got.status, got.body)
}

// bearerOf shows a token of the account.
func (s *story) bearerOf(ctx context.Context, account string) http.Header {
	if s.done() {
		return nil
	}
	token, err := newTokens(s.issuer, account, s.sperrd.http).get(ctx)
	s.try(err)
	return http.Header{"Authorization": {"Bearer " + token}}
}

// forgedBearer shows a token in which its holder has replaced something.
func (s *story) forgedBearer(ctx context.Context, account, before, after string) http.Header {
	header := s.bearerOf(ctx, account)
	if s.done() {
		return nil
	}
	forged, err := forge(header.Get("Authorization"), before, after)
	s.try(err)
	return http.Header{"Authorization": {forged}}
}
