package api_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"sperrd/internal/api"
)

// unsized is a body that goes out in chunks, without a Content-Length.
func unsized(s string) io.Reader { return struct{ io.Reader }{strings.NewReader(s)} }

// dial opens a bare connection to the bench that is closed with the test.
func (b *bench) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// readAnswer reads the one answer on a bare connection.
func readAnswer(t *testing.T, conn net.Conn) answer {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, body}
}

func TestLimit_is_enforced_on_a_declared_length_without_reading(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, path := range []string{"/webhook", orders} {
		conn := b.dial(t)
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", path, 10<<30)
		a := readAnswer(t, conn) // nothing of the body was sent
		wantProblem(t, a, http.StatusRequestEntityTooLarge, "body_too_large")
	}
}

func TestLimit_answers_as_soon_as_it_is_passed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	conn := b.dial(t)
	fmt.Fprintf(conn, "POST /webhook HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", 1<<20+1, strings.Repeat(" ", 1<<20+1))
	started := time.Now() // the body has no end yet
	wantProblem(t, readAnswer(t, conn), http.StatusRequestEntityTooLarge, "body_too_large")
	if waited := time.Since(started); waited > 10*time.Second {
		t.Errorf("answered after %v", waited)
	}
}

// endless writes chunks until the connection breaks or limit bytes are out, and
// reports how many went.
func endless(conn net.Conn, limit int) int {
	fmt.Fprint(conn, "POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Type: application/cloudevents+json\r\nTransfer-Encoding: chunked\r\n\r\n")
	chunk := fmt.Sprintf("10000\r\n%s\r\n", strings.Repeat("x", 0x10000))
	sent := 0
	for sent < limit {
		n, err := io.WriteString(conn, chunk)
		sent += n
		if err != nil {
			break
		}
	}
	return sent
}

func TestLimit_cuts_parallel_unsigned_senders_while_a_good_event_passes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var senders sync.WaitGroup
	for range 20 {
		conn := b.dial(t)
		senders.Go(func() {
			// What the kernel buffers on both sides goes beyond the limit.
			if sent := endless(conn, 64<<20); sent > 16<<20 {
				t.Errorf("%d MiB went out before the connection was cut", sent>>20)
			}
		})
	}
	wantStatus(t, b.deliver(t, sample(t, "17117.json")), http.StatusCreated)
	senders.Wait()
	wantStatus(t, b.get(t, "/health/ready"), http.StatusOK)

	refused := 0
	for _, line := range b.log.requests(t) {
		if line["status"] == float64(http.StatusRequestEntityTooLarge) {
			refused++
			if line["level"] != "WARN" || line["code"] != "body_too_large" {
				t.Errorf("log line %v", line)
			}
		}
	}
	if refused != 20 {
		t.Errorf("%d senders refused with 413, want 20", refused)
	}
	if n := b.count(t, `SELECT count(*) FROM webhook_rejects`); n != 0 {
		t.Errorf("%d rejects kept of bodies that nobody verified", n)
	}
}

func TestLimit_is_exact_for_a_signed_event(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	event := string(sample(t, "17117.json"))
	fill := strings.Repeat(" ", 1<<20-len(event))
	wantStatus(t, b.deliver(t, []byte(fill+event+" ")), http.StatusRequestEntityTooLarge)
	wantStatus(t, b.deliver(t, []byte(fill+event)), http.StatusCreated)
}

func TestSlow_sender_is_cut_and_told_to_come_again(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *settings) {
		s.server = func(server *http.Server) { server.ReadTimeout = 100 * time.Millisecond }
	})
	conn := b.dial(t)
	fmt.Fprint(conn, "POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	started := time.Now()
	a := readAnswer(t, conn)
	wantProblem(t, a, http.StatusServiceUnavailable, "unavailable")
	if waited := time.Since(started); waited > 10*time.Second {
		t.Errorf("cut after %v", waited)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection stays open: %v", err)
	}
}

func TestSlow_header_is_cut(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *settings) {
		s.server = func(server *http.Server) { server.ReadHeaderTimeout = 100 * time.Millisecond }
	})
	conn := b.dial(t)
	fmt.Fprint(conn, "POST /webhook HTTP/1.1\r\nHost:")
	if _, err := io.ReadAll(conn); err != nil {
		t.Errorf("the connection stays open: %v", err)
	}
}

func TestHeader_has_a_limit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.call(t, http.MethodGet, orders, "", "X-Filler", strings.Repeat("x", 264<<10))
	wantStatus(t, a, http.StatusRequestHeaderFieldsTooLarge)
}

func TestLarge_bodies_wait_for_each_other_and_small_ones_for_nobody(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for range 4 { // as many as may be held at a time, and they never end
		conn := b.dial(t)
		fmt.Fprintf(conn, "POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n%s", strings.Repeat(" ", 100000))
	}
	large := strings.Repeat(" ", 100000)
	var a answer
	for started := time.Now(); a.status != http.StatusServiceUnavailable && time.Since(started) < 10*time.Second; {
		a = b.call(t, http.MethodPost, "/webhook", large) // 401 until the four are in
	}
	wantProblem(t, a, http.StatusServiceUnavailable, "unavailable")
	wantStatus(t, b.deliver(t, sample(t, "17117.json")), http.StatusCreated)
}

func TestServer_bounds_what_a_client_can_take(t *testing.T) {
	t.Parallel()
	log := &logBuffer{}
	server := api.NewServer(http.NotFoundHandler(), 40*time.Second, slog.New(slog.NewTextHandler(log, nil)))
	if server.ReadHeaderTimeout != 5*time.Second || server.ReadTimeout != 15*time.Second ||
		server.IdleTimeout != 60*time.Second || server.MaxHeaderBytes != 256<<10 {
		t.Errorf("limits %v %v %v %d", server.ReadHeaderTimeout, server.ReadTimeout, server.IdleTimeout, server.MaxHeaderBytes)
	}
	// The clock of the answer starts before the body is read.
	if server.WriteTimeout < 40*time.Second+server.ReadTimeout {
		t.Errorf("an answer is cut after %v, while it may take 40 s after a body of %v", server.WriteTimeout, server.ReadTimeout)
	}
	server.ErrorLog.Print("TLS handshake error")
	if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "TLS handshake error") {
		t.Errorf("log %q", log)
	}
}
