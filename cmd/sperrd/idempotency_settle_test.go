package main

import (
	"net/http"
	"testing"

	"sperrd/internal/sperr"
)

// What makod said is written as the answer, and nobody at this end knows whether it was.
// The second try tells.
func TestAnswer_whose_record_is_in_doubt_is_the_one_that_the_retry_gets(t *testing.T) {
	t.Parallel()
	n := newNeighbourhood(t, unhurried(""))
	s := n.seed(t, sperr.StatusPending, 1)[0]
	i, way := n.childOnCommitWire(t)
	a, call := report(s.id, "execute", ""), first()

	lost := way.lose(&loss{after: "UPDATE api_transactions SET state", text: call.id, reaches: true})
	done := i.do(t.Context(), a, call)
	<-lost
	if done.err != nil {
		t.Fatal(done.err)
	}
	n.awaitDecided(t, call.id, "final")
	second := i.do(t.Context(), a, call.retry())

	if done.status != http.StatusNoContent {
		t.Errorf("%d %s; want 204, which is the answer that stands", done.status, done.body)
	}
	wantSame(t, done, second)
	n.wantOnce(t, s, call.id, closings[0], 1)
}
