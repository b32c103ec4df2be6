package main

import (
	"fmt"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// wire is the way from a sperrd to a neighbour, which a test can cut or make silent.
type wire struct {
	address         string
	network, target string // of the neighbour

	mu       sync.Mutex
	listener net.Listener // nil: cut, connections are refused
	conns    map[net.Conn]bool
	open     chan struct{} // closed while bytes pass
	running  sync.WaitGroup

	// tap listens on a new connection to what goes to the neighbour and to what comes
	// back; what it says is lost is, and the connection with it. Nil: nothing is lost.
	tap func() (to, from func(message []byte) (lost bool))
}

// newWire leads to a neighbour until the test ends.
func newWire(t *testing.T, network, target string) *wire {
	t.Helper()
	w := &wire{
		address: fmt.Sprintf("127.0.0.1:%d", freePort(t)), network: network, target: target,
		conns: map[net.Conn]bool{}, open: make(chan struct{}),
	}
	close(w.open)
	w.mend(t)
	t.Cleanup(func() {
		w.cut()
		w.running.Wait()
	})
	return w
}

// databaseWire leads to the database at url; through is its URL by that way.
func databaseWire(t *testing.T, database string) (w *wire, through string) {
	t.Helper()
	config, err := pgx.ParseConfig(database)
	if err != nil {
		t.Fatal(err)
	}
	network, target := pgconn.NetworkAddress(config.Host, config.Port)
	w = newWire(t, network, target)
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Del("host")
	query.Del("port")
	u.Host, u.RawQuery = w.address, query.Encode()
	return w, u.String()
}

// httpWire leads to the server at base; through is its URL by that way.
func httpWire(t *testing.T, base string) (w *wire, through string) {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	w = newWire(t, "tcp", u.Host)
	u.Host = w.address
	return w, u.String()
}

// cut ends what is connected; whoever comes is refused, as by a host without the
// neighbour.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listener != nil {
		_ = w.listener.Close()
		w.listener = nil
	}
	w.drop()
}

// silence keeps what is connected and takes whoever comes, but nothing passes, as by a
// host that has vanished.
func (w *wire) silence() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = make(chan struct{})
}

// mend lets new connections pass; those from before have ended.
func (w *wire) mend(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop()
	if w.listener != nil {
		return
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", w.address)
	if err != nil {
		t.Fatal(err)
	}
	w.listener = listener
	w.running.Go(func() { w.accept(listener) })
}

// drop ends every connection, and the silence.
func (w *wire) drop() {
	for conn := range w.conns {
		_ = conn.Close()
	}
	clear(w.conns)
	select {
	case <-w.open:
	default:
		close(w.open)
	}
}

func (w *wire) accept(listener net.Listener) {
	for {
		near, err := listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial(w.network, w.target) //nolint:noctx // on this machine
		if err != nil {
			_ = near.Close()
			continue
		}
		w.mu.Lock()
		w.conns[near], w.conns[far] = true, true
		if w.listener != listener {
			w.drop()
		}
		tap := w.tap
		w.mu.Unlock()
		nothing := func([]byte) bool { return false }
		lostTo, lostFrom := nothing, nothing
		if tap != nil {
			lostTo, lostFrom = tap()
		}
		w.running.Go(func() { w.carry(near, far, lostFrom) })
		w.running.Go(func() { w.carry(far, near, lostTo) })
	}
}

// carry moves what comes from one end to the other until one is closed or something is
// lost.
func (w *wire) carry(to, from net.Conn, lost func(message []byte) bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		w.mu.Lock()
		open := w.open
		w.mu.Unlock()
		<-open
		if n > 0 && lost(buffer[:n]) {
			break
		}
		if n > 0 {
			if _, failed := to.Write(buffer[:n]); failed != nil {
				err = failed
			}
		}
		if err != nil {
			break
		}
	}
	_ = to.Close()
	_ = from.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.conns, to)
	delete(w.conns, from)
}
