package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sperrd/internal/postgres/postgrestest"
)

// memory is a line of /proc/PID/status in bytes: VmRSS, what the process has in memory
// now, or VmHWM, the most it ever had. ok is false on systems without that file: nothing
// else tells the peak of a process that still runs.
func memory(t *testing.T, pid int, line string) (bytes int, ok bool) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if errors.Is(err, fs.ErrNotExist) && runtime.GOOS != "linux" {
		return 0, false
	}
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.Lines(string(status)) {
		if fields := strings.Fields(text); fields[0] == line+":" {
			kilobytes, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes << 10, true
		}
	}
	t.Fatalf("no %s in %s", line, status)
	return 0, false
}

// sender is a bare connection that posts chunks without a signature and without end.
type sender struct {
	net.Conn
	sent int
}

const chunk = 64 << 10

func newSender(t *testing.T, i *instance) *sender {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(i.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &sender{Conn: conn}
}

// send writes chunks until limit bytes are out or the connection is cut.
func (s *sender) send(limit int) {
	text := fmt.Sprintf("%x\r\n%s\r\n", chunk, strings.Repeat("x", chunk))
	for s.sent < limit {
		n, err := io.WriteString(s, text)
		s.sent += n
		if err != nil {
			return
		}
	}
}

// flooded sends 64 MiB on each of twenty connections, without a signature, and brings an
// order into the queue before and while the bodies run over the limit.
func (m market) flooded(t *testing.T, i *instance) {
	t.Helper()
	senders := make([]*sender, 20)
	for n := range senders {
		senders[n] = newSender(t, i)
		fmt.Fprint(senders[n], "POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Type: application/cloudevents+json\r\nTransfer-Encoding: chunked\r\n\r\n")
		senders[n].send(1) // all of them are under way
	}
	m.order(t, i, maloID(1))
	var flood sync.WaitGroup
	for _, s := range senders {
		flood.Go(func() { s.send(64 << 20) })
	}
	m.order(t, i, maloID(2))
	flood.Wait()
	for n, s := range senders {
		if s.sent > 16<<20 { // what the kernel buffers goes beyond the limit of the service
			t.Errorf("sender %d has sent %d MiB before it was cut", n, s.sent>>20)
		}
	}
}

func TestServe_twenty_endless_unsigned_bodies_cost_less_than_20_MiB_and_hold_up_nobody(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	i := startChild(t, setup{port: freePort(t), database: postgrestest.NewURL(t), makod: m.url})
	i.awaitReady(t)
	m.order(t, i, maloID(0)) // what the first order needs is there
	before, measured := memory(t, i.pid, "VmRSS")

	m.flooded(t, i)
	wantTooLarge(t, i)
	awaitLines(t, 21, `"status":413`, i)
	if n := strings.Count(i.log.String(), `"status":413`); n != 21 {
		t.Errorf("%d bodies refused with 413, want 21", n)
	}

	if !measured {
		t.Logf("no /proc/PID/status on %s: the memory of the process is not checked", runtime.GOOS)
		return
	}
	peak, _ := memory(t, i.pid, "VmHWM")
	after, _ := memory(t, i.pid, "VmRSS")
	t.Logf("%d KiB before, %d after, %d at most", before>>10, after>>10, peak>>10)
	limit := 20 << 20
	if raceDetector() {
		limit *= 3 // it keeps books of every byte of the program
	}
	if grown := peak - before; grown >= limit {
		t.Errorf("the process has grown by %d MiB, from %d; want less than %d", grown>>20, before>>20, limit>>20)
	}
}

// raceDetector reports whether this binary, and so the child, carries it.
func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// wantTooLarge declares ten gigabytes, sends none, and wants the refusal at once.
func wantTooLarge(t *testing.T, i *instance) {
	t.Helper()
	s := newSender(t, i)
	fmt.Fprintf(s, "POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", 10<<30)
	response, err := http.ReadResponse(bufio.NewReader(s), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("ten gigabytes declared: %d, want 413", response.StatusCode)
	}
}
