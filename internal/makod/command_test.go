package makod

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

var noon = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

func TestSubmit_refuses_what_cannot_be_a_command(t *testing.T) {
	t.Parallel()
	srv, c := newMakod(t)
	for name, change := range map[string]func(*Command){
		"no name":             func(c *Command) { c.Name = "" },
		"no key":              func(c *Command) { c.IdempotencyKey = "" },
		"key with line feed":  func(c *Command) { c.IdempotencyKey = "a\nb" },
		"no transaction id":   func(c *Command) { c.TransactionID = "" },
		"transaction no UUID": func(c *Command) { c.TransactionID = "TW-2026-0903-001" },
		"nil transaction":     func(c *Command) { c.TransactionID = uuid.Nil.String() },
		"braces":              func(c *Command) { c.TransactionID = "{" + c.TransactionID + "}" },
		"URN":                 func(c *Command) { c.TransactionID = "urn:uuid:" + c.TransactionID },
		"32 digits":           func(c *Command) { c.TransactionID = strings.ReplaceAll(c.TransactionID, "-", "") },
		"no digits":           func(c *Command) { c.TransactionID = strings.Repeat("x", 36) },
		"initial no UUID":     func(c *Command) { c.InitialTransactionID = "ik:TW-2026-0903-001" },
		"nil initial":         func(c *Command) { c.InitialTransactionID = uuid.Nil.String() },
		"reference no UUID":   func(c *Command) { c.ReferenceID = "ik:TW-2026-0903-001" },
		"nil reference":       func(c *Command) { c.ReferenceID = uuid.Nil.String() },
		"no payload":          func(c *Command) { c.Payload = nil },
		"payload is a list":   func(c *Command) { c.Payload = []string{"a"} },
		"payload unencodable": func(c *Command) {
			c.Payload = map[string]any{"f": func() {}}
		},
	} {
		cmd := bestaetigen()
		change(&cmd)
		_, err := c.Submit(t.Context(), cmd)
		if e := mustFail(t, err); e.Code != CodeInvalidCommand || e.Unclear() || e.Status != 0 {
			t.Errorf("%s: %v, unclear %v", name, e, e.Unclear())
		}
	}
	if n := len(srv.Requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// listen answers one request with 202 and returns its URL, and its header to the letter
// once it has come: a server of net/http would spell the names its own way.
func listen(t *testing.T) (url string, header <-chan string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	came := make(chan string, 1)
	go func() {
		defer close(came)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		var raw bytes.Buffer
		req, err := http.ReadRequest(bufio.NewReader(io.TeeReader(conn, &raw)))
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		text, _, _ := strings.Cut(raw.String(), "\r\n\r\n")
		came <- text + "\r\n"
		const answer = `{"process_id":"` + processID + `"}`
		_, _ = io.WriteString(conn, "HTTP/1.1 202 Accepted\r\nConnection: close\r\n\r\n"+answer)
	}()
	return "http://" + listener.Addr().String(), came
}

func TestSubmit_spells_the_names_of_the_transaction_as_the_market_does(t *testing.T) {
	t.Parallel()
	first, repeated, answers := bestaetigen(), bestaetigen(), bestaetigen()
	repeated.InitialTransactionID = first.TransactionID
	answers.ReferenceID = "0b7c1e2a-2222-1000-c000-00000000000a" // any version and variant
	for name, cmd := range map[string]Command{"first": first, "repeated": repeated, "with a reference": answers} {
		url, header := listen(t)
		c := newClient(t, url)
		c.now = func() time.Time { return noon.Add(1234567 * time.Microsecond).In(time.FixedZone("CEST", 2*60*60)) }
		if _, err := c.Submit(t.Context(), cmd); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			"transactionid": "transactionId: " + cmd.TransactionID, "creationdatetime": "creationDateTime: 2026-09-01T12:00:01.234Z",
		}
		if cmd.InitialTransactionID != "" {
			want["initialtransactionid"] = "initialTransactionId: " + cmd.InitialTransactionID
		}
		if cmd.ReferenceID != "" {
			want["referenceid"] = "referenceId: " + cmd.ReferenceID
		}
		if diff := cmp.Diff(want, transactionLines(<-header)); diff != "" {
			t.Errorf("%s: header (-want +got):\n%s", name, diff)
		}
	}
}

// transactionLines returns the lines of a header that name a transaction, by their
// names in lower case. Two lines of one name are one text.
func transactionLines(header string) map[string]string {
	lines := map[string]string{}
	for line := range strings.Lines(header) {
		name, _, _ := strings.Cut(strings.ToLower(line), ":")
		switch name {
		case "transactionid", "initialtransactionid", "referenceid", "creationdatetime":
			lines[name] += strings.TrimSuffix(line, "\r\n")
		}
	}
	return lines
}
