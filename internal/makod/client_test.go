package makod

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/makod/makodtest"
)

func TestSubmit_returns_the_process_makod_names(t *testing.T) {
	t.Parallel()
	srv, c := newMakod(t)
	got, err := c.Submit(t.Context(), bestaetigen())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Accepted{ProcessID: processID}, got); diff != "" {
		t.Error(diff)
	}
	if p, _ := srv.Process(processID); p.State != makodtest.StateAusgefuehrt {
		t.Errorf("process is %s", p.State)
	}
}

func TestSubmit_sends_the_same_bytes_and_headers_each_time_but_for_the_transaction(t *testing.T) {
	t.Parallel()
	srv, c := newMakod(t)
	var attempts []Command
	for i := range 2 { // the second is refused, and sent all the same
		attempts = append(attempts, bestaetigen())
		c.now = func() time.Time { return noon.Add(time.Duration(i) * time.Second) }
		_, _ = c.Submit(t.Context(), attempts[i])
	}
	wantBody := `{"command":"gpke.sperrung.bestaetigen","marktrolle":"NB",` +
		`"payload":{"malo_id":"51238696012","note":"TW-2026-0903-001"}}`
	requests := srv.RequestsFor(orderKey)
	if len(requests) != 2 {
		t.Fatalf("%d requests, want 2", len(requests))
	}
	for i, created := range []string{"2026-09-01T12:00:00.000Z", "2026-09-01T12:00:01.000Z"} {
		wantHeader := http.Header{
			"Accept":           {"application/json"},
			"Authorization":    {"Bearer " + apiKey},
			"Content-Length":   {fmt.Sprint(len(wantBody))},
			"Content-Type":     {"application/json"},
			"Creationdatetime": {created}, // net/http's spelling of what arrives
			"Idempotency-Key":  {orderKey},
			"Transactionid":    {attempts[i].TransactionID},
			"User-Agent":       {"sperrd"},
		}
		if diff := cmp.Diff(wantBody, string(requests[i].Body)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(wantHeader, requests[i].Header); diff != "" {
			t.Error(diff)
		}
	}
}

func TestSubmit_without_key_sends_no_authorization(t *testing.T) {
	t.Parallel()
	srv := makodtest.New(makodtest.Options{})
	spawn(t, srv)
	c, err := NewClient(srv.Start(t), "", patience)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Submit(t.Context(), bestaetigen()); err != nil {
		t.Fatal(err)
	}
	if _, ok := srv.Requests()[0].Header["Authorization"]; ok {
		t.Error("an Authorization header was sent")
	}
}

func TestSubmit_reuses_the_connection(t *testing.T) {
	t.Parallel()
	srv, c := newMakod(t)
	for range 3 {
		_, _ = c.Submit(t.Context(), bestaetigen())
	}
	for _, r := range srv.Requests()[1:] {
		if first := srv.Requests()[0]; r.RemoteAddr != first.RemoteAddr {
			t.Errorf("request from %s, want the connection %s", r.RemoteAddr, first.RemoteAddr)
		}
	}
}

func TestSubmit_accepts_every_2xx_with_a_process(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status int
		body   string
	}{
		{200, `{"process_id":"` + processID + `"}`},
		{202, `{"process_id":"0B7C1E2A-1111-4000-8000-000000000001","count":[1],"status":7}`},
		{299, `{"process_id":"0b7c1e2a111140008000000000000001"}`},
	} {
		c := clientOf(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tc.status)
			fmt.Fprint(w, tc.body)
		})
		got, err := c.Submit(t.Context(), bestaetigen())
		if err != nil || got.ProcessID != processID || got.Duplicate {
			t.Errorf("%d %s: %+v, %v", tc.status, tc.body, got, err)
		}
	}
}

func TestSubmit_adopts_the_process_of_a_duplicate(t *testing.T) {
	t.Parallel()
	srv, c := newMakod(t)
	other := "0b7c1e2a-1111-4000-8000-00000000000a"
	srv.FailNext(1, makodtest.DuplicateProcess(strings.ToUpper(other)))
	got, err := c.Submit(t.Context(), bestaetigen())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Accepted{ProcessID: other, Duplicate: true}, got); diff != "" {
		t.Error(diff)
	}
}

func TestSubmit_follows_no_redirect(t *testing.T) {
	t.Parallel()
	target, _ := newMakod(t)
	elsewhere := target.Start(t) + "/api/v1/commands"
	for _, status := range []int{301, 302, 303, 307, 308} {
		srv, c := newMakod(t)
		srv.FailNext(1, makodtest.Redirect(status, elsewhere))
		_, err := c.Submit(t.Context(), bestaetigen())
		if e := mustFail(t, err); e.Status != status || e.Unclear() {
			t.Errorf("%d: status %d, unclear %v", status, e.Status, e.Unclear())
		}
	}
	if n := len(target.Requests()); n != 0 {
		t.Errorf("%d requests arrived at the target of the redirect", n)
	}
}

func TestNewClient_cuts_slashes_and_keeps_the_path(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"http://makod:8080":         "http://makod:8080",
		"http://makod:8080///":      "http://makod:8080",
		"https://makod/market/api/": "https://makod/market/api",
	} {
		c, err := NewClient(in, apiKey, time.Second)
		if err != nil || c.base != want {
			t.Errorf("%s: %v, %v", in, c, err)
		}
	}
}

func TestNewClient_refuses_and_never_quotes(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", "makod:8080", "ftp://makod", "http://", "http://:8080", "http:makod", "//makod",
		"http://user:geheim@makod", "http://user:geheim@ma kod", "http://user:ge/heim@makod",
		"http://makod?key=geheim", "http://makod?", "http://makod#geheim",
	} {
		if _, err := NewClient(in, apiKey, time.Second); err == nil || strings.Contains(err.Error(), "heim") {
			t.Errorf("%q: %v", in, err)
		}
	}
	for _, key := range []string{"geheim\n", "ge heim", "gehäim"} {
		if _, err := NewClient("http://makod", key, time.Second); err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("key %q: %v", key, err)
		}
	}
	if _, err := NewClient("http://makod", apiKey, 0); err == nil {
		t.Error("a timeout of 0 is accepted")
	}
}
