package api_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// drip writes one byte at a time until the connection breaks; it reports how many.
func drip(conn net.Conn, b byte) <-chan int {
	written := make(chan int, 1)
	go func() {
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		n := 0
		for range ticker.C {
			if _, err := conn.Write([]byte{b}); err != nil {
				break
			}
			n++
		}
		written <- n
	}()
	return written
}

// A deadline that each byte moves would never cut such a sender.
func TestSender_of_one_byte_at_a_time_is_cut_at_a_deadline_of_the_whole_body(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *settings) {
		s.server = func(server *http.Server) { server.ReadTimeout = 300 * time.Millisecond }
	})
	for _, framing := range []string{"Content-Length: 1000000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\nf4240\r\n"} {
		conn := b.dial(t)
		fmt.Fprintf(conn, "POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Type: application/cloudevents+json\r\n%s", framing)
		written := drip(conn, ' ')
		a := readAnswer(t, conn)
		wantProblem(t, a, http.StatusServiceUnavailable, "unavailable") // its sender comes again
		wantStatus(t, b.deliver(t, process(sample(t, "17117.json"), len(framing))), http.StatusCreated)
		if n := <-written; n < 2 || n > 3000 {
			t.Errorf("%d bytes went out before the connection was cut", n)
		}
	}
	if codes := b.kept(t); len(codes) != 0 {
		t.Errorf("kept %v of bodies that never arrived", codes)
	}
}

func TestSender_of_one_header_byte_at_a_time_is_cut(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *settings) {
		s.server = func(server *http.Server) { server.ReadHeaderTimeout = 300 * time.Millisecond }
	})
	conn := b.dial(t)
	fmt.Fprint(conn, "POST /webhook HTTP/1.1\r\nX-Filler: ")
	if n := <-drip(conn, 'x'); n < 2 || n > 3000 {
		t.Errorf("%d bytes went out before the connection was cut", n)
	}
}

func TestLimit_is_exact_for_a_signed_event_without_a_length(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	event := string(sample(t, "17117.json"))
	fill := strings.Repeat(" ", 1<<20-len(event))
	for _, c := range []struct {
		body   string
		status int
	}{
		{fill + event + " ", http.StatusRequestEntityTooLarge},
		{fill + event, http.StatusCreated},
	} {
		h := signed(t, []byte(c.body))
		h.Set("Content-Type", "application/cloudevents+json")
		wantStatus(t, b.send(t, http.MethodPost, "/webhook", unsized(c.body), h), c.status)
	}
}
