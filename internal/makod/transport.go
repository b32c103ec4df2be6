package makod

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"sperrd/internal/httpclient"
)

// maxAnswer bounds what is read of an answer, in bytes. Genuine ones have some
// hundred.
const maxAnswer = 1 << 20

// newTransport returns a transport whose connections count what they write.
func newTransport() *http.Transport {
	transport := httpclient.NewTransport()
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &countedConn{Conn: conn}, nil
	}
	return transport
}

// answer is what came back: status, header and at most maxAnswer bytes of body.
type answer struct {
	status  int
	header  http.Header
	body    []byte
	readErr error // the body broke off
}

// roundTrip sends the request once and reads the answer. It calls the
// transport directly: an http.Client on top would follow redirects.
func (c *Client) roundTrip(req *http.Request) (answer, *Error) {
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "sperrd")
	w := new(wire)
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{GotConn: w.gotConn}))

	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return answer{}, c.transportError(ended(req.Context(), err), w.mayHaveSent(req.Context()))
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		// Its body is the connection itself, which ends with no time-out of ours.
		return answer{status: resp.StatusCode, header: resp.Header}, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return answer{status: resp.StatusCode, header: resp.Header, body: body, readErr: err}, nil
}

// ended makes the end of a context recognisable. The transport reports its
// cause, which with context.WithCancelCause and signal.NotifyContext is an error
// of somebody's own and not context.Canceled.
func ended(ctx context.Context, err error) error {
	if ctx.Err() == nil || errors.Is(err, ctx.Err()) || !errors.Is(err, context.Cause(ctx)) {
		return err
	}
	return fmt.Errorf("%w: %w", ctx.Err(), err)
}

// wire observes whether bytes of one request went out. The transport reports
// its connection before it writes, and the connection may have served other
// requests, so the count at that moment is the zero mark.
type wire struct {
	conn   atomic.Pointer[countedConn]
	before atomic.Int64
}

func (w *wire) gotConn(info httptrace.GotConnInfo) {
	conn := info.Conn
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	if counted, ok := conn.(*countedConn); ok {
		w.before.Store(counted.written.Load())
		w.conn.Store(counted)
	}
}

// mayHaveSent reports, after a failed round trip, whether makod may have
// received the request. Dialling, name resolution and the TLS handshake come
// before there is a connection, so their failures are no. When the context
// ended with a connection in hand it is yes: the write may still be under way.
func (w *wire) mayHaveSent(ctx context.Context) bool {
	conn := w.conn.Load()
	if conn == nil {
		return false
	}
	return ctx.Err() != nil || conn.written.Load() > w.before.Load()
}

// countedConn counts the bytes written to the network.
type countedConn struct {
	net.Conn
	written atomic.Int64
}

func (c *countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n))
	return n, err
}
