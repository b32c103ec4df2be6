package main

import (
	"cmp"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

var (
	tokenParts = regexp.MustCompile(`^(\w+)=\$\(curl -s -u ([^:]+):(\S+) (\S+)/oauth/token -d grant_type=(\S+) \| (sed .*)\)$`)
	curlParts  = regexp.MustCompile(`^curl -si?( -X (\w+))? '([^']*)'((?: -H (?:'[^']*'|"[^"]*"))*)( -d '([^']*)')?$`)
	// headerParts are a name and a value, which the shell leaves alone or expands.
	headerParts = regexp.MustCompile(` -H (?:'([^:']+): ([^']*)'|"([^:"]+): ([^"]*)")`)
)

// Every command that is printed for a person works, in the order in which it
// stands there, and those that play the market do what they say.
func TestHandOver_prints_commands_that_work(t *testing.T) {
	t.Parallel()
	r := start(t, "--skip-story", "--sperrd", sperrdBinary)
	r.handedOver()
	_, printed, _ := strings.Cut(r.output(), "Now you.")
	variables := map[string]string{}
	commands, named, refusals, last := 0, 0, 0, ""
	for line := range strings.Lines(printed) {
		line = strings.TrimSpace(line)
		if parts := tokenParts.FindStringSubmatch(line); parts != nil {
			_, body := askForToken(t, parts[4], parts[2], parts[3], parts[5])
			variables[parts[1]] = pipe(t, body, parts[6])
			continue
		}
		parts := curlParts.FindStringSubmatch(line)
		if parts == nil {
			continue
		}
		commands++
		header := typedHeader(t, parts[4], variables)
		if header.Get(headerTransactionID) != "" {
			named++
		}
		status, body := sendWith(t, header, cmp.Or(parts[2], "GET"), parts[3], parts[6])
		switch {
		case header.Get(headerInitialTransactionID) != "" && body != last:
			t.Errorf("%s answered with %d %s, not like the first call with %s", line, status, body, last)
		case strings.Contains(line, "Bearer $lf") || strings.Contains(line, "Bearer $nb"):
			refusals++
			if status != http.StatusForbidden {
				t.Errorf("%s answered with %d %s", line, status, body)
			}
		case status >= 300 && !strings.Contains(body, "nothing_to_reset"): // it may have been sent by now
			t.Errorf("%s answered with %d %s", line, status, body)
		}
		last = body
	}
	if commands != 22 || named != 2 || refusals != 2 || len(variables) != 3 {
		t.Errorf("%d commands are printed, %d with a transactionId, %d refused, for %d accounts", commands, named, refusals, len(variables))
	}
	if !strings.Contains(last, `"text": "Siegel 4712"`) {
		t.Errorf("the Lieferanten know only %s", last)
	}
}

// typedHeader is the header of a printed command as the shell makes it.
func typedHeader(t *testing.T, text string, variables map[string]string) http.Header {
	t.Helper()
	header := http.Header{}
	for _, parts := range headerParts.FindAllStringSubmatch(text, -1) {
		switch {
		case parts[1] != "":
			header.Set(parts[1], parts[2])
		case strings.HasPrefix(parts[4], "$("):
			header.Set(parts[3], pipe(t, "", strings.Trim(parts[4], "$()")))
		default:
			header.Set(parts[3], os.Expand(parts[4], func(name string) string { return variables[name] }))
		}
	}
	return header
}

// pipe is what a command of the shell makes of a text.
func pipe(t *testing.T, text, command string) string {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "sh", "-c", command)
	shell.Stdin = strings.NewReader(text)
	output, err := shell.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(output))
}

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
