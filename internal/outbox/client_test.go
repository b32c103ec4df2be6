package outbox

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/outbox/erptest"
)

// clientOf returns a client of a server that answers by hand.
func clientOf(t *testing.T, pathAndQuery string, handler http.HandlerFunc) *Client {
	t.Helper()
	ts := httptest.NewServer(handler)
	t.Cleanup(ts.Close)
	return newClient(t, ts.URL+pathAndQuery)
}

func TestADeliveryIsWhatAStrictReceiverWants(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := b.one(t, "0b7c1e2a-1111-4000-8000-000000000001")
	b.erp.FailNext(1, erptest.Answer(500))
	b.round(t)
	b.makeDue(t)
	b.round(t)
	all := b.erp.Deliveries()
	if len(all) != 2 || all[0].Problem != "" || all[1].Status != http.StatusNoContent {
		t.Fatalf("deliveries: %+v", all)
	}
	if diff := cmp.Diff(e.Event.String(), all[1].Event.String()); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
	first, second := all[0].Header, all[1].Header
	if first.Get("Webhook-Id") != e.Event.ID() || second.Get("Webhook-Id") != e.Event.ID() {
		t.Error("the id of the event is not the id of both deliveries")
	}
	if first.Get("transactionId") == second.Get("transactionId") {
		t.Error("both deliveries have the same transactionId")
	}
}

func TestTheHeadersOfTheMarketKeepTheirSpelling(t *testing.T) {
	t.Parallel()
	c := newClient(t, "http://erp.example/")
	req, err := c.request(t.Context(), "id", []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	var wire strings.Builder
	if err := req.Header.Write(&wire); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"transactionId: ", "creationDateTime: ", "Content-Type: application/cloudevents+json\r\n"} {
		if !strings.Contains(wire.String(), name) {
			t.Errorf("the request lacks %q:\n%s", name, wire.String())
		}
	}
}

func TestOnlyA2xxIsSuccess(t *testing.T) {
	t.Parallel()
	c := clientOf(t, "", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Webhook-Id") == "broken" {
			w.Header().Set("Content-Length", "10") // and then nothing
		}
		w.WriteHeader(http.StatusAccepted)
	})
	for _, id := range []string{"whole", "broken"} {
		if f := c.deliver(t.Context(), id, []byte("{}")); f != nil {
			t.Errorf("a 202 with a %s body is a failure: %+v", id, f)
		}
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := erptest.New(erptest.Options{Secret: secret})
	b := newBench(t)
	b.one(t, "a")
	b.erp.FailNext(1, erptest.Redirect(elsewhere.Start(t)))
	b.round(t)
	if got := b.row(t, "a"); len(elsewhere.Deliveries()) != 0 || got.DeadLetterAt != nil || got.LastError == nil {
		t.Errorf("%d deliveries elsewhere, row %+v", len(elsewhere.Deliveries()), got)
	}
}

func TestAFailureNeverQuotesTheSecretOrTheURL(t *testing.T) {
	t.Parallel()
	const query = "token=abcdefghij%20klm&x=1"
	c := clientOf(t, "/hooks/T0123456789?"+query, func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no route \x00\x1b[31m"+r.URL.String()+" for "+r.URL.Query().Get("token")+" signed with "+
			secret+" under T0123456789 \xff "+strings.Repeat("ü", 1000), http.StatusNotFound)
	})
	f := c.deliver(t.Context(), "id", []byte("{}"))
	if f == nil {
		t.Fatal("a 404 is success")
	}
	for _, part := range []string{query, "abcdefghij", secret, "T0123456789", "\x00", "\x1b"} {
		if strings.Contains(f.text, part) {
			t.Errorf("%q in %q", part, f.text)
		}
	}
	if n := len([]rune(f.text)); n != maxText || !strings.HasPrefix(f.text, "404 Not Found: no route") {
		t.Errorf("%d characters: %q", n, f.text)
	}
}

func TestADeliveryWithoutAnAnswerIsATimeoutOrALostConnection(t *testing.T) {
	t.Parallel()
	erp := erptest.New(erptest.Options{Secret: secret})
	url := erp.Start(t)
	c, err := NewClient(url, secret, 50*time.Millisecond, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	erp.FailNext(1, erptest.Hang())
	if f := c.deliver(t.Context(), "id", []byte("{}")); f == nil || f.code != "timeout" || f.permanent {
		t.Errorf("no answer: %+v", f)
	}
	c = newClient(t, url)
	erp.Fail(erptest.Drop())
	for range 2 {
		if f := c.deliver(t.Context(), "id", []byte("{}")); f == nil || f.code != "connection_failed" || f.permanent {
			t.Errorf("a dropped connection: %+v", f)
		}
	}
	if got := len(erp.Deliveries()); got != 3 {
		t.Errorf("%d requests for 3 deliveries", got)
	}
}

func TestRetryAfterIsReadInBothFormsAndCapped(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 9, 1, 8, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"120": 2 * time.Minute, " 7 ": 7 * time.Second, "0": time.Second, "7200": 2 * time.Hour, "7201": 2 * time.Hour,
		"4294967296": 0, "": 0, "-5": 0, "soon": 0, "1.5": 0,
		"Tue, 01 Sep 2026 08:05:00 GMT": 5 * time.Minute,
		"Wed, 02 Sep 2026 08:05:00 GMT": 2 * time.Hour,
		"Tue, 01 Sep 2026 07:00:00 GMT": time.Second,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("Retry-After %q: %v, want %v", value, got, want)
		}
	}
}

func TestAClientIsRefusedWithoutQuotingURLOrSecret(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ url, secret string }{
		{"", secret},
		{"ftp://erp.example/TOKEN", secret},
		{"http://:80/TOKEN", secret},
		{"http://user:TOKEN@erp.example/", secret},
		{"http://erp.example/#TOKEN", secret},
		{"http://erp.example/%zz?TOKEN", secret},
		{"http://erp.example/", ""},
		{"http://erp.example/", "  "},
		{"http://erp.example/", "whsec_TOKEN%"},
	} {
		_, err := NewClient(c.url, c.secret, time.Second, time.Now)
		if err == nil || strings.Contains(err.Error(), "TOKEN") {
			t.Errorf("NewClient(%q, %q): %v", c.url, c.secret, err)
		}
	}
	if _, err := NewClient("http://erp.example/", secret, 0, time.Now); err == nil {
		t.Error("a timeout of 0 is taken")
	}
	if _, err := NewClient("https://erp.example/events?token=x", secret, time.Second, time.Now); err != nil {
		t.Error(err)
	}
}
