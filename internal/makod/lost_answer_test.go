package makod

import (
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/makod/makodtest"
)

func TestSubmit_is_one_request_when_a_reused_connection_dies(t *testing.T) {
	t.Parallel()
	srv, c := newMakod(t)
	// The first answer leaves a connection behind on which the second request
	// dies. That is where net/http would send it again.
	srv.FailNext(1, makodtest.InvalidPayload())
	srv.FailNext(1, makodtest.Drop())
	first := bestaetigen()
	if _, err := c.Submit(t.Context(), first); mustFail(t, err).Status != 422 {
		t.Fatal(err)
	}
	second := bestaetigen()
	second.InitialTransactionID, second.ReferenceID = first.TransactionID, processID
	_, err := c.Submit(t.Context(), second)
	if e := mustFail(t, err); e.Code != CodeConnectionLost || !e.Unclear() || e.Status != 0 {
		t.Errorf("%v, unclear %v", e, e.Unclear())
	}
	requests := srv.Requests()
	if len(requests) != 2 {
		t.Fatalf("%d requests for 2 calls", len(requests))
	}
	if requests[0].RemoteAddr != requests[1].RemoteAddr {
		t.Fatal("the connection was not reused, so this test shows nothing")
	}
	if got := srv.RepeatedTransactionIDs(); len(got) != 0 {
		t.Errorf("transactionIds that came twice: %q", got)
	}
	got := []string{
		requests[0].TransactionID(), requests[0].InitialTransactionID(), requests[0].ReferenceID(),
		requests[1].TransactionID(), requests[1].InitialTransactionID(), requests[1].ReferenceID(),
	}
	want := []string{first.TransactionID, "", "", second.TransactionID, first.TransactionID, processID}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("identifiers (-want +got):\n%s", diff)
	}
}

func TestSubmit_lost_answer_is_unclear_and_shows_in_the_next(t *testing.T) {
	t.Parallel()
	srv, c := newMakod(t)
	srv.FailNext(1, makodtest.Applied(makodtest.Drop()))
	_, err := c.Submit(t.Context(), bestaetigen())
	if e := mustFail(t, err); !e.Unclear() {
		t.Errorf("%v is not unclear", e)
	}
	_, err = c.Submit(t.Context(), bestaetigen())
	if e := mustFail(t, err); e.Found != StateAusgefuehrt || e.Unclear() {
		t.Errorf("%v: found %q", e, e.Found)
	}
	if n := len(srv.IFTSTA()); n != 1 {
		t.Errorf("%d IFTSTA, want 1", n)
	}
}

func TestSubmit_lost_answer_is_repeated_by_a_newer_makod(t *testing.T) {
	t.Parallel()
	srv, c := newMakod(t)
	srv.SetIdempotency(makodtest.IdempotencyCompare24h)
	srv.FailNext(1, makodtest.AcceptTruncated())
	_, err := c.Submit(t.Context(), bestaetigen())
	if e := mustFail(t, err); e.Code != CodeUndecodableAnswer || !e.Unclear() || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v, unclear %v", e, e.Unclear())
	}
	got, err := c.Submit(t.Context(), bestaetigen())
	if err != nil || got.ProcessID != processID {
		t.Errorf("%+v, %v", got, err)
	}
	if n := len(srv.IFTSTA()); n != 1 {
		t.Errorf("%d IFTSTA, want 1", n)
	}
}
