package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"sperrd/internal/sperr"
)

// A trailer comes when the body has been read, and whoever wrote its call's ids there
// would not be recognised by them.
func TestHeaders_that_are_announced_for_a_trailer_are_400_and_change_nothing(t *testing.T) {
	t.Parallel()
	n := newNeighbourhood(t, unhurried(""))
	s := n.seed(t, sperr.StatusPending, 1)[0]
	before := n.state(t, s)
	i := n.child(t)
	call := strings.Join(filled([]string{"transactionId: {A}", "creationDateTime: {NOW}"}, uuid.NewString(), ""), "\r\n")
	request := "PUT " + executePath(s.id) + " HTTP/1.1\r\nHost: sperrd\r\nConnection: close\r\nContent-Type: application/json\r\n" +
		"Trailer: transactionId, creationDateTime\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n" + call + "\r\n\r\n"

	status, code := parsed(t, i.say(t, request))

	if status != http.StatusBadRequest || code != "invalid_transaction_header" {
		t.Errorf("%d %q; want 400 invalid_transaction_header", status, code)
	}
	n.untouched(t, "a call with its ids in a trailer", s, before)
}
