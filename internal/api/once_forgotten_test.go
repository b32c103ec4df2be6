package api_test

import (
	"net/http"
	"testing"
)

// When the record of a first visit is forgotten, the order alone knows the call. What it
// knows must not answer another caller, nor another report: one that closes the order
// would be lost.
func TestForgotten_first_visit_is_not_repeated_by_another_caller_or_report(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	path := orders + "/" + g.create(t, minimal("sperrung")) + "/fail"
	fail := func(subject, body string) answer {
		return g.call(t, http.MethodPut, path, body, "Authorization", "Bearer "+g.issuer.Token(t, claims{"sub": subject}),
			"transactionId", modelUUID(1), "creationDateTime", "2026-09-03T08:00:00Z")
	}
	wantStatus(t, fail("monteur-1", `{"reason":"zu"}`), http.StatusAccepted)
	for _, other := range []struct{ subject, body string }{
		{"monteur-2", `{"reason":"zu"}`},
		{"monteur-1", `{"reason":"zu","endgueltig":true}`},
		{"monteur-1", `{"reason":"zu","pruefschritt_code":"A05"}`},
	} {
		if _, err := g.pool.Exec(t.Context(), `DELETE FROM api_transactions`); err != nil {
			t.Fatal(err)
		}
		if a := fail(other.subject, other.body); a.status != http.StatusConflict {
			t.Errorf("%s by %s: %d %s, want 409", other.body, other.subject, a.status, a.body)
		}
	}
}
