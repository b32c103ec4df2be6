package api

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// readyTimeout bounds the look at the database for one probe.
const readyTimeout = 2 * time.Second

// handleLive says that the process serves. It asks no database: an outage of that
// must not restart every replica.
func (s *server) handleLive(w http.ResponseWriter, _ *http.Request) error {
	w.WriteHeader(http.StatusOK)
	return nil
}

// handleReady says whether requests may be sent here.
func (s *server) handleReady(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := s.Ready(ctx); err != nil {
		return fmt.Errorf("%w: not ready: %w", errUnavailable, err)
	}
	w.WriteHeader(http.StatusOK)
	return nil
}
