package makodtest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	tx1 = "3f1d0c52-2222-4000-8000-00000000000a"
	tx2 = "3f1d0c52-2222-4000-8000-00000000000b"
)

// under puts a command under a transactionId.
func under(id string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("transactionId", id) }
}

func TestRequest_tells_what_names_the_call(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	post(s, "k1", execute)
	post(s, "k1", execute, func(r *http.Request) {
		r.Header.Set("transactionId", tx2)
		r.Header.Set("initialTransactionId", tx1)
		r.Header.Set("referenceId", id1)
		r.Header.Set("creationDateTime", "2026-09-01T08:00:00.000Z")
	})
	post(s, "k1", execute, under(tx1), func(r *http.Request) { r.Header.Add("transactionId", tx2) })
	var got [][]string
	for _, r := range s.Requests() {
		got = append(got, []string{r.TransactionID(), r.InitialTransactionID(), r.ReferenceID(), r.CreationDateTime()})
	}
	wanted := [][]string{
		{"", "", "", ""},
		{tx2, tx1, id1, "2026-09-01T08:00:00.000Z"},
		{tx1 + ", " + tx2, "", "", ""},
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("identifiers (-want +got):\n%s", diff)
	}
}

func TestRepeatedTransactionIDs_names_each_once_and_refuses_nothing(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	s.FailNext(1, BadGateway()) // an id is used up although the command does not count
	post(s, "k1", execute, under(tx2))
	if w := post(s, "k1", execute, under(strings.ToUpper(tx2))); w.Code != http.StatusAccepted {
		t.Errorf("the repeated id is refused: %d %s", w.Code, w.Body)
	}
	for range 3 {
		post(s, "k2", fail, under(tx1))
	}
	if diff := cmp.Diff([]string{tx2, tx1}, s.RepeatedTransactionIDs()); diff != "" {
		t.Errorf("repeated (-want +got):\n%s", diff)
	}
}

func TestRepeatedTransactionIDs_are_none_of_a_sender_that_uses_each_once(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	for _, id := range []string{tx1, "", tx2, ""} { // no id is no repetition
		post(s, "k1", execute, under(id))
	}
	if got := s.RepeatedTransactionIDs(); len(got) != 0 {
		t.Errorf("repeated: %q", got)
	}
}
