package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A Lieferant orders and makod is busy, as a person plays it: the report is kept, and
// sent when makod works again.
func TestAdmin_plays_the_market(t *testing.T) {
	t.Parallel()
	r := start(t, "--skip-story", "--sperrd", sperrdBinary)
	r.handedOver()
	admin, sperrd, token := r.find(`admin endpoints on (\S+)`), r.find(`sperrd on (\S+)`), r.token()
	for _, pid := range []string{"17115", "17117"} {
		status, body := send(t, "POST", admin+"/spawn?pid="+pid, "")
		spawned, err := decode[order](answer{body: []byte(body)})
		if status != http.StatusCreated || err != nil {
			t.Fatalf("POST /spawn answered with %d %s (%v)", status, body, err)
		}
		if status, body = send(t, "POST", admin+"/makod/fault?kind=busy", ""); status != http.StatusOK {
			t.Fatalf("POST /makod/fault answered with %d %s", status, body)
		}
		if status, body = sendAs(t, token, "PUT", sperrd+spawned.path("/execute"), ""); status != http.StatusAccepted {
			t.Errorf("execute of a %s with makod busy answered with %d %s", pid, status, body)
		}
		if status, body = send(t, "POST", admin+"/makod/fault?kind=none", ""); status != http.StatusOK {
			t.Fatalf("POST /makod/fault answered with %d %s", status, body)
		}
		awaitBody(t, admin+"/iftsta", spawned.MaloID)
	}
	for _, path := range []string{"/spawn?pid=17116", "/spawn", "/makod/fault?kind=fire", "/erp/fault?kind=fire", "/erp/fault"} {
		if status, body := send(t, "POST", admin+path, ""); status != http.StatusBadRequest {
			t.Errorf("POST %s answered with %d %s", path, status, body)
		}
	}
}

// The ERP fails and recovers, as a person plays it: what it has not taken waits.
func TestAdmin_plays_the_ERP(t *testing.T) {
	t.Parallel()
	r := start(t, "--skip-story", "--sperrd", sperrdBinary)
	r.handedOver()
	admin := r.find(`admin endpoints on (\S+)`)
	if status, body := send(t, "POST", admin+"/erp/fault?kind=busy", ""); status != http.StatusOK {
		t.Fatalf("POST /erp/fault answered with %d %s", status, body)
	}
	status, body := send(t, "POST", admin+"/spawn?pid=17117", "")
	spawned, err := decode[order](answer{body: []byte(body)})
	if status != http.StatusCreated || err != nil {
		t.Fatalf("POST /spawn answered with %d %s (%v)", status, body, err)
	}
	if _, body = send(t, "GET", admin+"/erp/events", ""); strings.Contains(body, spawned.ID.String()) {
		t.Errorf("a busy ERP has taken an event: %s", body)
	}
	if status, body = send(t, "POST", admin+"/erp/fault?kind=none", ""); status != http.StatusOK {
		t.Fatalf("POST /erp/fault answered with %d %s", status, body)
	}
	awaitBody(t, admin+"/erp/events", spawned.ID.String())
}

// awaitBody asks until the answer has this in it.
func awaitBody(t *testing.T, url, want string) {
	t.Helper()
	ticker := time.NewTicker(lookPoll)
	defer ticker.Stop()
	deadline := time.After(patience)
	for {
		_, body := send(t, "GET", url, "")
		if strings.Contains(body, want) {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("GET %s never has %s: %s", url, want, body)
		}
	}
}

// send sends what curl would, without a token.
func send(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	return sendAs(t, "", method, url, body)
}

func sendAs(t *testing.T, token, method, url, body string) (int, string) {
	t.Helper()
	header := http.Header{}
	if body != "" {
		header.Set("Content-Type", "application/json")
	}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	return sendWith(t, header, method, url, body)
}

func sendWith(t *testing.T, header http.Header, method, url, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}
