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

// mcpAnswerWithin bounds the reading of an answer by its client, after the reads of the
// database.
const mcpAnswerWithin = databaseTimeout + 15*time.Second

// handleMCP hands a message of an MCP client on, with its body read under the limits
// of every other body, once its turn has come: a model that asks without end must leave
// memory and connections to the orders.
func (s *server) handleMCP(w http.ResponseWriter, r *http.Request) error {
	body, err := s.readBody(r)
	if err != nil {
		return err
	}
	ctx, cancel := bounded(r)
	defer cancel()
	select {
	case s.mcpTurn <- struct{}{}:
		defer func() { <-s.mcpTurn }()
	case <-ctx.Done():
		return fmt.Errorf("%w: too many messages of MCP at a time", errUnavailable)
	}
	// Whoever takes no answer must not keep the turn of the others.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(mcpAnswerWithin))
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	s.MCP.ServeHTTP(uncached{w}, r)
	if e := entryOf(r.Context()); e.answer.Status() == http.StatusInternalServerError {
		e.raise(slog.LevelError) // its own answer, which no error has brought about here
	}
	return nil
}
