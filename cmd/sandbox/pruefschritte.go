package main

import (
	"context"
	"net/http"
	"slices"
)

const pruefschrittePath = "/api/v1/pruefschritte"

// pruefschritt is a code that a report may carry.
type pruefschritt struct {
	Code       string `json:"code"`
	Bedeutung  string `json:"bedeutung"`
	FirstVisit string `json:"first_visit"`
}

// theTeamPicksACode forgets the code of a failed visit and gets the same codes from the
// refusal as from the list made for a form.
func (s *story) theTeamPicksACode(ctx context.Context) {
	s.print("\n")
	refusal := s.ask(ctx, http.StatusUnprocessableEntity, request{
		http.MethodPut, s.earliest.path("/fail"), fields{"reason": "niemand angetroffen", "endgueltig": true}, newIdentifiers(),
	})
	fitting := read[struct {
		Codes []string `json:"fitting_codes"`
	}](s, refusal).Codes
	a := s.call(ctx, http.StatusOK, http.MethodGet, pruefschrittePath+"?order_type=sperrung&outcome=failed", nil)
	var codes []string
	picked := false
	for _, p := range read[[]pruefschritt](s, a) {
		codes = append(codes, p.Code)
		picked = picked || p.Code == "A08" && p.FirstVisit == "stays_open"
		s.note("%s, first visit %s: %s", p.Code, p.FirstVisit, p.Bedeutung)
	}
	s.expect(slices.Equal(codes, fitting), "the list has %v, the refusal %v", codes, fitting)
	s.expect(picked, "the list has no A08 after which a second visit is owed: %s", a.body)
}
