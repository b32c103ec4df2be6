package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestEvery_answer_to_a_call_with_identifiers_names_the_call_and_its_operation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.market(t, 17115, malo).ID
	wantFirst(t, b.change(t, id, "fail", `{"reason":"zu"}`, called(callZ)), http.StatusAccepted, callZ, callZ)
	chunks := http.Header{"Content-Type": {"application/json"}, "Transactionid": {callB}, "Initialtransactionid": {callA}, "Creationdatetime": {"2026-09-03T08:00:00Z"}}
	retry := called(callB, callA)
	for name, c := range map[string]struct {
		a             answer
		status        int
		id, reference string
	}{
		"malformed id in the path": {b.change(t, "x", "execute", "", retry), 404, callB, callA},
		"unknown order":            {b.change(t, uuid.NewString(), "execute", "", called(callC, callC)), 404, callC, callC},
		"not JSON":                 {b.change(t, id, "execute", "{", retry), 400, callB, callA},
		"query":                    {b.change(t, id, "execute?x=1", "", retry), 400, callB, callA},
		"media type":               {b.change(t, id, "execute", "{}", append(called(callB, callA), "Content-Type", "text/plain")), 415, callB, callA},
		"too large":                {b.send(t, http.MethodPost, orders, unsized(strings.Repeat(" ", 1<<20+1)), chunks), 413, callB, callA},
		"against the rules":        {b.change(t, id, "execute", `{"executed_at":"x"}`, called(callD)), 422, callD, callD},
		"conflict":                 {b.change(t, id, "execute", "", called(callB, callZ)), 409, callB, callZ},
	} {
		if c.a.status != c.status {
			t.Errorf("%s: %d %s, want %d", name, c.a.status, c.a.body, c.status)
		}
		wantEcho(t, c.a, c.id, c.reference)
	}
}

// Of a header that is refused only what can be an id comes back, never other text.
func TestRefused_header_comes_back_as_far_as_it_is_an_id(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct {
		header        []string
		id, reference string
	}{
		{[]string{"transactionId", strings.ToUpper(callA)}, callA, callA},
		{[]string{"transactionId", callA, "initialTransactionId", "x"}, callA, ""},
		{[]string{"transactionId", "x", "initialTransactionId", callB}, "", callB},
		{[]string{"transactionId", "{" + callA + "}"}, "", ""},
		{[]string{"transactionId", callA + "," + callB}, "", ""},
		{[]string{"initialTransactionId", callB}, "", callB},
		{[]string{"referenceId", callB}, "", ""},
		{[]string{"Idempotency-Key", `"unclosed`}, "", ""},
	} {
		a := b.createCalled(t, fullOrder, c.header)
		wantStatus(t, a, http.StatusBadRequest)
		wantEcho(t, a, c.id, c.reference)
		for i := 1; i < len(c.header); i += 2 {
			if strings.Contains(string(a.body), c.header[i]) {
				t.Errorf("%v: the answer quotes it: %s", c.header, a.body)
			}
		}
	}
}

// Counterparts of the EDI@Energy APIs compare names as they are written.
func TestEcho_is_spelt_on_the_wire_as_the_EDI_Energy_APIs_spell_it(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := minimal("sperrung")
	for i, id := range []string{callB, callC} {
		conn := b.dial(t)
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"+
			"TRANSACTIONID: %s\r\ninitialtransactionid: %s\r\ncreationDateTime: 2026-09-03T08:00:00Z\r\n\r\n%s", orders, len(body), id, callA, body)
		raw, err := io.ReadAll(bufio.NewReader(conn))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"\r\ntransactionId: " + id + "\r\n", "\r\nreferenceId: " + callA + "\r\n"} {
			if strings.Count(string(raw), line) != 1 || strings.Count(strings.ToLower(string(raw)), strings.ToLower(line)) != 1 {
				t.Errorf("want %q once in %s", line, raw)
			}
		}
		if got := strings.Contains(string(raw), "\r\nIdempotent-Replayed: true\r\n"); got != (i == 1) {
			t.Errorf("answer %d is a replay: %t", i+1, got)
		}
	}
}

func TestRoutes_that_change_nothing_ignore_the_identifiers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create(t, minimal("sperrung")).ID
	before := b.traces(t)
	for _, header := range [][]string{
		called(callA), called(callB, callA), {"Idempotency-Key", "k"}, {"transactionId", ""}, {"transactionId", "42"}, {"creationDateTime", "gestern"},
	} {
		for _, path := range []string{orders, orders + "/stats", orders + "/" + id, orders + "/" + id + "/history", rejects, "/health/live", "/health/ready", orders + "/x", "/nowhere"} {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				with, without := b.call(t, method, path, "", header...), b.call(t, method, path, "")
				if toldBy(with) != toldBy(without) {
					t.Errorf("%s %s with %v: %d %s", method, path, header, with.status, with.body)
				}
				wantEcho(t, with, "", "")
			}
		}
		a := b.mcp(t, toolsList, header...)
		wantTools(t, a)
		wantEcho(t, a, "", "")
	}
	b.wantTraces(t, before)
}

func TestEcho_is_not_in_the_body_and_the_log_names_the_ids(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create(t, minimal("sperrung")).ID
	for _, call := range [][]string{called(callA), called(callB, callA)} {
		if a := b.change(t, id, "fail", `{"reason":"zu"}`, call); strings.Contains(string(a.body), callA) {
			t.Errorf("body %s", a.body)
		}
	}
	lines := b.log.requests(t)
	for i, want := range []struct {
		id       string
		replayed any
	}{{callA, nil}, {callB, true}} {
		line := lines[len(lines)-2+i]
		if line["transaction_id"] != want.id || line["initial_transaction_id"] != callA || line["replayed"] != want.replayed || line["order_id"] != id {
			t.Errorf("line %v", line)
		}
	}
}

// The refusal of a reason names the order like every other answer about one.
func TestRefused_reason_says_where_the_order_is_read(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create(t, minimal("sperrung")).ID
	const body = `{"reason":"\u0000"}`
	for verb, call := range map[string]string{"cancel": callA, "iftsta/reset": callB} {
		a := b.change(t, id, verb, body, called(call))
		wantProblem(t, a, http.StatusUnprocessableEntity, "invalid_report", "reason")
		if got := a.header.Get(contentLocation); got != orders+"/"+id {
			t.Errorf("%s: %s %q", verb, contentLocation, got)
		}
	}
}

// Whoever is on call has the log alone to tell which header a device got wrong.
func TestLog_of_a_malformed_header_names_it_and_the_order(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	id := g.create(t, minimal("sperrung"))
	header := []string{"transactionId", "not-an-id", "creationDateTime", "2026-09-03T08:00:00Z"}
	for _, token := range []string{g.issuer.Token(t, nil), "forged"} {
		g.call(t, http.MethodPut, orders+"/"+id+"/execute", "", append(header, "Authorization", "Bearer "+token)...)
	}
	var told []string
	for _, line := range g.log.requests(t) {
		if line["action"] == "execute-sperr-order" {
			told = append(told, fmt.Sprint(line["status"], " ", line["order_id"], " ", line["reason"]))
		}
	}
	if len(told) != 2 || told[0] != "400 "+id+" transactionId must be one UUID of 36 characters." || !strings.HasPrefix(told[1], "401 <nil> ") {
		t.Errorf("the log has %q", told)
	}
	if strings.Contains(g.log.String(), "not-an-id") {
		t.Error("the log quotes a malformed header")
	}
}
