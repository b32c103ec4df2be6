package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"
)

// uncached keeps what the SDK says of caches from taking the place of what holds for
// every answer: there are addresses in it.
type uncached struct{ http.ResponseWriter }

func (w uncached) WriteHeader(status int) {
	w.Header().Set("Cache-Control", noStore)
	w.ResponseWriter.WriteHeader(status)
}

func (w uncached) Write(p []byte) (int, error) {
	w.Header().Set("Cache-Control", noStore)
	return w.ResponseWriter.Write(p)
}

// FlushError sends the header where nothing was written yet.
func (w uncached) FlushError() error {
	w.Header().Set("Cache-Control", noStore)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// mcpAnswerWithin bounds how long an answer may take from its turn on: the reads of the
// database and the reading of a client on a slow line.
const mcpAnswerWithin = databaseTimeout + 15*time.Second

// turns lets a bounded number of requests that cost much be answered at the same time:
// who asks without end must leave memory and connections to the orders.
type turns struct {
	of     string        // what there may be too many of
	free   chan struct{} // as many as are under way
	wait   time.Duration // for a turn
	answer time.Duration // of a turn, after which it ends for a client that takes nothing
}

// take waits for a turn. end gives it back.
func (t turns) take(ctx context.Context) (end func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, t.wait)
	defer cancel()
	select {
	case t.free <- struct{}{}:
		return func() { <-t.free }, nil
	case <-waiting.Done():
	}
	if err := ctx.Err(); err != nil {
		return nil, err // the client has gone
	}
	return nil, fmt.Errorf("%w: too many %s at a time", errUnavailable, t.of)
}

// handleMCP hands a message of an MCP client on, with its body read under the limits
// of every other body.
func (s *server) handleMCP(w http.ResponseWriter, r *http.Request) error {
	body, err := s.readBody(r)
	if err != nil {
		return err
	}
	end, err := s.mcp.take(r.Context())
	if err != nil {
		return err
	}
	defer end()
	e := entryOf(r.Context())
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.mcp.answer)); err != nil {
		return fmt.Errorf("bound the answer of MCP: %w", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	s.MCP.ServeHTTP(uncached{w}, r)
	if e.answer.Status() == http.StatusInternalServerError {
		e.raise(slog.LevelError) // its own answer, which no error has brought about here
	}
	return nil
}
