package mcpserver

import (
	"bufio"
	"context"
	"io"
	"net/http"
)

// noBatch is the answer to a batch: JSON-RPC, as the protocol's own errors.
const noBatch = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not served: send one message per request"}}`

// single refuses batches. Protocol 2025-06-18 has done away with them, and the SDK still
// runs all calls of an older one at once: thousands fit into one body.
func single(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		body := bufio.NewReader(r.Body)
		if beginsArray(body) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, noBatch) // a client that has gone: nobody to tell
			return
		}
		r.Body = &peeked{Reader: body, Closer: r.Body}
		next.ServeHTTP(w, r)
	})
}

// peeked is a body of which the beginning was looked at.
type peeked struct {
	io.Reader
	io.Closer
}

// beginsArray skips white space and looks at what follows; nothing else is consumed. A
// body that cannot be read is left to whoever reads it next.
func beginsArray(body *bufio.Reader) bool {
	for {
		c, err := body.ReadByte()
		if err != nil {
			return false
		}
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		}
		_ = body.UnreadByte() // follows a ReadByte
		return c == '['
	}
}

// origin is what a tool needs of the HTTP request it was called in.
type origin struct {
	// request ends with the request. The context of a tool has its values, but not its
	// end: the SDK lets calls go on.
	request context.Context
	id      string // X-Request-Id, as whoever logs the request has set it for the answer
}

type originKey struct{}

// noted lets the tools find the origin of their call.
func noted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o := origin{request: r.Context(), id: w.Header().Get("X-Request-Id")}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), originKey{}, o)))
	})
}

// originOf is the origin of the call whose context ctx is.
func originOf(ctx context.Context) origin {
	if o, ok := ctx.Value(originKey{}).(origin); ok {
		return o
	}
	return origin{request: ctx}
}
