package api

import (
	"bytes"
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
