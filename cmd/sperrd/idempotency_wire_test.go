package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"sperrd/internal/sperr"
)

// say writes bytes on a connection of its own and returns the answer to them, to the byte.
func (i *instance) say(t *testing.T, bytes string) (answer string) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(i.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, bytes); err != nil {
		t.Fatal(err)
	}
	read, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("%v after %q", err, read)
	}
	return string(read)
}

// put is a PUT with these lines in its header.
func put(target string, lines ...string) string {
	return "PUT " + target + " HTTP/1.1\r\nHost: sperrd\r\nConnection: close\r\nContent-Length: 0\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n"
}

// parsed are the status and the code of an answer; the code is empty where the server has
// refused what is no HTTP.
func parsed(t *testing.T, answer string) (status int, code string) {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(strings.NewReader(answer)), nil)
	if err != nil {
		t.Fatalf("%v in %q", err, answer)
	}
	defer response.Body.Close()
	var problem struct{ Code string }
	if strings.Contains(response.Header.Get("Content-Type"), "json") {
		if err := json.NewDecoder(response.Body).Decode(&problem); err != nil {
			t.Fatalf("%v in %q", err, answer)
		}
	}
	return response.StatusCode, problem.Code
}

// malformed are header lines of a call that says which one it is and cannot be understood;
// {A}, {B} and {NOW} stand for two ids and an instant.
var malformed = map[string][]string{
	"a line twice":                        {"transactionId: {A}", "transactionId: {A}", "creationDateTime: {NOW}"},
	"a line twice, cased":                 {"transactionid: {A}", "TRANSACTIONID: {B}", "creationDateTime: {NOW}"},
	"two first calls":                     {"transactionId: {A}", "creationDateTime: {NOW}", "initialTransactionId: {B}", "initialTransactionId: {B}"},
	"two instants":                        {"transactionId: {A}", "creationDateTime: {NOW}", "creationDateTime: {NOW}"},
	"two references":                      {"transactionId: {A}", "creationDateTime: {NOW}", "referenceId: {B}", "ReferenceId: {B}"},
	"two keys":                            {"Idempotency-Key: a", "idempotency-key: a"},
	"a list":                              {"transactionId: {A}, {B}", "creationDateTime: {NOW}"},
	"a list of one id":                    {"transactionId: {A},{A}", "creationDateTime: {NOW}"},
	"a list with nothing in it":           {"transactionId: {A},", "creationDateTime: {NOW}"},
	"a list of first calls":               {"transactionId: {A}", "creationDateTime: {NOW}", "initialTransactionId: {A}, {B}"},
	"a list of keys":                      {`Idempotency-Key: "a", "b"`},
	"a list of bare keys":                 {"Idempotency-Key: a,b"},
	"a key with a parameter":              {`Idempotency-Key: "a";b=1`},
	"a key that does not end":             {`Idempotency-Key: "a`},
	"a key of two words":                  {"Idempotency-Key: a b"},
	"a key with a tab in it":              {"Idempotency-Key: \"a\tb\""},
	"a key that is too long":              {"Idempotency-Key: " + strings.Repeat("k", 256)},
	"a key that is empty between quotes":  {`Idempotency-Key: ""`},
	"a key beyond ASCII":                  {"Idempotency-Key: schl\xc3\xbcssel"},
	"another key":                         {"transactionId: {A}", "creationDateTime: {NOW}", "Idempotency-Key: {B}"},
	"no id":                               {"transactionId:", "creationDateTime: {NOW}"},
	"a blank id":                          {"transactionId: \t ", "creationDateTime: {NOW}"},
	"no first call":                       {"transactionId: {A}", "creationDateTime: {NOW}", "initialTransactionId:"},
	"no reference":                        {"transactionId: {A}", "creationDateTime: {NOW}", "referenceId: "},
	"no instant in it":                    {"transactionId: {A}", "creationDateTime:"},
	"no key":                              {"Idempotency-Key:"},
	"no key beside an id":                 {"transactionId: {A}", "creationDateTime: {NOW}", "Idempotency-Key: "},
	"an id without its instant":           {"transactionId: {A}"},
	"a first call alone":                  {"initialTransactionId: {A}"},
	"an instant alone":                    {"creationDateTime: {NOW}"},
	"a reference alone":                   {"referenceId: {A}"},
	"a first call and a key":              {"initialTransactionId: {A}", "Idempotency-Key: a"},
	"a tab in an id":                      {"transactionId: 0b1e9a52-7c1d-4a2e-9f00-\t00000000001", "creationDateTime: {NOW}"},
	"an id folded in the middle":          {"transactionId: 0b1e9a52-7c1d-4a2e-\r\n 9f00-000000000001", "creationDateTime: {NOW}"},
	"a line that continues another":       {"transactionId: {A}\r\n creationDateTime: {NOW}"},
	"bytes that are no UTF-8":             {"transactionId: \xff\xfe9a52-7c1d-4a2e-9f00-00000000000001", "creationDateTime: {NOW}"},
	"en dashes, 36 characters":            {"transactionId: 0b1e9a52–7c1d–4a2e–9f00–000000000001", "creationDateTime: {NOW}"},
	"36 bytes with an en dash":            {"transactionId: 0b1e9a52–7c1d–4a2e–9f00–0000000", "creationDateTime: {NOW}"},
	"full width digits":                   {"transactionId: ０b1e9a52-7c1d-4a2e-9f00-000000000001", "creationDateTime: {NOW}"},
	"hyphens at odd places":               {"transactionId: 0b1e9a5-27c1d-4a2e-9f00-000000000001", "creationDateTime: {NOW}"},
	"hyphens alone":                       {"transactionId: ------------------------------------", "creationDateTime: {NOW}"},
	"underscores":                         {"transactionId: 0b1e9a52_7c1d_4a2e_9f00_000000000001", "creationDateTime: {NOW}"},
	"36 digits without hyphens":           {"transactionId: 0b1e9a5207c1d04a2e09f000000000000001", "creationDateTime: {NOW}"},
	"32 digits":                           {"transactionId: 0b1e9a527c1d4a2e9f00000000000001", "creationDateTime: {NOW}"},
	"braces":                              {"transactionId: {0b1e9a52-7c1d-4a2e-9f00-000000000001}", "creationDateTime: {NOW}"},
	"a URN":                               {"transactionId: urn:uuid:0b1e9a52-7c1d-4a2e-9f00-000000000001", "creationDateTime: {NOW}"},
	"quotes":                              {`transactionId: "0b1e9a52-7c1d-4a2e-9f00-000000000001"`, "creationDateTime: {NOW}"},
	"no hexadecimal digit":                {"transactionId: 0b1e9a52-7c1d-4a2e-9f00-00000000000g", "creationDateTime: {NOW}"},
	"the nil UUID":                        {"transactionId: 00000000-0000-0000-0000-000000000000", "creationDateTime: {NOW}"},
	"the nil UUID as key":                 {"Idempotency-Key: 00000000-0000-0000-0000-000000000000"},
	"the nil UUID as first call":          {"transactionId: {A}", "creationDateTime: {NOW}", "initialTransactionId: 00000000-0000-0000-0000-000000000000"},
	"a reference that is no UUID":         {"transactionId: {A}", "creationDateTime: {NOW}", "referenceId: 4711"},
	"a comma before the fraction":         {"transactionId: {A}", "creationDateTime: {SECONDS},5Z"},
	"UTC as an offset":                    {"transactionId: {A}", "creationDateTime: {SECONDS}+00:00"},
	"UTC as a negative offset":            {"transactionId: {A}", "creationDateTime: {SECONDS}-00:00"},
	"a lower case z":                      {"transactionId: {A}", "creationDateTime: {SECONDS}z"},
	"no zone":                             {"transactionId: {A}", "creationDateTime: {SECONDS}"},
	"a fraction without digits":           {"transactionId: {A}", "creationDateTime: {SECONDS}.Z"},
	"ten digits of the second":            {"transactionId: {A}", "creationDateTime: {SECONDS}.0123456789Z"},
	"a lower case t":                      {"transactionId: {A}", "creationDateTime: {DAY}t00:00:00Z"},
	"a blank for the T":                   {"transactionId: {A}", "creationDateTime: {DAY} 00:00:00Z"},
	"second 60":                           {"transactionId: {A}", "creationDateTime: {DAY}T00:00:60Z"},
	"hour 24":                             {"transactionId: {A}", "creationDateTime: {DAY}T24:00:00Z"},
	"an hour of one digit":                {"transactionId: {A}", "creationDateTime: {DAY}T0:00:00Z"},
	"year 0000":                           {"transactionId: {A}", "creationDateTime: 0000-01-01T00:00:00Z"},
	"year 10000":                          {"transactionId: {A}", "creationDateTime: 10000-01-01T00:00:00Z"},
	"a negative year":                     {"transactionId: {A}", "creationDateTime: -0001-01-01T00:00:00Z"},
	"30 February":                         {"transactionId: {A}", "creationDateTime: 2026-02-30T00:00:00Z"},
	"an instant with something behind it": {"transactionId: {A}", "creationDateTime: {NOW} {NOW}"},
	"a list of instants":                  {"transactionId: {A}", "creationDateTime: {NOW}, {NOW}"},
	"an HTTP date":                        {"transactionId: {A}", "creationDateTime: Mon, 30 Nov 2026 12:00:00 GMT"},
}

// filled are lines with ids of their own, and with the present.
func filled(lines []string, a, b string) (all []string) {
	now := time.Now().UTC()
	replacer := strings.NewReplacer("{A}", a, "{B}", b, "{NOW}", now.Format("2006-01-02T15:04:05.000Z"),
		"{SECONDS}", now.Format("2006-01-02T15:04:05"), "{DAY}", now.Format(time.DateOnly))
	for _, line := range lines {
		all = append(all, replacer.Replace(line))
	}
	return all
}

// untouched waits for nothing and checks that an order is as it was and that no call is on record.
func (n *neighbourhood) untouched(t *testing.T, what string, s seed, before string) {
	t.Helper()
	if after := n.state(t, s); after != before {
		t.Fatalf("%s has changed the order: %s", what, after)
	}
	if got := n.text(t, `SELECT count(*) FROM api_transactions`); got != "0" {
		t.Fatalf("%s: %s transactions on record; want none", what, got)
	}
}

func TestHeaders_on_the_wire_that_cannot_be_understood_are_400_and_change_nothing(t *testing.T) {
	t.Parallel()
	n := newNeighbourhood(t, unhurried(""))
	s := n.seed(t, sperr.StatusPending, 1)[0]
	before := n.state(t, s)
	i := n.child(t)
	for name, lines := range malformed {
		lines = filled(lines, uuid.NewString(), uuid.NewString())
		status, code := parsed(t, i.say(t, put(executePath(s.id), lines...)))
		if status != http.StatusBadRequest || code != "invalid_transaction_header" {
			t.Errorf("%s: %d %q; want 400 invalid_transaction_header", name, status, code)
		}
	}
	n.untouched(t, "one of the malformed headers", s, before)

	// What is no HTTP, or says it in another place, is refused in other words.
	call := filled([]string{"transactionId: {A}", "creationDateTime: {NOW}"}, uuid.NewString(), "")
	for name, c := range map[string]struct{ request, code string }{
		"in the query":            {put(executePath(s.id) + "?transactionId=" + uuid.NewString()), "invalid_parameter"},
		"a reference in a query":  {put(executePath(s.id)+"?referenceId="+uuid.NewString(), call...), "invalid_parameter"},
		"a blank before a colon":  {put(executePath(s.id), strings.Replace(call[0], ":", " :", 1), call[1]), ""},
		"a control character":     {put(executePath(s.id), call[0]+"\x01", call[1]), ""},
		"a NUL":                   {put(executePath(s.id), call[0]+"\x00", call[1]), ""},
		"a letter beyond ASCII":   {put(executePath(s.id), "tränsactionId: x", call[1]), ""},
		"a first line continued":  {put(executePath(s.id), " "+call[0], call[1]), ""},
		"a header without an end": {strings.TrimSuffix(put(executePath(s.id), call...), "\r\n\r\n") + "\r\n: x\r\n\r\n", ""},
	} {
		status, code := parsed(t, i.say(t, c.request))
		if status != http.StatusBadRequest || code != c.code {
			t.Errorf("%s: %d %q; want 400 %q", name, status, code, c.code)
		}
		n.untouched(t, name, s, before)
	}
	i.want(t, report(s.id, "execute", ""), first(), http.StatusNoContent, false)
	if got := len(n.Requests()); got != 1 {
		t.Errorf("%d commands; want one, of the call that could be understood", got)
	}
}

func TestHeaders_on_the_wire_are_understood_in_every_form_that_HTTP_has_for_them(t *testing.T) {
	t.Parallel()
	n := newNeighbourhood(t, unhurried(""))
	i := n.child(t)
	forms := map[string][]string{
		"as the APIs write them":      {"transactionId: {A}", "creationDateTime: {NOW}", "initialTransactionId: {B}"},
		"in lower case":               {"transactionid: {A}", "creationdatetime: {NOW}", "initialtransactionid: {B}"},
		"in upper case":               {"TRANSACTIONID: {A}", "CREATIONDATETIME: {NOW}", "INITIALTRANSACTIONID: {B}"},
		"in odd case":                 {"tRANSACTIONiD: {A}", "CreationDatetime: {NOW}", "initialTransactionID: {B}"},
		"without blanks":              {"transactionId:{A}", "creationDateTime:{NOW}", "initialTransactionId:{B}"},
		"between tabs and blanks":     {"transactionId:\t {A} \t", "creationDateTime: \t{NOW}\t", "initialTransactionId:\t{B}"},
		"folded before the value":     {"transactionId:\r\n {A}", "creationDateTime:\r\n\t {NOW}", "initialTransactionId: {B}"},
		"without a fraction":          {"transactionId: {A}", "creationDateTime: {SECONDS}Z", "initialTransactionId: {B}"},
		"with nine digits of seconds": {"transactionId: {A}", "creationDateTime: {SECONDS}.123456789Z", "initialTransactionId: {B}"},
	}
	seeds := n.seed(t, sperr.StatusPending, len(forms))
	for name, lines := range forms {
		s := seeds[0]
		seeds = seeds[1:]
		call := first().retry()
		a, b := call.id, call.initial
		if strings.Contains(name, "case") {
			a, b = strings.ToUpper(a), strings.ToUpper(b)
		}
		answer := i.say(t, put(executePath(s.id), filled(lines, a, b)...))
		if status, code := parsed(t, answer); status != http.StatusNoContent {
			t.Fatalf("%s: %d %s; want 204", name, status, code)
		}
		for _, line := range []string{"transactionId: " + call.id, "referenceId: " + call.initial} {
			if !strings.Contains(answer, "\r\n"+line+"\r\n") {
				t.Errorf("%s: no line %q in %q", name, line, answer)
			}
		}
		i.want(t, report(s.id, "execute", ""), names{id: call.initial}, http.StatusNoContent, true)
	}
	if ids := n.RepeatedTransactionIDs(); len(ids) > 0 {
		t.Errorf("transactionIds that came to makod twice: %v", ids)
	}
}
