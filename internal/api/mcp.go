package api

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
)

// handleMCP hands a message of an MCP client on, with its body read under the limits
// of every other body.
func (s *server) handleMCP(w http.ResponseWriter, r *http.Request) error {
	body, err := s.readBody(r)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	s.MCP.ServeHTTP(w, r)
	if e := entryOf(r.Context()); e.answer.Status() == http.StatusInternalServerError {
		e.raise(slog.LevelError) // its own answer, which no error has brought about here
	}
	return nil
}
